# SPDX-License-Identifier: GPL-2.0
"""The two sides of a session of the fuzzer (session.py): the programs on the
kernel's host, and the peer. Neither waits for the other one for long, and
neither minds what becomes of it."""

import ipaddress
import select
import socket
import struct

import kernel
import seeds
import session
import wire
from peer import Closed, Peer
from tap import Failure
from wire import Op

PORT = seeds.PORT
MEMORY_PORT = PORT + 1
MEMORY_SIZE = 3 * 4096
MEMORY_AT = 0x238	# in its page

# Addresses below the kernel's, and above it (lab.py)
DIALS = "10.4.7."
DIALED = "10.7.201."


class Programs:
    """What runs on the kernel's host, and never waits."""

    STREAMS = 8

    def __init__(self, addresses, transport=None):
        """ADDRESSES are those of the kernel, one of each family that peers
        have."""
        self.addresses = {ipaddress.ip_address(address).version: address
                          for address in addresses}
        self.transport = transport
        self.owner = self.socket(addresses[0], MEMORY_PORT)
        self.memory = kernel.Memory(MEMORY_SIZE, MEMORY_AT)
        self.where = self.owner.register(self.memory)
        self.listeners = [self.listen(address) for address in addresses]
        self.streams = []
        self.socks = {}
        self.renew()

    def socket(self, address, port):
        sock = kernel.RdsSocket(address, port, transport=self.transport)
        for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            sock.sock.setsockopt(socket.SOL_SOCKET, option,
                                 struct.pack("ll", 0, 1000))
        return sock

    @staticmethod
    def listen(address):
        listener = kernel.StreamSocket(address, PORT)
        listener.allow_mappings(4)
        listener.listen(8)
        listener.sock.setblocking(False)
        return listener

    def renew(self):
        """Begin with new sockets: the old ones may be full of messages for
        peers that are gone."""
        for sock in self.socks.values():
            sock.close()
        self.socks = {version: self.socket(address, PORT)
                      for version, address in self.addresses.items()}

    def kernel_of(self, address):
        """Return the kernel's address of the family of ADDRESS."""
        return self.addresses[ipaddress.ip_address(address).version]

    def sock(self, address):
        return self.socks[ipaddress.ip_address(address).version]

    def keep(self, stream):
        stream.sock.setblocking(False)
        self.streams.append(stream)
        if len(self.streams) > self.STREAMS:
            self.streams.pop(0).reset()

    def do(self, rng, what, address):
        try:
            getattr(self, what.replace("-", "_"))(rng, address)
        except (OSError, IndexError):
            pass	# a peer has done something to it, or there is no stream

    def send(self, rng, address):
        self.sock(address).send(address, rng.choice(session.PORTS),
                                rng.randbytes(rng.choice((0, 1, 100, 5000))))

    def send_large(self, rng, address):
        self.sock(address).send(address, seeds.THEIRS, bytes(200000))

    def recv(self, rng, address):
        for _ in range(20):
            self.sock(address).recv(socket.MSG_DONTWAIT)

    def rdma(self, rng, address):
        self.sock(address).rdma(
            address, seeds.THEIRS, b"text",
            (rng.getrandbits(32), 0, rng.choice((0, 8, 4095))),
            self.memory, rng.choice((0, kernel.READWRITE)) |
            rng.choice((0, kernel.NOTIFY_ME, kernel.FENCE)))

    def atomic(self, rng, address):
        self.sock(address).atomic(
            address, seeds.THEIRS, b"", (1, 0, 8), kernel.Memory(8),
            rng.choice((kernel.CMSG_FADD, kernel.CMSG_CSWP,
                        kernel.CMSG_MASKED_CSWP)), (1, 2, 3, 4))

    def accept(self, rng, address):
        for listener in self.listeners:
            fd = kernel.libc.accept(listener.sock.fileno(), None, None)
            if fd >= 0:
                self.keep(kernel.StreamSocket(listener.address, fileno=fd))

    def connect(self, rng, address):
        stream = kernel.StreamSocket(self.kernel_of(address), 0)
        stream.sock.setblocking(False)
        stream.allow_mappings(4)
        stream.connect(address, seeds.THEIRS)
        self.keep(stream)

    def stream_send(self, rng, address):
        self.streams[-1].send(bytes(rng.choice((1, 100, 40000))))

    def stream_recv(self, rng, address):
        self.streams[-1].recv()

    def stream_shut(self, rng, address):
        self.streams[-1].shutdown(rng.randrange(3))

    def stream_close(self, rng, address):
        self.streams.pop().close()

    def stream_map(self, rng, address):
        self.streams[-1].map(self.memory, rng.choice((-1, 0, 4096)))

    def stream_put(self, rng, address):
        self.streams[-1].put(b"placed", rng.choice((0, 8)))

    def congest(self, rng, address):
        """Read no more than a little: what is sent then congests the port."""
        self.sock(address).sock.setsockopt(
            socket.SOL_SOCKET, socket.SO_RCVBUF, rng.choice((1, 1 << 20)))

    def stop(self):
        for stream in self.streams:
            stream.reset()
        for sock in (*self.listeners, *self.socks.values(), self.owner):
            sock.close()


class Player:
    """Plays a session as one peer. Derived classes have the steps that depend
    on the transport: open, dial, write, fin, reset, and

        hear(number)    return what has been received on a connection
        stop()          end all connections
    """

    def __init__(self, programs, address, rng, patience):
        self.programs = programs
        self.address = address
        self.rng = rng
        self.patience = patience
        self.heard = False	# the kernel has sent data, not only maps
        self.links = []
        self.seq = 100

    def play(self, steps):
        try:
            for step in steps:
                try:
                    getattr(self, step[0])(*step[1:])
                except (Failure, Closed, OSError):
                    pass	# the kernel may refuse all of this
        finally:
            self.stop()

    def do(self, what):
        self.programs.do(self.rng, what, self.address)

    def drain(self, number):
        """Read what is there, and answer it."""
        for frame in self.hear(number):
            answer = self.answer(frame)
            if answer and self.rng.randrange(8):
                self.write(number, self.spoil(answer.encode()))

    def spoil(self, data):
        if self.rng.randrange(6):
            return data
        return session.change_write(self.rng, data, self.programs.where)

    def answer(self, frame):
        """Return what an honest peer would say to this frame, or None."""
        if frame.is_map():
            return None
        self.heard = True
        if frame.is_probe():
            return wire.Frame(wire.PORT_PING, wire.PORT_PROBE, ext=wire.
                              with_tag(seeds.ALL, wire.tag(frame.ext)))
        operation = wire.parse_operation(frame.ext)
        if operation:
            return self.answer_operation(operation, frame.payload)
        told = wire.parse_stream(frame.ext)
        if told:
            return self.answer_stream(frame, *told)
        return None

    @staticmethod
    def answer_operation(operation, payload):
        kind, _, number, _, _ = operation
        if kind == wire.RESPONSE:
            return None
        size = int.from_bytes(payload[:4], "big") if kind == wire.READ else \
            0 if kind == wire.WRITE else 8
        return wire.Frame(payload=bytes(min(size, 1 << 16)),
                          flags=wire.FLAG_RETRANSMITTED,
                          ext=wire.operation(wire.RESPONSE, number))

    def answer_stream(self, frame, op, flags, reason, ident, consumed, credit):
        answers = {Op.REQUEST: Op.RESPONSE, Op.RW: Op.CREDIT_UPDATE,
                   Op.CREDIT_REQUEST: Op.CREDIT_UPDATE,
                   Op.SHUTDOWN: Op.SHUTDOWN}
        if op not in answers:
            return None
        self.seq += 1
        return wire.Frame(
            frame.dport, frame.sport, seq=self.seq, ext=wire.stream(
                answers[op], (flags ^ wire.TO_CLIENT) & 7, ident,
                len(frame.payload) + wire.FRAME_COST if op == Op.RW else 0,
                1 << 20, reason))


class TcpPlayer(Player):
    def __init__(self, place, programs, address, rng, patience):
        super().__init__(programs, address, rng, patience)
        self.place = place
        self.dialed = address.startswith(DIALED)
        self.peer = Peer(place, address)

    def stop(self):
        self.peer.stop()
        self.place.peers.clear()

    def open(self, path):
        if len(self.links) == session.LINKS:
            return
        if not self.dialed:
            self.links.append(self.peer.connect(path))
            return
        if not self.peer.listener:
            self.peer.listen()
        self.peer.connect(path)	# have the kernel dial
        self.links.append(self.peer.accept(0.3))

    def dial(self, _handshake):
        """TCP has no private data."""
        self.open(0)

    def link(self, number):
        """Return a connection that is open at this end, or None."""
        link = self.links[number] if number < len(self.links) else None
        return link if link and link.fileno() >= 0 else None

    def write(self, number, data):
        link = self.link(number)
        if link:
            link.sock.settimeout(0.2)
            link.sock.sendall(data)

    def fin(self, number):
        link = self.link(number)
        if link:
            link.fin()

    def reset(self, number):
        link = self.link(number)
        if link:
            link.reset()

    def hear(self, number):
        link = self.link(number)
        if not link:
            return
        poll = select.poll()
        poll.register(link.sock, select.POLLIN)
        for _ in range(4):
            if not poll.poll(self.patience):
                break
            data = link.sock.recv(1 << 18)
            if not data:
                break
            link.rest += data
        while len(link.rest) >= wire.HEADER_BYTES:
            frame = wire.Frame.decode(link.rest)
            size = wire.HEADER_BYTES + frame.length
            if len(link.rest) < size:
                break
            frame.payload = link.rest[wire.HEADER_BYTES:size]
            link.rest = link.rest[size:]
            yield frame
