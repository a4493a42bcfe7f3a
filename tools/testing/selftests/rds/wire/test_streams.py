# SPDX-License-Identifier: GPL-2.0
"""Streams: what their frames are, byte by byte, in both roles, and peers that
break the rules."""

import errno
import itertools
import select
import socket
import subprocess
import threading
import time

import kernel
import wire
from lab import LEGACY, MODERN, NOWHERE, OURS, STREAMS
from peer import GENERATION, WAIT, Closed
from tap import Failure, expect, same, say, test, within
from test_crowd import back_to
from test_handshake import need_ours
from test_memory import nothing_comes
from wire import NO_MORE, NO_READ, TO_CLIENT, Op

PORT = 6300		# the kernel's
THEIRS = 77		# the peer's
BUFFER = 1 << 20	# credit that a new socket gives
UNACCEPTED = 32768	# credit of a stream that waits for accept()
COST = wire.FRAME_COST
ENDS = NO_MORE | NO_READ
PONGS = 1024		# replies that may wait on a path

identifiers = itertools.count(0x5eed0000)


class End:
    """The peer's end of a stream with the kernel."""

    def __init__(self, peer, link, ident, port=THEIRS, kernel_port=PORT,
                 server=False):
        self.peer = peer
        self.link = link
        self.ident = ident
        self.port = port
        self.kernel_port = kernel_port
        self.server = server

    def send(self, op, payload=b"", flags=0, ident=None, consumed=0,
             credit=BUFFER, reason=0):
        self.peer.data(
            self.link, self.port, self.kernel_port, payload, ext=wire.stream(
                op, flags ^ (TO_CLIENT if self.server else 0),
                self.ident if ident is None else ident, consumed, credit,
                reason))

    def expect(self, op, payload=b"", flags=0, ident=None, consumed=0,
               credit=BUFFER, reason=0, timeout=WAIT):
        """Expect exactly this frame next. RST and BUSY carry no credit."""
        if op in (Op.RST, Op.BUSY):
            consumed = credit = 0
        frame = self.peer.next_frame(self.link, timeout)
        wanted = wire.Frame(
            self.kernel_port, self.port, seq=frame.seq, length=len(payload),
            flags=frame.flags & (wire.FLAG_RETRANSMITTED |
                                 wire.FLAG_ACK_REQUIRED),
            ext=wire.stream(op, flags ^ (0 if self.server else TO_CLIENT),
                            self.ident if ident is None else ident, consumed,
                            credit, reason))
        same(f"a frame {op.name}", wanted.header(), frame.header())
        same("its payload", payload, frame.payload)
        return frame

    def quiet(self):
        """Check that the kernel has nothing to say to what was sent."""
        self.peer.ping(self.link)


def meet(lab, exts=STREAMS, **more):
    """Return (peer, its connection). The connection is in use. When it is
    lost, the kernel finds that the peer's RDS is there, and waits until it
    dials."""
    need_ours("have no streams")
    peer = lab.lower(exts)
    peer.listen()
    link = peer.dial(**more)
    sock = lab.socket(PORT)
    peer.data(link, 9, PORT, b"hello")
    same("the first message", b"hello", sock.recv()[0])
    sock.close()
    return peer, link


def listen(lab, backlog=16):
    listener = lab.stream(PORT)
    listener.listen(backlog)
    return listener


def requested(lab, peer, link, port=THEIRS, credit=BUFFER, listener=None):
    """Have the peer ask for a stream, which waits for accept(). Return (the
    peer's end, the listener)."""
    listener = listener or listen(lab)
    end = End(peer, link, next(identifiers), port)
    end.send(Op.REQUEST, credit=credit)
    end.expect(Op.RESPONSE, credit=UNACCEPTED)
    return end, listener


def serve(lab, peer, link, credit=BUFFER):
    """Open a stream for which the peer asks. Return (the peer's end, the
    kernel's socket)."""
    end, listener = requested(lab, peer, link, credit=credit)
    sock = lab.keep(listener.accept())
    end.expect(Op.CREDIT_UPDATE)
    return end, sock


def asking(lab, peer, port=0):
    """Have the kernel begin to ask for a stream; return its socket."""
    sock = lab.stream(port)
    same("connecting", errno.EINPROGRESS, sock.connect(peer.address, THEIRS))
    return sock


def request_of(peer, link, sock):
    """Expect that the kernel asks for a stream; return the peer's end."""
    frame = peer.next_frame(link)
    ident = wire.parse_stream(frame.ext)[3]
    end = End(peer, link, ident, kernel_port=sock.port(), server=True)
    link.early.insert(0, frame)
    end.expect(Op.REQUEST)
    return end


def asked(lab, peer, link, port=0):
    """Have the kernel ask for a stream; return as serve()."""
    sock = asking(lab, peer, port)
    return request_of(peer, link, sock), sock


def ask(lab, peer, link, credit=BUFFER):
    """Open a stream for which the kernel asks; return as serve()."""
    end, sock = asked(lab, peer, link)
    end.send(Op.RESPONSE, credit=credit)
    same("connecting", 0, sock.connected())
    return end, sock


ROLES = (serve, ask)


def drop(lab, end):
    """Reset all streams of the kernel, of which only that of END has not
    ended."""
    lab.end_streams()
    end.expect(Op.RST)


def none_left():
    within(10, "all streams are freed", lambda: not kernel.streams())


def works(end, sock, sent=0, received=0):
    """Check that bytes flow both ways. The kernel has sent and consumed
    frames with this cost before."""
    same("bytes sent", 4, sock.send(b"ping"))
    end.expect(Op.RW, b"ping", consumed=received)
    end.send(Op.RW, b"pong!", consumed=sent + COST + 4)
    same("bytes received", b"pong!", sock.recv())


def is_reset(end, sock, data=b""):
    """Expect that the kernel resets the stream, and that its user learns
    it behind DATA."""
    end.expect(Op.RST)
    same("what was received", data, sock.recv_all(len(data)))
    same("receiving", errno.ECONNRESET, sock.recv())
    same("receiving again", b"", sock.recv())
    same("sending", -errno.EPIPE, sock.send(b"x"))
    # It is gone: the same frame has no stream any more.
    end.send(Op.CREDIT_REQUEST)
    end.expect(Op.RST)


def timed(function, *args):
    """Return (how long it took, its result)."""
    start = time.monotonic()
    result = function(*args)
    return time.monotonic() - start, result


def refused(sock, address):
    """Expect that connect() is refused soon; return why."""
    start = time.monotonic()
    status = sock.connect(address, THEIRS)
    if status == errno.EINPROGRESS:
        status = sock.connected()
    took = time.monotonic() - start
    same("connecting", errno.ECONNREFUSED, status)
    expect(took < 2, f"refused after {took:.1f} s")
    return sock.refused()


# What frames are, byte by byte

@test("streams: every frame of a server")
def server_format(lab):
    peer, link = meet(lab)
    listener = listen(lab)
    end = End(peer, link, 0xfedcba98)
    end.send(Op.REQUEST, credit=70000)
    frame = end.expect(Op.RESPONSE, credit=UNACCEPTED)
    same("extension header", bytes.fromhex(
        "0d 02 01 00 fedcba98 00000000 00008000"), frame.ext)
    same("ports", (PORT, THEIRS), (frame.sport, frame.dport))
    sock = lab.keep(listener.accept())
    same("extension header", bytes.fromhex(
        "0d 06 01 00 fedcba98 00000000 00100000"),
        end.expect(Op.CREDIT_UPDATE).ext)
    end.send(Op.RW, b"abc")
    same("bytes received", b"abc", sock.recv())
    same("bytes sent", 2, sock.send(b"de"))
    frame = end.expect(Op.RW, b"de", consumed=COST + 3)
    same("extension header", bytes.fromhex(
        "0d 05 01 00 fedcba98 00000103 00100000"), frame.ext)
    end.send(Op.CREDIT_REQUEST)
    end.expect(Op.CREDIT_UPDATE, consumed=COST + 3)
    sock.shutdown(socket.SHUT_WR)
    frame = end.expect(Op.SHUTDOWN, flags=NO_MORE, consumed=COST + 3)
    same("extension header", bytes.fromhex(
        "0d 04 03 00 fedcba98 00000103 00100000"), frame.ext)
    end.send(Op.RW, b"last")
    same("bytes received", b"last", sock.recv())
    end.send(Op.SHUTDOWN, flags=ENDS)
    same("the end", b"", sock.recv())
    end.send(Op.CREDIT_REQUEST)
    frame = end.expect(Op.RST)
    same("extension header", bytes.fromhex(
        "0d 03 01 00 fedcba98 00000000 00000000"), frame.ext)


@test("streams: every frame of a client")
def client_format(lab):
    peer, link = meet(lab)
    sock = asking(lab, peer, PORT + 1)
    frame = peer.next_frame(link)
    same("ports", (PORT + 1, THEIRS), (frame.sport, frame.dport))
    same("extension header", bytes.fromhex("0d 01 00 00"), frame.ext[:4])
    same("extension header", bytes.fromhex("00000000 00100000"),
         frame.ext[8:])
    end = End(peer, link, wire.parse_stream(frame.ext)[3],
              kernel_port=PORT + 1, server=True)
    end.quiet()
    expect(not sock.poll(select.POLLOUT), "connected without a RESPONSE")
    end.send(Op.RESPONSE, credit=1000)
    same("connecting", 0, sock.connected())
    works(end, sock)
    sock.close()
    end.expect(Op.SHUTDOWN, flags=ENDS, consumed=COST + 5)
    # It is gone as soon as that is acknowledged.
    end.send(Op.SHUTDOWN, flags=NO_MORE)
    frame = end.expect(Op.RST)
    same("extension header", wire.stream(Op.RST, 0, end.ident), frame.ext)


@test("streams: a client dials the host of its server")
def dials(lab):
    need_ours("have no streams")
    peer = lab.higher(STREAMS)
    peer.listen()
    sock = asking(lab, peer)
    link = peer.be_dialed()
    end = request_of(peer, link, sock)
    end.send(Op.RESPONSE)
    same("connecting", 0, sock.connected())
    works(end, sock)


@test("streams: two between the same ports, one in each direction")
def both_directions(lab):
    peer, link = meet(lab)
    end, listener = requested(lab, peer, link)
    sock = lab.keep(listener.accept())
    end.expect(Op.CREDIT_UPDATE)
    listener.close()
    back, client = asked(lab, peer, link, PORT)
    back.send(Op.RESPONSE)
    same("connecting", 0, client.connected())
    same("ports", (end.port, end.kernel_port), (back.port, back.kernel_port))
    works(back, client)
    works(end, sock)
    client.close()
    back.expect(Op.SHUTDOWN, flags=ENDS, consumed=COST + 5)
    works(end, sock, COST + 4, COST + 5)


@test("streams: IPv6")
def ipv6(lab):
    need_ours("have no streams")
    peer = lab.lower6(STREAMS)
    link = peer.dial()
    listener = lab.stream(PORT, lab.kernel_of(peer.address))
    listener.listen()
    end, _ = requested(lab, peer, link, listener=listener)
    sock = lab.keep(listener.accept())
    end.expect(Op.CREDIT_UPDATE)
    works(end, sock)


# Refusals

OTHERS = (b"", LEGACY, MODERN, OURS)


@test("streams: a peer that does not announce them is told nothing of them")
def not_announced(lab):
    need_ours("have no streams")
    for exts in OTHERS:
        peer = lab.lower(exts)
        link = peer.dial()
        same("why", kernel.NO_STREAMS, refused(lab.stream(), peer.address))
        peer.ping(link)


@test("streams: frames of a peer that does not announce them are none")
def ignored(lab):
    need_ours("have no streams")
    listener = listen(lab)
    for exts in OTHERS:
        peer = lab.lower(exts)
        link = peer.dial()
        sock = lab.socket(PORT)
        end = End(peer, link, next(identifiers))
        end.send(Op.REQUEST)
        same("it is a message", b"", sock.recv()[0])
        end.send(Op.RW, b"text")
        same("it is a message", b"text", sock.recv()[0])
        end.quiet()
        expect(listener.silent(), "a stream was accepted")
        sock.close()


@test("streams: no RDS there")
def nobody(lab):
    need_ours("have no streams")
    for peer in (lab.higher(), lab.lower()):
        same("why", kernel.NO_RDS, refused(lab.stream(), peer.address))
    sock = lab.stream()
    same("connecting", errno.EINPROGRESS, sock.connect(NOWHERE, THEIRS))
    same("connecting", errno.ETIMEDOUT, sock.connected())
    same("why", kernel.NO_RDS, sock.refused())


@test("streams: no socket listens")
def no_listener(lab):
    peer, link = meet(lab)
    end = End(peer, link, next(identifiers))
    end.send(Op.REQUEST)
    end.expect(Op.RST, reason=wire.NO_LISTENER)
    # Neither a bound socket nor a client listens, nor does one of messages.
    lab.stream(PORT)
    end.send(Op.REQUEST)
    end.expect(Op.RST, reason=wire.NO_LISTENER)
    end, _ = ask(lab, peer, link)
    other = End(peer, link, next(identifiers), kernel_port=end.kernel_port)
    other.send(Op.REQUEST)
    other.expect(Op.RST, reason=wire.NO_LISTENER)
    lab.socket(PORT + 1)
    other = End(peer, link, next(identifiers), kernel_port=PORT + 1)
    other.send(Op.REQUEST)
    other.expect(Op.RST, reason=wire.NO_LISTENER)


@test("streams: a host without the module announces them and refuses")
def without_module(lab):
    need_ours("have no streams")
    # Streams that have ended use the module until they are acknowledged.
    within(20, "the module is unloaded", lambda: not subprocess.call(
        ("rmmod", "rds_stream"), stderr=subprocess.DEVNULL))
    try:
        peer = lab.lower(STREAMS)
        link = peer.dial()
        told = wire.parse_ext(peer.replies[-1].ext)[wire.EXT_FEATURES]
        expect(told[-1] & wire.STREAMS, "they are not announced")
        end = End(peer, link, next(identifiers))
        for op in Op:
            end.send(op, b"text" if op == Op.RW else b"")
            if op not in (Op.RST, Op.BUSY):
                end.expect(Op.RST, reason=wire.NO_STREAMS)
            end.quiet()
    finally:
        kernel.run("modprobe", "rds_stream")
    end.send(Op.REQUEST)
    end.expect(Op.RST, reason=wire.NO_LISTENER)


# RST

@test("streams: RST refuses a client, and says why")
def rst_refuses(lab):
    peer, link = meet(lab)
    for reason, why in ((wire.NO_STREAMS, kernel.NO_STREAMS),
                        (wire.NO_LISTENER, kernel.NO_LISTENER),
                        (0, kernel.NO_LISTENER), (255, kernel.NO_LISTENER)):
        end, sock = asked(lab, peer, link)
        end.send(Op.RST, reason=reason, ident=end.ident ^ 1)
        end.quiet()
        expect(not sock.poll(select.POLLOUT), "an RST of another identifier")
        end.send(Op.RST, reason=reason)
        same("connecting", errno.ECONNREFUSED, sock.connected())
        same("why", why, sock.refused())
        end.send(Op.RESPONSE)
        end.expect(Op.RST)


@test("streams: RST to a client that waits for a busy server is stale")
def rst_after_busy(lab):
    peer, link = meet(lab)
    end, sock = asked(lab, peer, link)
    end.send(Op.BUSY)
    end.send(Op.RST, reason=wire.NO_LISTENER)
    end.expect(Op.REQUEST)
    end.send(Op.RESPONSE)
    same("connecting", 0, sock.connected())
    works(end, sock)


@test("streams: RST ends an open stream behind its bytes")
def rst_open(lab):
    peer, link = meet(lab)
    for role in ROLES:
        end, sock = role(lab, peer, link)
        end.send(Op.RW, b"before")
        end.send(Op.RST, ident=end.ident ^ 1)
        end.quiet()
        same("sending", 1, sock.send(b"x"))
        end.expect(Op.RW, b"x")
        end.send(Op.RST)
        end.quiet()
        same("received", b"before", sock.recv())
        same("receiving", errno.ECONNRESET, sock.recv())
        same("the end", b"", sock.recv())
        same("sending", -errno.EPIPE, sock.send(b"x"))
        lab.end_streams()


@test("streams: RST to one that waits for accept()")
def rst_waiting(lab):
    peer, link = meet(lab)
    end, listener = requested(lab, peer, link)
    end.send(Op.RW, b"before")
    end.send(Op.RST)
    end.quiet()
    sock = lab.keep(listener.accept())
    same("received", b"before", sock.recv())
    same("receiving", errno.ECONNRESET, sock.recv())
    end.quiet()


@test("streams: RST behind the peer's close() is no failure")
def rst_behind_close(lab):
    peer, link = meet(lab)
    for role in ROLES:
        end, sock = role(lab, peer, link)
        end.send(Op.RW, b"last")
        end.send(Op.SHUTDOWN, flags=ENDS)
        end.send(Op.RST)
        end.quiet()
        same("received", b"last", sock.recv())
        same("the end", b"", sock.recv())
        lab.end_streams()


@test("streams: RST to one whose socket is closed, and to a listener")
def rst_closed(lab):
    peer, link = meet(lab)
    none_left()
    end, sock = ask(lab, peer, link)
    link.drop_segments()
    sock.send(b"never acknowledged")
    sock.close()
    time.sleep(0.3)
    same("streams that are left", 1, kernel.streams())
    # TCP drops what it would acknowledge by, not what it sends.
    link.drop_no_segments()
    end.expect(Op.RW, b"never acknowledged")
    end.expect(Op.SHUTDOWN, flags=ENDS)
    end.send(Op.RST)
    none_left()
    listener = listen(lab)
    end = End(peer, link, next(identifiers))
    end.send(Op.RST)
    end.send(Op.BUSY)
    end.quiet()
    expect(listener.silent(), "the listener noticed something")


# Credit

@test("streams: credit that was not sent, or goes back, ends the stream")
def false_credit(lab):
    peer, link = meet(lab)
    for role in ROLES:
        for sent, consumed in ((0, (1,)), (4, (COST + 5,)),
                               (4, (COST + 4, COST + 3)), (4, (1 << 31,)),
                               (4, (COST + 4, 0)), (4, ((1 << 32) - 1,))):
            end, sock = role(lab, peer, link)
            if sent:
                same("bytes sent", sent, sock.send(b"text"))
                end.expect(Op.RW, b"text")
            for number in consumed[:-1]:
                end.send(Op.CREDIT_UPDATE, consumed=number)
            end.quiet()
            end.send(Op.CREDIT_UPDATE, consumed=consumed[-1])
            is_reset(end, sock)
            lab.end_streams()


@test("streams: no credit: writers wait, and ask for it after a second")
def no_credit(lab):
    peer, link = meet(lab)
    text = b"123" * 100
    cost = COST + len(text)
    for role in ROLES:
        end, sock = role(lab, peer, link, credit=cost)
        start = time.monotonic()
        same("bytes sent", len(text), sock.send(text + b"x"))
        end.expect(Op.RW, text)
        same("sending", -errno.EAGAIN, sock.send(b"x"))
        end.expect(Op.CREDIT_REQUEST)
        took = time.monotonic() - start
        expect(0.8 < took < 2, f"credit was asked for after {took:.1f} s")
        # These are answers, too.
        for consumed, credit in ((0, 0), (0, cost - 1), (cost, 0),
                                 (cost, 1), (cost, COST)):
            end.send(Op.CREDIT_UPDATE, consumed=consumed, credit=credit)
            end.quiet()
            same("sending", -errno.EAGAIN, sock.send(b"x"))
            expect(not sock.poll(select.POLLOUT), "it can be written to")
        end.send(Op.CREDIT_UPDATE, consumed=cost, credit=cost)
        expect(sock.poll(select.POLLOUT, 5), "it cannot be written to")
        same("bytes sent", 1, sock.send(b"x"))
        end.expect(Op.RW, b"x")
        drop(lab, end)


@test("streams: credit without a limit is used as far as the buffer goes")
def endless_credit(lab):
    peer, link = meet(lab)
    end, sock = serve(lab, peer, link, credit=(1 << 32) - 1)
    data = bytes(range(256)) * 1000
    same("bytes sent", len(data), sock.send(data))
    got = b""
    while len(got) < len(data):
        frame = peer.next_frame(link)
        same("op", Op.RW, wire.parse_stream(frame.ext)[0])
        got += frame.payload
    same("bytes received", data, got)
    link.drop_segments()
    total = 0
    while (sent := sock.send(data)) > 0:
        total += sent
        expect(total < 8 << 20, "a writer is never stopped")
    same("sending", -errno.EAGAIN, sent)
    link.drop_no_segments()


@test("streams: as many bytes as the credit, and one byte more")
def all_credit(lab):
    peer, link = meet(lab)
    text = bytes(range(256)) * 127
    same("what just fits", UNACCEPTED, len(text) + COST)
    end, listener = requested(lab, peer, link)
    end.send(Op.RW, text)
    end.quiet()
    sock = lab.keep(listener.accept())
    end.expect(Op.CREDIT_UPDATE)
    # The credit has become larger, and includes what came before.
    rest = bytes(BUFFER - UNACCEPTED - COST)
    end.send(Op.RW, rest)
    end.quiet()
    same("received", text + rest, sock.recv_all(len(text + rest)))
    end.expect(Op.CREDIT_UPDATE, consumed=BUFFER)
    drop(lab, end)

    end, listener = requested(lab, peer, link)
    end.send(Op.RW, text + b"x")
    is_reset(end, lab.keep(listener.accept()))
    lab.end_streams()
    for role in ROLES:
        end, sock = role(lab, peer, link)
        half = bytes(BUFFER // 2 - COST)
        end.send(Op.RW, half)
        end.send(Op.RW, half)
        end.quiet()
        end.send(Op.RW, b"x")
        is_reset(end, sock, 2 * half)
        lab.end_streams()


@test("streams: a reader tells of what it has consumed by quarters")
def reader(lab):
    peer, link = meet(lab)
    end, sock = serve(lab, peer, link)
    part = bytes(BUFFER // 4 - COST)
    for _ in range(4):
        end.send(Op.RW, part)
    end.quiet()
    for number in range(1, 9):
        same("received", part[1:], sock.recv_all(len(part) - 1))
        end.quiet()
        # The quarter is consumed with the last byte of a frame.
        same("received", b"\0", sock.recv_all(1))
        end.expect(Op.CREDIT_UPDATE, consumed=number * BUFFER // 4)
        end.send(Op.RW, part)


# Frames that do not fit

@test("streams: ops that do not exist or do not fit end the stream")
def wrong_ops(lab):
    peer, link = meet(lab)
    for role in ROLES:
        wrong = [(op, b"", 0) for op in (0, 9, 255)] + [
            (Op.RW, b"", 0), (Op.RW, b"", 0xf8)]
        if role is serve:
            wrong += [(Op.RESPONSE, b"", 0)]
        else:
            wrong += [(Op.REQUEST, b"", 0)]
        for op, payload, flags in wrong:
            end, sock = role(lab, peer, link)
            end.send(Op.RW, b"before")
            end.send(op, payload, flags)
            is_reset(end, sock, b"before")
            lab.end_streams()


@test("streams: before the RESPONSE a server may say nothing")
def before_response(lab):
    peer, link = meet(lab)
    for op, payload, flags in ((Op.RW, b"early", 0), (Op.RW, b"", 0),
                               (Op.SHUTDOWN, b"", NO_MORE),
                               (Op.REQUEST, b"", 0), (9, b"", 0)):
        end, sock = asked(lab, peer, link)
        end.send(op, payload, flags)
        end.expect(Op.RST)
        same("connecting", errno.ECONNRESET, sock.connected())
        same("why", kernel.NOT_REFUSED, sock.refused())
        end.send(Op.RESPONSE)
        end.expect(Op.RST)
    # What only carries credit is harmless.
    end, sock = asked(lab, peer, link)
    end.send(Op.CREDIT_UPDATE)
    end.send(Op.CREDIT_REQUEST)
    end.quiet()
    expect(not sock.poll(select.POLLOUT), "connected without a RESPONSE")
    end.send(Op.RESPONSE)
    same("connecting", 0, sock.connected())
    works(end, sock)


@test("streams: flags that do not exist are ignored")
def unknown_flags(lab):
    peer, link = meet(lab)
    for role in ROLES:
        end, sock = role(lab, peer, link)
        end.send(Op.RW, b"text", flags=0xfe)
        same("received", b"text", sock.recv())
        end.send(Op.SHUTDOWN, flags=0xf8)
        end.quiet()
        expect(sock.silent(), "this SHUTDOWN ends nothing")
        works(end, sock, received=COST + 4)
        drop(lab, end)


@test("streams: a SHUTDOWN again, and bytes behind it")
def shutdown_twice(lab):
    peer, link = meet(lab)
    for role in ROLES:
        end, sock = role(lab, peer, link)
        end.send(Op.RW, b"last")
        for flags in (NO_MORE, 0, NO_MORE):
            end.send(Op.SHUTDOWN, flags=flags)
        end.quiet()
        same("received", b"last", sock.recv())
        same("the end", b"", sock.recv())
        same("bytes sent", 4, sock.send(b"more"))
        end.expect(Op.RW, b"more", consumed=COST + 4)
        end.send(Op.RW, b"behind the end")
        end.expect(Op.RST)
        same("receiving", errno.ECONNRESET, sock.recv())
        lab.end_streams()
        end, sock = role(lab, peer, link)
        end.send(Op.SHUTDOWN, flags=NO_READ)
        end.quiet()
        same("sending", -errno.EPIPE, sock.send(b"x"))
        end.send(Op.RW, b"text")
        same("received", b"text", sock.recv())
        drop(lab, end)


@test("streams: frames of other identifiers and directions change nothing")
def wrong_identifier(lab):
    peer, link = meet(lab)
    for role in ROLES:
        end, sock = role(lab, peer, link)
        for other in (
                End(peer, link, end.ident ^ 1, kernel_port=end.kernel_port,
                    server=end.server),
                End(peer, link, end.ident, kernel_port=end.kernel_port,
                    server=not end.server)):
            for op in Op:
                # The REQUEST of a client begins another stream.
                if op == Op.REQUEST and not other.server:
                    continue
                other.send(op, b"text" if op == Op.RW else b"", ENDS,
                           consumed=99)
                if op not in (Op.RST, Op.BUSY, Op.CREDIT_UPDATE):
                    other.expect(Op.RST)
                end.quiet()
        works(end, sock)
        drop(lab, end)


@test("streams: RESPONSE again, and BUSY to an open stream, are ignored")
def late_answers(lab):
    peer, link = meet(lab)
    end, sock = ask(lab, peer, link)
    for op in (Op.RESPONSE, Op.BUSY, Op.RESPONSE):
        end.send(op)
    end.quiet()
    works(end, sock)


# REQUEST

@test("streams: a REQUEST again is answered again")
def request_again(lab):
    peer, link = meet(lab)
    end, listener = requested(lab, peer, link)
    end.send(Op.REQUEST)
    end.expect(Op.RESPONSE, credit=UNACCEPTED)
    sock = lab.keep(listener.accept())
    end.expect(Op.CREDIT_UPDATE)
    end.send(Op.REQUEST)
    end.expect(Op.RESPONSE)
    expect(listener.silent(), "there is another stream")
    works(end, sock)
    # The same rules for credit hold as in other frames.
    end.send(Op.REQUEST, consumed=COST + 5)
    is_reset(end, sock)
    end.send(Op.REQUEST, consumed=1)
    end.expect(Op.RST)
    expect(listener.silent(), "a stream to which bytes were sent before")


@test("streams: a REQUEST with another identifier replaces the stream")
def request_other(lab):
    peer, link = meet(lab)
    end, listener = requested(lab, peer, link)
    sock = lab.keep(listener.accept())
    end.expect(Op.CREDIT_UPDATE)
    end.send(Op.RW, b"before")
    end.quiet()
    other, _ = requested(lab, peer, link, listener=listener)
    same("received", b"before", sock.recv())
    same("receiving", errno.ECONNRESET, sock.recv())
    # Also one that nobody has accepted.
    third, _ = requested(lab, peer, link, listener=listener)
    dead = lab.keep(listener.accept())
    same("receiving", errno.ECONNRESET, dead.recv())
    sock = lab.keep(listener.accept())
    third.expect(Op.CREDIT_UPDATE)
    works(third, sock)
    for old in (end, other):
        old.send(Op.RW, b"text")
        old.expect(Op.RST)
    works(third, sock, COST + 4, COST + 5)


@test("streams: a thousand REQUESTs: backlog, then BUSY, and nothing stays")
def request_flood(lab):
    peer, link = meet(lab)
    before = kernel.memory()
    none_left()
    listener = listen(lab, 4)
    frames = [wire.Frame(1000 + number, PORT, seq=peer.next_seq(0),
                         ext=wire.stream(Op.REQUEST, 0, number, 0, BUFFER))
              for number in range(1000)]
    link.send(*frames)
    answers = {Op.RESPONSE: [], Op.BUSY: []}
    for _ in frames:
        frame = peer.next_frame(link)
        answers[wire.parse_stream(frame.ext)[0]].append(frame.dport)
    # As with TCP, one more may wait than listen() says.
    same("accepted", list(range(1000, 1005)), answers[Op.RESPONSE])
    same("refused", list(range(1005, 2000)), answers[Op.BUSY])
    # The listener is a socket of a user, too.
    same("streams", 2 + 5, kernel.streams())
    # One that is accepted makes room for another one.
    lab.keep(listener.accept())
    same("credit", Op.CREDIT_UPDATE,
         wire.parse_stream(peer.next_frame(link).ext)[0])
    requested(lab, peer, link, listener=listener)
    lab.end_streams()
    none_left()
    ended = [peer.next_frame(link) for _ in range(6)]
    same("what ends them", {Op.RST},
         {wire.parse_stream(frame.ext)[0] for frame in ended})
    if not kernel.finds_leaks():
        back_to(before, 1024)


@test("streams: a server that is busy is asked again, less and less often")
def busy(lab):
    peer, link = meet(lab)
    end, sock = asked(lab, peer, link)
    waits = []
    for _ in range(4):
        end.send(Op.BUSY)
        waits.append(timed(end.expect, Op.REQUEST)[0])
    say("asked again after " + ", ".join(f"{wait:.2f} s" for wait in waits))
    for wait, least in zip(waits, (0.1, 0.2, 0.4, 0.8)):
        expect(0.9 * least < wait < 3 * least + 0.3,
               f"asked again after {wait:.2f} s")
    expect(not sock.poll(select.POLLOUT), "connected without a RESPONSE")
    # A server that has said nothing is left alone for a while.
    end.quiet()
    end.send(Op.RESPONSE)
    same("connecting", 0, sock.connected())
    works(end, sock)


@test("streams: a server that stays busy is given up, and has not refused",
      timeout=120, long=True)
def busy_for_ever(lab):
    peer, link = meet(lab)
    end, sock = asked(lab, peer, link)
    start = time.monotonic()
    while not sock.poll(select.POLLOUT):
        end.send(Op.BUSY)
        try:
            end.expect(Op.REQUEST, timeout=20)
        except (Failure, Closed):
            break
    same("connecting", errno.ETIMEDOUT, sock.connected())
    took = time.monotonic() - start
    # The last wait, for a REQUEST that does not come, counts, too.
    expect(70 < took < 100, f"given up after {took:.0f} s")
    same("why", kernel.NOT_REFUSED, sock.refused())


@test("streams: a REQUEST that nothing answers is repeated")
def request_unanswered(lab):
    peer, link = meet(lab)
    end, sock = asked(lab, peer, link)
    waits = [timed(end.expect, Op.REQUEST)[0] for _ in range(2)]
    say("repeated after " + ", ".join(f"{wait:.2f} s" for wait in waits))
    for wait, least in zip(waits, (1, 2)):
        expect(0.9 * least < wait < least + 1.5,
               f"repeated after {wait:.2f} s")
    end.send(Op.RESPONSE)
    same("connecting", 0, sock.connected())
    works(end, sock)
    # The REQUEST that is on its way is enough.
    link.drop_segments()
    sock = asking(lab, peer)
    time.sleep(1.5)
    link.drop_no_segments()
    end = request_of(peer, link, sock)
    end.quiet()
    end.send(Op.RST, reason=wire.NO_LISTENER)
    same("connecting", errno.ECONNREFUSED, sock.connected())


# Floods

def all_that_comes(peer, link, seconds=0.5):
    """Yield frames until there has been none for this time."""
    while True:
        try:
            frame = peer.next_frame(link, seconds)
        except Failure as error:
            expect("no reply: 0 bytes" in str(error), error)
            return
        yield frame


@test("streams: answers to frames without a stream are limited")
def answer_flood(lab):
    peer, link = meet(lab, rcvbuf=4096)
    before = kernel.memory()
    count = 20000
    frames = b"".join(wire.Frame(
        1000 + number % 50000, PORT, seq=peer.next_seq(0), ext=wire.stream(
            Op.CREDIT_REQUEST, 0, number)).encode()
        for number in range(count))
    link.write(frames)
    within(10, "all of it has arrived", link.is_acked)
    grown = kernel.memory()[0] - before[0]
    expect(grown < 8192, f"slab has grown by {grown} kB")
    got = 0
    for frame in all_that_comes(peer, link):
        same("op", Op.RST, wire.parse_stream(frame.ext)[0])
        got += 1
    say(f"{got} answers to {count} frames")
    expect(PONGS <= got < 3 * PONGS, f"{got} answers")
    # Later ones are answered again.
    end = End(peer, link, next(identifiers))
    end.send(Op.SHUTDOWN)
    end.expect(Op.RST)


@test("streams: questions are answered one at a time")
def question_flood(lab):
    peer, link = meet(lab, rcvbuf=4096)
    end, sock = serve(lab, peer, link)
    before = kernel.memory()
    count = 20000
    link.write(b"".join(wire.Frame(
        THEIRS, PORT, seq=peer.next_seq(0), ext=wire.stream(
            (Op.CREDIT_REQUEST, Op.REQUEST)[number % 2], 0, end.ident, 0,
            BUFFER)).encode() for number in range(count)))
    within(10, "all of it has arrived", link.is_acked)
    grown = kernel.memory()[0] - before[0]
    expect(grown < 4096, f"slab has grown by {grown} kB")
    got = 0
    for frame in all_that_comes(peer, link):
        expect(wire.parse_stream(frame.ext)[0] in
               (Op.RESPONSE, Op.CREDIT_UPDATE), frame)
        got += 1
    say(f"{got} answers to {count} frames")
    expect(0 < got < count / 4, f"{got} answers")
    works(end, sock)


# Connections that are lost, and peers that restart

def restarted(peer, generation):
    peer.exts = STREAMS.replace(wire.gen_num(GENERATION),
                                wire.gen_num(generation))
    peer.tx_seq.clear()


@test("streams: a lost connection is no loss")
def lost(lab):
    peer, link = meet(lab)
    for role in ROLES:
        end, sock = role(lab, peer, link)
        works(end, sock)
        link.drop_segments()
        same("bytes sent", 9, sock.send(b"once more"))
        time.sleep(0.2)
        link.reset()
        time.sleep(0.1)
        same("bytes sent", 5, sock.send(b"later"))
        link = end.link = peer.dial()
        link.may_skip = False
        end.expect(Op.RW, b"once more", consumed=COST + 5)
        end.expect(Op.RW, b"later", consumed=COST + 5)
        same("nothing is acknowledged twice", [], peer.repeated)
        end.send(Op.RW, b"as well", consumed=3 * COST + 18)
        same("received", b"as well", sock.recv())
        sock.close()
        end.expect(Op.SHUTDOWN, flags=ENDS, consumed=2 * COST + 12)
        lab.end_streams()
        none_left()


@test("streams: a peer that restarts is told nothing of its former streams")
def restarts(lab):
    peer, link = meet(lab)
    for number, role in enumerate(2 * ROLES, 2):
        end, sock = role(lab, peer, link)
        works(end, sock)
        end.send(Op.RW, b"before", consumed=COST + 4)
        end.quiet()
        link.drop_segments()
        same("bytes sent", 3, sock.send(b"old"))
        time.sleep(0.1)
        link.reset()
        restarted(peer, number)
        link = peer.dial()
        same("received", b"before", sock.recv())
        same("receiving", errno.ECONNRESET, sock.recv())
        same("the end", b"", sock.recv())
        same("sending", -errno.EPIPE, sock.send(b"x"))
        peer.ping(link)
        # The new incarnation may find a former stream in its own memory.
        end.link = link
        end.send(Op.RW, b"text")
        end.expect(Op.RST)
        lab.end_streams()


@test("streams: a client asks a server that has restarted, or lost, again")
def restarts_asked(lab):
    peer, link = meet(lab)
    end, sock = asked(lab, peer, link)
    link.reset()
    restarted(peer, 2)
    link = end.link = peer.dial()
    end.expect(Op.REQUEST)
    end.send(Op.RESPONSE)
    same("connecting", 0, sock.connected())
    works(end, sock)
    drop(lab, end)
    # The former incarnation has not received this one.
    link.drop_segments()
    sock = asking(lab, peer)
    time.sleep(0.2)
    link.reset()
    restarted(peer, 3)
    link = peer.dial()
    end = request_of(peer, link, sock)
    end.send(Op.RESPONSE)
    same("connecting", 0, sock.connected())
    works(end, sock)
    drop(lab, end)
    # One that knows streams no more refuses.
    end, sock = asked(lab, peer, link)
    link.reset()
    restarted(peer, 9)
    peer.exts = OURS.replace(wire.gen_num(GENERATION), wire.gen_num(9))
    link = peer.dial()
    same("connecting", errno.ECONNREFUSED, sock.connected())
    same("why", kernel.NO_STREAMS, sock.refused())
    peer.ping(link)


@test("streams: one that waits for accept() ends with its peer")
def restarts_waiting(lab):
    peer, link = meet(lab)
    _, listener = requested(lab, peer, link)
    link.reset()
    restarted(peer, 2)
    link = peer.dial()
    sock = lab.keep(listener.accept())
    same("receiving", errno.ECONNRESET, sock.recv())
    peer.ping(link)


# Peers that do not react

@test("streams: a peer that acknowledges nothing: the user timeout ends it")
def no_acks(lab):
    peer, link = meet(lab)
    for role in ROLES:
        end, sock = role(lab, peer, link)
        sock.user_timeout(1)
        link.drop_segments()
        same("bytes sent", 4, sock.send(b"text"))
        took, events = timed(sock.poll, select.POLLIN, 10)
        expect(events & select.POLLERR, "there is no error")
        expect(0.8 < took < 2.5, f"ended after {took:.1f} s")
        same("receiving", errno.ETIMEDOUT, sock.recv())
        same("unacknowledged", 0, sock.unacked())
        link.drop_no_segments()
        end.expect(Op.RW, b"text", timeout=20)
        end.expect(Op.RST)
        lab.end_streams()


def close_aside(sock):
    """Close in a thread; return a function that returns how long it took."""
    took = []
    thread = threading.Thread(
        target=lambda: took.append(timed(sock.close)[0]))
    thread.start()

    def joined():
        thread.join(20)
        expect(took, "close() does not return")
        return took[0]
    return joined


@test("streams: close() waits for acknowledgments, for the time of SO_LINGER")
def linger(lab):
    peer, link = meet(lab)
    none_left()
    end, sock = ask(lab, peer, link)
    sock.linger(1)
    sock.user_timeout(2)
    link.drop_segments()
    same("bytes sent", 4, sock.send(b"text"))
    took = close_aside(sock)()
    expect(0.8 < took < 1.8, f"close() took {took:.1f} s")
    same("streams that are left", 1, kernel.streams())
    none_left()
    link.drop_no_segments()
    end.expect(Op.RW, b"text", timeout=20)
    end.expect(Op.SHUTDOWN, flags=ENDS)
    end.expect(Op.RST)


@test("streams: close() does not wait for credit")
def close_without_credit(lab):
    peer, link = meet(lab)
    for role in ROLES:
        end, sock = role(lab, peer, link, credit=COST + 100)
        same("bytes sent", 100, sock.send(bytes(200)))
        same("sending", -errno.EAGAIN, sock.send(bytes(100)))
        sock.linger(10)
        joined = close_aside(sock)
        end.expect(Op.RW, bytes(100))
        end.expect(Op.SHUTDOWN, flags=ENDS)
        took = joined()
        expect(took < 1, f"close() took {took:.1f} s")
        lab.end_streams()
        none_left()
        end.send(Op.CREDIT_REQUEST)
        end.expect(Op.RST)


@test("streams: a closed stream answers nothing, and takes no bytes")
def closed(lab):
    peer, link = meet(lab)
    end, sock = ask(lab, peer, link)
    link.drop_segments()
    sock.close()
    time.sleep(0.1)
    link.drop_no_segments()
    end.expect(Op.SHUTDOWN, flags=ENDS, timeout=20)
    none_left()
    for op in (Op.RW, Op.CREDIT_REQUEST, Op.SHUTDOWN):
        end.send(op, b"text" if op == Op.RW else b"")
        end.expect(Op.RST)
    end.send(Op.CREDIT_UPDATE)
    end.quiet()


@test("streams: close() with bytes that were not read resets")
def close_unread(lab):
    peer, link = meet(lab)
    for role in ROLES:
        end, sock = role(lab, peer, link)
        end.send(Op.RW, b"unread")
        end.quiet()
        sock.close()
        end.expect(Op.RST)
        lab.end_streams()
    # The listener resets what nobody has accepted.
    end, listener = requested(lab, peer, link)
    listener.close()
    end.expect(Op.RST)
    end.send(Op.REQUEST)
    end.expect(Op.RST, reason=wire.NO_LISTENER)
    nothing_comes(peer, link, 0.1)
