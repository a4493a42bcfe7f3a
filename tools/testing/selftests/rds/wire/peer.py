# SPDX-License-Identifier: GPL-2.0
"""Play an RDS peer over TCP. A Link is one TCP connection that carries frames.
A Peer is a host with an address: it does the handshake, replies to probes, and
judges all that the kernel sends of its own accord."""

import ctypes
import errno
import fcntl
import itertools
import random
import socket
import struct
import termios
import time

import wire
from tap import Failure, expect, same

WAIT = 10
SO_ATTACH_FILTER = 26
SO_ZEROCOPY = 60
MSG_ERRQUEUE = 0x2000
MSG_ZEROCOPY = 0x4000000
ZEROCOPY_DONE = struct.Struct("=IBBBxII")
SO_EE_ORIGIN_ZEROCOPY = 5
SO_DETACH_FILTER = 27
IPV6_FREEBIND = 78
TCP_REPAIR = 19
TCP_FIN_WAIT2 = 5
# The instructions of a socket filter
LOAD_LENGTH = 0x80
JUMP_IF_GREATER = 0x25
RETURN = 0x06
LONGEST_TCP_HEADER = 60
GENERATION = 0x5eed0001

source_ports = itertools.cycle(range(20000, 60000, wire.PATHS))


def attach(sock, *code):
    """Attach a filter; packets for which it returns 0 are lost."""
    room = ctypes.create_string_buffer(
        b"".join(struct.pack("=HBBI", *line) for line in code))
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER,
                    struct.pack("HL", len(code), ctypes.addressof(room)))


def detach(sock):
    try:
        sock.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)
    except FileNotFoundError:
        pass


class Closed(Exception):
    """The other end has closed the connection: "fin" or "reset"."""


class Refused(Failure):
    """No connection could be made."""


class Link:
    """One TCP connection that carries frames."""

    def __init__(self, sock, remote_port):
        self.sock = sock
        self.rest = b""
        self.early = []		# read while something else was awaited
        self.begun = False
        self.path = 0
        self.may_skip = False
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port = sock.getsockname()[1]
        self.remote_port = remote_port

    def fileno(self):
        return self.sock.fileno()

    def write(self, data, timeout=WAIT):
        self.sock.settimeout(timeout)
        try:
            self.sock.sendall(data)
        except TimeoutError as error:
            raise Failure("the kernel does not read") from error
        except OSError as error:
            raise Closed("reset") from error

    def write_zerocopy(self, data):
        """Send without a copy, as far as the kernel can. Overwrite the buffer
        as soon as the kernel reports that this is allowed."""
        room = memoryview(bytearray(data))
        self.sock.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
        self.sock.settimeout(WAIT)
        sent = calls = done = 0
        while sent < len(room):
            sent += self.sock.send(room[sent:sent + 50000], MSG_ZEROCOPY)
            calls += 1
        end = time.monotonic() + WAIT
        while done < calls:
            expect(time.monotonic() < end, f"{done} of {calls} sends end")
            done += self.zerocopy_done()
        room[:] = b"\xdb" * len(room)

    def zerocopy_done(self):
        """Return how many more sends have completed."""
        try:
            _, said, _, _ = self.sock.recvmsg(0, 512, MSG_ERRQUEUE)
        except BlockingIOError:
            time.sleep(0.001)
            return 0
        _, origin, _, _, first, last = ZEROCOPY_DONE.unpack_from(said[0][2])
        same("what the error queue has", SO_EE_ORIGIN_ZEROCOPY, origin)
        return last - first + 1

    def write_pieces(self, pieces):
        """Write each piece as a segment of its own."""
        for piece in pieces:
            self.write(piece)

    def send(self, *frames):
        self.write(b"".join(frame.encode() for frame in frames))

    def read(self, size, timeout=WAIT):
        end = time.monotonic() + timeout
        while len(self.rest) < size:
            self.sock.settimeout(max(end - time.monotonic(), 0.001))
            try:
                more = self.sock.recv(1 << 18)
            except TimeoutError as error:
                raise Failure(f"no reply: {len(self.rest)} bytes of {size}"
                              f" after {timeout} s") from error
            except OSError as error:
                raise Closed("reset") from error
            if not more:
                raise Closed("fin")
            self.rest += more
        data, self.rest = self.rest[:size], self.rest[size:]
        return data

    def read_frame(self, timeout=WAIT):
        frame = wire.Frame.decode(self.read(wire.HEADER_BYTES, timeout))
        expect(frame.length <= wire.MAX_MESSAGE,
               f"a frame of {frame.length} bytes")
        frame.payload = self.read(frame.length, timeout)
        return frame

    def silent(self, seconds):
        """Check whether nothing arrives in this time."""
        self.sock.settimeout(seconds)
        try:
            self.rest += self.sock.recv(1 << 18)
        except TimeoutError:
            return not self.rest
        except OSError as error:
            raise Closed("reset") from error
        return False

    def ended(self, timeout=WAIT):
        """Return how the kernel ends the connection, whatever it sends before;
        None if it does not end it in this time."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            self.rest = b""
            try:
                self.read(1, max(end - time.monotonic(), 0.001))
            except Closed as how:
                return str(how)
            except Failure:
                return None
        return None

    def fin(self):
        """Send no more; the link can still read."""
        self.sock.shutdown(socket.SHUT_WR)

    def fin_is_acked(self):
        return self.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO,
                                    1)[0] == TCP_FIN_WAIT2

    def is_acked(self):
        """Check whether the kernel has acknowledged all that was written."""
        left = fcntl.ioctl(self.sock, termios.TIOCOUTQ, bytes(4))
        return not any(left)

    def close(self):
        self.sock.close()

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, 0))
        self.sock.close()

    def vanish(self):
        """Disappear like a host that has crashed: the kernel is not
        notified."""
        self.sock.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
        self.sock.close()

    def drop_segments(self):
        """Drop every segment that arrives, so that nothing is acknowledged."""
        attach(self.sock, (RETURN, 0, 0, 0))

    def drop_no_segments(self):
        detach(self.sock)


class Peer:
    """A host at the other end of the wire. EXTS are the extension headers of
    its handshake; None: it sends no probe, and its replies have none."""

    def __init__(self, lab, address, exts=b"", paths=None):
        self.lab = lab
        self.address = address
        self.exts = exts
        self.replies_to_probes = True
        self.encodes_paths = paths is not None
        self.links = []
        self.listener = None
        self.tx_seq = {}
        self.rx_next = {}
        self.maps = []
        self.probes = []
        self.tags = {}		# of barriers, by path
        self.replies = []
        self.repeated = []
        lab.peers.append(self)

    def ours(self):
        """Check whether its handshake is that of our implementation."""
        return wire.EXT_FEATURES in wire.parse_ext(self.exts or b"")

    def has_operations(self):
        """Check whether its handshake announces operations on memory."""
        told = wire.parse_ext(self.exts or b"").get(wire.EXT_FEATURES)
        return bool(told) and bool(told[-1] & wire.MEMORY)

    # Connections

    def socket(self):
        with self.lab.away.entered():
            sock = socket.socket(self.lab.family(self.address))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if sock.family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
        return sock

    def bind(self, sock, path):
        """Bind to a port that encodes the path, as peers do that
        announce so."""
        for _ in range(100):
            try:
                return sock.bind((self.address, next(source_ports) + path))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
        raise Failure("no port is free")

    def connect(self, path=0, rcvbuf=None, data_first=False):
        """Connect, and send nothing. DATA_FIRST: the last ACK of TCP's
        handshake goes with the first data."""
        sock = self.socket()
        if data_first:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
        if rcvbuf:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.bind(sock, path)
        sock.settimeout(WAIT)
        try:
            sock.connect((self.lab.kernel_of(self.address), wire.TCP_PORT))
        except OSError as error:
            raise Refused(f"cannot connect: {error}") from error
        return self.take(sock, wire.TCP_PORT, path)

    def knock(self):
        """Ask a kernel with a lower address to dial; return how it ends this
        connection."""
        try:
            return self.connect().ended()
        except Refused:
            # The kernel has reset it before connect() returned.
            return "reset"

    def take(self, sock, remote_port, path):
        link = Link(sock, remote_port)
        link.path = path
        # An earlier link may have received frames that were never read.
        link.may_skip = any(other.path == path for other in self.links)
        self.links.append(link)
        return link

    def listen(self, backlog=64):
        sock = self.socket()
        sock.bind((self.address, wire.TCP_PORT))
        sock.listen(backlog)
        self.listener = sock

    def take_no_data(self, on=True):
        """Let later connections be made and closed, but drop their data."""
        if on:
            attach(self.listener, (LOAD_LENGTH, 0, 0, 0),
                   (JUMP_IF_GREATER, 0, 1, LONGEST_TCP_HEADER),
                   (RETURN, 0, 0, 0), (RETURN, 0, 0, 0xffffffff))
        else:
            detach(self.listener)

    def accept(self, timeout=WAIT):
        self.listener.settimeout(timeout)
        try:
            sock, name = self.listener.accept()
        except TimeoutError as error:
            raise Failure("the kernel does not connect") from error
        path = name[1] % wire.PATHS if self.encodes_paths else 0
        return self.take(sock, name[1], path)

    def stop(self):
        """Reset the links and stop listening."""
        for link in self.links:
            if link.sock.fileno() >= 0:
                link.reset()
        if self.listener:
            self.listener.close()

    # Frames that it sends

    def next_seq(self, path):
        seq = self.tx_seq.get(path, 1)
        self.tx_seq[path] = seq + 1
        return seq

    def handshake_seq(self, path):
        return 0 if self.ours() else self.next_seq(path)

    def probe(self, link, exts=None):
        link.send(wire.Frame(
            wire.PORT_PROBE, wire.PORT_PING, seq=self.handshake_seq(link.path),
            ext=self.exts if exts is None else exts))

    def reply(self, link):
        ext = self.exts
        if self.ours():
            ext = wire.with_tag(ext, self.tags.get(link.path, 0))
        link.send(wire.Frame(
            wire.PORT_PING, wire.PORT_PROBE, seq=self.handshake_seq(link.path),
            ext=ext))

    def data(self, link, sport, dport, payload=b"", **fields):
        """Send a message; its number is the next one, unless FIELDS set
        another."""
        if "seq" not in fields:
            fields["seq"] = self.next_seq(link.path)
        link.send(wire.Frame(sport, dport, payload, **fields))

    def request(self, link, kind, number, key, addr, payload=b""):
        """Request an operation on the kernel's memory."""
        link.send(wire.Frame(
            payload=payload, flags=wire.FLAG_RETRANSMITTED,
            ext=wire.operation(kind, number, key, addr)))

    def respond(self, link, number, payload=b"", status=wire.DONE):
        """Respond to a request of the kernel."""
        link.send(wire.Frame(
            payload=payload, flags=wire.FLAG_RETRANSMITTED,
            ext=wire.operation(wire.RESPONSE, number, status=status)))

    def handshake(self, link, *ports):
        """Send map and handshake, as a host does first, with PORTS congested.
        Then wait for the kernel's own."""
        link.send(wire.cong_frame(*ports))
        if link.path and not self.ours():
            self.ping(link)
            return link
        replies = len(self.replies)
        self.probe(link)
        self.await_reply(link, replies)
        return link

    def await_reply(self, link, replies):
        """Wait for one more than REPLIES replies to probes; keep other
        frames."""
        while len(self.replies) == replies:
            frame = link.read_frame()
            if not self.handle(link, frame):
                link.early.append(frame)

    def dial(self, path=0, rcvbuf=None):
        return self.handshake(self.connect(path, rcvbuf))

    def be_dialed(self, timeout=WAIT):
        return self.handshake(self.accept(timeout))

    # Frames that it receives

    def handle(self, link, frame):
        """Handle a frame of the handshake, a map, or a retransmit. Return
        False for any other frame."""
        expect(link.begun or frame.is_map(),
               f"a connection begins with a congestion map, not {frame}")
        link.begun = True
        if frame.is_map():
            same("a congestion map's header", wire.Frame(
                flags=wire.FLAG_CONG_BITMAP, length=wire.MAP_BYTES,
                ext=bytes(16)).header(), frame.header())
            self.maps.append(wire.congested(frame.payload))
            return True
        if self.is_repeated(link, frame):
            return True
        if frame.is_probe():
            same("payload of a probe", 0, frame.length)
            self.probes.append(frame)
            self.tags[link.path] = wire.tag(frame.ext) or \
                self.tags.get(link.path, 0)
            if self.replies_to_probes:
                self.reply(link)
            return True
        if frame.is_reply():
            same("payload of a reply", 0, frame.length)
            self.replies.append(frame)
            return True
        return False

    def is_repeated(self, link, frame):
        """Check that sequence numbers run without a gap, and that a frame that
        is sent again has the flag for it. Return whether it is sent again."""
        if not frame.seq and (frame.is_probe() or frame.is_reply()):
            return False
        if frame.is_operation():
            expect(self.has_operations(), "an operation on memory, to a peer"
                   " that does none")
            return False
        wanted = self.rx_next.get(link.path, 1)
        if frame.flags & wire.FLAG_RETRANSMITTED and frame.seq < wanted:
            self.repeated.append(frame)
            return True
        if link.may_skip and frame.seq > wanted:
            wanted = frame.seq
        link.may_skip = False
        same(f"sequence number on path {link.path}", wanted, frame.seq)
        self.rx_next[link.path] = wanted + 1
        return False

    def next_frame(self, link, timeout=WAIT):
        """Return the next frame that is neither of the handshake nor a map."""
        if link.early:
            return link.early.pop(0)
        while True:
            frame = link.read_frame(timeout)
            if not self.handle(link, frame):
                return frame

    def pong(self, link, sport, timeout=WAIT):
        """Expect the pong next, exactly as it has to be."""
        frame = self.next_frame(link, timeout)
        # Another test checks whether it may ask for an ack.
        flags = frame.flags & (wire.FLAG_RETRANSMITTED |
                               wire.FLAG_ACK_REQUIRED)
        wanted = wire.Frame(wire.PORT_PING, sport, seq=frame.seq, flags=flags,
                            ext=bytes(16), length=0)
        same("pong", wanted.header(), frame.header())

    def ping(self, link, sport=None, **fields):
        """Send a ping, and expect nothing before the pong."""
        if sport is None:
            sport = random.randrange(2, 1 << 16)
        self.data(link, sport, wire.PORT_PING, **fields)
        self.pong(link, sport)

    def message(self, link, sport, dport, payload=None):
        """Expect exactly this message from the kernel next."""
        frame = self.next_frame(link)
        same("ports of a message", (sport, dport), (frame.sport, frame.dport))
        if payload is not None:
            same("payload of a message", payload, frame.payload)
        return frame

    def operation(self, link, kind, payload, key=0, addr=0, number=None,
                  status=wire.DONE):
        """Expect exactly this frame about an operation next. If no number is
        given, it is that of the message that is to follow."""
        frame = self.next_frame(link)
        if number is None:
            number = self.rx_next.get(link.path, 1)
        wanted = wire.Frame(length=len(payload),
                            flags=wire.FLAG_RETRANSMITTED,
                            ext=wire.operation(kind, number, key, addr,
                                               status))
        same("a frame about an operation", wanted.header(), frame.header())
        same("its payload", payload, frame.payload)
        return number

    def expect_response(self, link, number, payload=b"", status=wire.DONE):
        """Expect the kernel's response next."""
        self.operation(link, wire.RESPONSE, payload, number=number,
                       status=status)

    def expect_request(self, link, kind, key, addr, payload):
        """Expect the kernel's request next, and return its number."""
        return self.operation(link, kind, payload, key, addr)

    def skip(self, link):
        """Take into account that the kernel leaves a sequence number out."""
        self.rx_next[link.path] += 1
