# SPDX-License-Identifier: GPL-2.0
"""Set up the scene of the tests: the kernel under test at one end of a veth
pair, and all its peers in a namespace at the other end.

The kernel has the address 10.7.128.1. All addresses of 10.4.0.0/15 are peers
with a lower address, which dial the kernel; these are enough for the long
form. All addresses of 10.7.192.0/18 are peers with a higher address, which the
kernel dials. Over IPv6 these are fd07::8000, fd07::/113 and fd07::c000/114. No
host has an address of 10.9.0.0/16: packets sent there are lost.
"""

import ipaddress
import socket

import kernel
import wire
from peer import GENERATION, Peer
from tap import same

KERNEL = "10.7.128.1"
KERNEL6 = "fd07::8000"
NOWHERE = "10.9.0.0"
NAMESPACE = "rds-wire"
LEGACY = wire.npaths(1)
MODERN = wire.npaths(1) + wire.gen_num(GENERATION) + wire.sport_idx()
OURS = MODERN + wire.features()
MEMORY = MODERN + wire.features(bits=wire.STRICT | wire.MEMORY)
STREAMS = MODERN + wire.features(bits=wire.STRICT | wire.STREAMS)


class Lab:
    def __init__(self, full):
        self.full = full
        self.peers = []
        self.sockets = []
        self.streams = []
        self.newcomers = set()	# peers that the kernel remembers
        self.lowest = int(ipaddress.ip_address("10.4.0.1"))
        self.highest = int(ipaddress.ip_address("10.7.200.1"))
        self.lowest6 = 0
        self.away = kernel.Namespace(NAMESPACE)
        self.lay_wire()
        self.honest = Honest(self)

    def lay_wire(self):
        kernel.run(*"ip link add k0 type veth peer name p0".split())
        away = ("ip", "-n", NAMESPACE)
        kernel.run("ip", "link", "set", "p0", "netns", NAMESPACE)
        for words in ("addr add 10.8.0.1/24 dev k0",
                      "addr add fd08::1/64 dev k0 nodad",
                      "link set k0 up",
                      f"addr add {KERNEL}/32 dev k0",
                      f"addr add {KERNEL6}/128 dev k0 nodad",
                      "link set lo up"):
            kernel.run("ip", *words.split())
        for words in ("link set lo up",
                      "addr add 10.8.0.2/24 dev p0",
                      "addr add fd08::2/64 dev p0 nodad",
                      "link set p0 up",
                      "route add local 10.4.0.0/15 dev lo",
                      "route add local 10.7.192.0/18 dev lo",
                      "route add local fd07::/113 dev lo",
                      "route add local fd07::c000/114 dev lo",
                      f"route add {KERNEL}/32 via 10.8.0.1",
                      f"route add {KERNEL6}/128 via fd08::1"):
            kernel.run(*away, *words.split())
        for words in ("route add 10.4.0.0/15 via 10.8.0.2",
                      "route add 10.7.0.0/16 via 10.8.0.2",
                      f"route add {NOWHERE}/16 via 10.8.0.2",
                      "route add fd07::/112 via fd08::2"):
            kernel.run("ip", *words.split(), "src",
                       KERNEL6 if "fd07" in words else KERNEL)

        # The peers need the port: end any socket that listens on it.
        kernel.run("ip", "netns", "exec", NAMESPACE, "ss", "-K", "-lt",
                   "sport", "=", str(wire.TCP_PORT))

    # Addresses

    @staticmethod
    def family(address):
        return socket.AF_INET6 if ":" in address else socket.AF_INET

    @staticmethod
    def kernel_of(address):
        """Return the kernel's address of the family of ADDRESS."""
        return KERNEL6 if ":" in address else KERNEL

    def lower(self, exts=LEGACY, **more):
        """Return a new peer with an address below the kernel's."""
        self.lowest += 1
        return Peer(self, str(ipaddress.ip_address(self.lowest)), exts, **more)

    def higher(self, exts=LEGACY, **more):
        self.highest += 1
        return Peer(self, str(ipaddress.ip_address(self.highest)), exts,
                    **more)

    def lower6(self, exts=LEGACY, **more):
        self.lowest6 += 1
        return Peer(self, f"fd07::{self.lowest6:x}", exts, **more)

    def higher6(self, exts=LEGACY, **more):
        self.lowest6 += 1
        return Peer(self, f"fd07::f{self.lowest6:03x}", exts, **more)

    def socket(self, port, address=KERNEL, **more):
        """Return an RDS socket that is closed when the test ends."""
        sock = kernel.RdsSocket(address, port, **more)
        self.sockets.append(sock)
        return sock

    def stream(self, port=0, address=KERNEL):
        """Return a socket of type SOCK_STREAM, reset when the test ends."""
        return self.keep(kernel.StreamSocket(address, port))

    def keep(self, stream):
        self.streams.append(stream)
        return stream

    def end_streams(self):
        """Reset the sockets of type SOCK_STREAM."""
        for stream in self.streams:
            stream.reset()
        self.streams.clear()

    def end_test(self):
        """Stop the peers and sockets of the test, and check that the honest
        peers are still served."""
        for peer in self.peers:
            peer.stop()
        for sock in self.sockets:
            sock.close()
        self.end_streams()
        self.peers.clear()
        self.sockets.clear()
        self.honest.check()

    def close(self):
        self.honest.stop()
        self.away.delete()


class Honest:
    """Two peers that keep the rules throughout the run, one with a lower and
    one with a higher address than the kernel, and a socket that both talk to.
    """

    PORT = 4000

    def __init__(self, lab):
        self.count = 0
        self.sock = kernel.RdsSocket(KERNEL, self.PORT)
        self.low = lab.lower(LEGACY)
        self.low_link = self.low.dial()
        self.high = lab.higher(MODERN)
        self.high.listen()
        self.sock.send(self.high.address, self.PORT, b"hello")
        self.high_link = self.high.be_dialed()
        self.high.message(self.high_link, self.PORT, self.PORT, b"hello")
        lab.peers.clear()
        self.check()

    def check(self):
        """Exchange a ping, a message to the socket and a message from it with
        each."""
        self.count += 1
        for peer, link in ((self.low, self.low_link),
                           (self.high, self.high_link)):
            text = f"{peer.address} {self.count}".encode()
            peer.ping(link)
            peer.data(link, self.PORT, self.PORT, text)
            same("what an honest peer's message is",
                 (text, peer.address, self.PORT), self.sock.recv())
            same("sending to an honest peer", 0,
                 self.sock.send(peer.address, self.PORT, text))
            peer.message(link, self.PORT, self.PORT, text)

    def stop(self):
        self.low.stop()
        self.high.stop()
        self.sock.close()
