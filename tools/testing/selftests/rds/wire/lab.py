# SPDX-License-Identifier: GPL-2.0
"""Where the tests take place: the kernel under test at one end of a veth pair,
and all its peers in a namespace at the other end.

The kernel is 10.7.128.1. All of 10.4.0.0/15 are peers with a lower address,
which dial it, as many as the long form needs; all of 10.7.192.0/18 are higher,
and are dialled. So it is with fd07::8000, fd07::/113 and fd07::c000/114. Nobody
is at 10.9.0.0/16: what is sent there gets lost."""

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


class Lab:
    def __init__(self, full):
        self.full = full
        self.peers = []
        self.sockets = []
        self.newcomers = set()	# whom the kernel will not forget
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

        # The port is wanted for the peers: whoever listens there, listens
        # no more.
        kernel.run("ip", "netns", "exec", NAMESPACE, "ss", "-K", "-lt",
                   "sport", "=", str(wire.TCP_PORT))

    # Addresses

    @staticmethod
    def family(address):
        return socket.AF_INET6 if ":" in address else socket.AF_INET

    @staticmethod
    def kernel_of(address):
        """The kernel's address of that family."""
        return KERNEL6 if ":" in address else KERNEL

    def lower(self, exts=LEGACY, **more):
        """A peer nobody has heard of, of an address below the kernel's."""
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
        """An RDS socket of this test."""
        sock = kernel.RdsSocket(address, port, **more)
        self.sockets.append(sock)
        return sock

    def end_test(self):
        """Those of the test go, and honest ones must still be served."""
        for peer in self.peers:
            peer.stop()
        for sock in self.sockets:
            sock.close()
        self.peers.clear()
        self.sockets.clear()
        self.honest.check()

    def close(self):
        self.honest.stop()
        self.away.delete()


class Honest:
    """Two hosts that keep the rules for as long as all lasts, one lower and
    one higher than the kernel, and a socket that both talk to."""

    PORT = 4000

    def __init__(self, lab):
        self.count = 0
        self.sock = kernel.RdsSocket(KERNEL, self.PORT)
        self.low = lab.lower(LEGACY)
        self.low_link = self.low.dial()
        self.high = lab.higher(MODERN)
        self.high.listen()
        self.sock.send(self.high.address, self.PORT, b"hello")
        self.high_link = self.high.welcome()
        self.high.message(self.high_link, self.PORT, self.PORT, b"hello")
        lab.peers.clear()
        self.check()

    def check(self):
        """A ping, a message to the socket and one from it, each."""
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
