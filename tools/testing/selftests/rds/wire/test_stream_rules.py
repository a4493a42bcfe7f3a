# SPDX-License-Identifier: GPL-2.0
"""Streams: peers that keep the letter of the rules only, and what remains of a
stream that is closed."""

import errno
import select
import socket
import time

import kernel
import wire
from tap import expect, same, say, test, within
from test_memory import nothing_comes
from test_streams import (BUFFER, COST, ENDS, PORT, ROLES, THEIRS, UNACCEPTED,
                          End, Op, all_that_comes, ask, asked, drop,
                          identifiers, is_reset, listen, meet, none_left,
                          request_of, requested, serve, works)
from wire import NO_MORE, NO_READ

MOST = (1 << 32) - 1


def all_end(lab):
    """Reset the sockets; no stream must be left."""
    lab.end_streams()
    none_left()


# Identifiers and ports

@test("stream rules: an identifier that is used again begins a new stream")
def same_identifier(lab):
    peer, link = meet(lab)
    listener = listen(lab)
    for ident in (0, MOST, MOST):
        for how in ("closed", "reset", "reset by the peer"):
            end = End(peer, link, ident)
            end.send(Op.REQUEST)
            end.expect(Op.RESPONSE, credit=UNACCEPTED)
            sock = lab.keep(listener.accept())
            end.expect(Op.CREDIT_UPDATE)
            works(end, sock)
            if how == "closed":
                sock.close()
                end.expect(Op.SHUTDOWN, flags=ENDS, consumed=COST + 5)
                end.send(Op.SHUTDOWN, flags=ENDS, consumed=COST + 4)
                frame = end.expect(Op.RST)
                same("ports", (PORT, THEIRS), (frame.sport, frame.dport))
            elif how == "reset":
                sock.reset()
                end.expect(Op.RST)
            else:
                # The second one is for no stream.
                end.send(Op.RST)
                end.send(Op.RST)
                end.quiet()


@test("stream rules: port 0 is a port")
def port_0(lab):
    peer, link = meet(lab)
    end = End(peer, link, next(identifiers), kernel_port=0)
    for op in (Op.REQUEST, Op.RW):
        end.send(op, b"text" if op == Op.RW else b"")
        end.expect(Op.RST,
                   reason=wire.NO_LISTENER if op == Op.REQUEST else 0)
    end, listener = requested(lab, peer, link, port=0)
    sock = lab.keep(listener.accept())
    end.expect(Op.CREDIT_UPDATE)
    works(end, sock)
    end.quiet()


@test("stream rules: a REQUEST replaces one that was closed, undelivered")
def replaces_closed(lab):
    peer, link = meet(lab)
    none_left()
    end, listener = requested(lab, peer, link)
    sock = lab.keep(listener.accept())
    end.expect(Op.CREDIT_UPDATE)
    link.drop_segments()
    same("bytes sent", 3, sock.send(b"old"))
    sock.close()
    time.sleep(0.2)
    other = End(peer, link, next(identifiers))
    other.send(Op.REQUEST)
    new = lab.keep(listener.accept())
    link.drop_no_segments()
    # What was on its way may still come.
    for frame in all_that_comes(peer, link, 2):
        if wire.parse_stream(frame.ext)[3] == other.ident:
            same("op", Op.RESPONSE, wire.parse_stream(frame.ext)[0])
            break
    other.expect(Op.CREDIT_UPDATE)
    works(other, new)
    drop(lab, other)
    none_left()


@test("stream rules: a REQUEST for another behind the peer's close()")
def replaces_ended(lab):
    peer, link = meet(lab)
    end, listener = requested(lab, peer, link)
    sock = lab.keep(listener.accept())
    end.expect(Op.CREDIT_UPDATE)
    end.send(Op.RW, b"last")
    end.send(Op.SHUTDOWN, flags=ENDS)
    other, _ = requested(lab, peer, link, listener=listener)
    same("received", b"last", sock.recv())
    same("the end, which is no failure", b"", sock.recv())
    new = lab.keep(listener.accept())
    other.expect(Op.CREDIT_UPDATE)
    works(other, new)


# Answers of servers

@test("stream rules: a RESPONSE behind BUSY answers the second REQUEST")
def response_behind_busy(lab):
    peer, link = meet(lab)
    end, sock = asked(lab, peer, link)
    # BUSY is late, and crosses the second REQUEST.
    end.expect(Op.REQUEST)
    end.send(Op.BUSY)
    end.send(Op.RESPONSE)
    end.send(Op.RW, b"at once")
    same("connecting", 0, sock.connected())
    same("received", b"at once", sock.recv())
    works(end, sock, received=COST + 7)
    # Nothing more is asked.
    nothing_comes(peer, link, 1.2)


@test("stream rules: a REQUEST that was repeated goes when it is answered")
def answered_late(lab):
    peer, link = meet(lab)
    end, sock = asked(lab, peer, link)
    link.drop_segments()
    # The second REQUEST gets lost with the connection.
    time.sleep(1.5)
    end.send(Op.RESPONSE)
    same("connecting", 0, sock.connected())
    link.reset()
    link = end.link = peer.dial()
    # It would begin another stream if the server had ended this one.
    works(end, sock)
    end.quiet()


@test("stream rules: a RESPONSE behind close() is of a second stream")
def response_behind_close(lab):
    peer, link = meet(lab)
    end, sock = ask(lab, peer, link)
    end.send(Op.RW, b"last")
    # The server may yet answer a REQUEST that was repeated, but not afterwards.
    end.send(Op.SHUTDOWN, flags=NO_MORE)
    end.send(Op.RESPONSE)
    end.quiet()
    end.send(Op.SHUTDOWN, flags=ENDS)
    end.send(Op.RESPONSE)
    end.expect(Op.RST)
    # The first one has ended in order.
    same("received", b"last", sock.recv())
    same("the end", b"", sock.recv())
    sock.close()
    end.quiet()
    none_left()


@test("stream rules: answers with credit that was not sent, PUT before them")
def false_answers(lab):
    peer, link = meet(lab)
    for op, consumed in ((Op.RESPONSE, 1), (Op.RESPONSE, MOST),
                         (Op.CREDIT_UPDATE, 1), (Op.PUT, 0)):
        end, sock = asked(lab, peer, link)
        end.send(op, b"text" if op == Op.PUT else b"", consumed=consumed)
        end.expect(Op.RST)
        same("connecting", errno.ECONNRESET, sock.connected())
        same("why", kernel.NOT_REFUSED, sock.refused())
        # The socket may connect again, once it has told of the end as TCP's.
        same("connecting", errno.ECONNABORTED,
             sock.connect(peer.address, THEIRS))
        same("connecting", errno.EINPROGRESS,
             sock.connect(peer.address, THEIRS))
        end = request_of(peer, link, sock)
        end.send(Op.RESPONSE)
        same("connecting", 0, sock.connected())
        works(end, sock)
        drop(lab, end)


# Credit

@test("stream rules: the first credit is none: writers wait, and ask for it")
def first_credit(lab):
    peer, link = meet(lab)
    for role in (serve, asked):
        if role is serve:
            end, sock = serve(lab, peer, link, credit=0)
        else:
            end, sock = asked(lab, peer, link)
            end.send(Op.RESPONSE, credit=0)
            end.quiet()
        same("sending", -errno.EAGAIN, sock.send(b"x"))
        expect(not sock.poll(select.POLLOUT), "it can be written to")
        end.expect(Op.CREDIT_REQUEST)
        end.send(Op.CREDIT_UPDATE)
        expect(sock.poll(select.POLLOUT, 5), "it cannot be written to")
        works(end, sock)
        # What was given is taken back.
        end.send(Op.CREDIT_UPDATE, consumed=COST + 4, credit=0)
        end.expect(Op.CREDIT_REQUEST, consumed=COST + 5)
        same("sending", -errno.EAGAIN, sock.send(b"x"))
        # One that writes no more needs none.
        sock.shutdown(socket.SHUT_WR)
        end.expect(Op.SHUTDOWN, flags=NO_MORE, consumed=COST + 5)
        nothing_comes(peer, link, 2.2)
        drop(lab, end)


@test("stream rules: credit without a limit, and none, in turn")
def endless(lab):
    peer, link = meet(lab)
    for role in ROLES:
        end, sock = role(lab, peer, link, credit=MOST)
        works(end, sock)
        for credit in (0, MOST, 0, BUFFER):
            end.send(Op.CREDIT_UPDATE, consumed=COST + 4, credit=credit)
        end.quiet()
        works(end, sock, COST + 4, COST + 5)
        drop(lab, end)


@test("stream rules: credit once given is good, when the buffer shrinks")
def shrunk(lab):
    peer, link = meet(lab)
    for role in ROLES:
        end, sock = role(lab, peer, link)
        sock.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 10000)
        end.send(Op.CREDIT_REQUEST)
        end.expect(Op.CREDIT_UPDATE, credit=20000)
        data = bytes(BUFFER // 2 - COST)
        end.send(Op.RW, data)
        end.send(Op.RW, data)
        end.quiet()
        end.send(Op.RW, b"x")
        is_reset(end, sock, 2 * data)
        lab.end_streams()


@test("stream rules: a reader that has shut down takes the credit it gave")
def deaf_reader(lab):
    peer, link = meet(lab)
    for role in ROLES:
        end, sock = role(lab, peer, link)
        sock.shutdown(socket.SHUT_RD)
        end.quiet()
        data = bytes(BUFFER // 4 - COST)
        for _ in range(4):
            end.send(Op.RW, data)
        end.quiet()
        same("bytes sent", 1, sock.send(b"x"))
        end.expect(Op.RW, b"x")
        end.send(Op.RW, b"x", consumed=COST + 1)
        end.expect(Op.RST)
        lab.end_streams()


@test("stream rules: congestion maps do not concern frames")
def congested(lab):
    peer, link = meet(lab)
    for role in ROLES:
        end, sock = role(lab, peer, link)
        link.send(wire.cong_frame(PORT, THEIRS, end.kernel_port))
        end.quiet()
        works(end, sock)
        drop(lab, end)


# Frames that have more or less than they need

@test("stream rules: a payload that a frame has no use for is dropped")
def useless_payload(lab):
    peer, link = meet(lab)
    before = kernel.memory()
    data = bytes(200000)
    end = End(peer, link, next(identifiers))
    listener = listen(lab)
    end.send(Op.REQUEST, data)
    end.expect(Op.RESPONSE, credit=UNACCEPTED)
    sock = lab.keep(listener.accept())
    end.expect(Op.CREDIT_UPDATE)
    for _ in range(8):
        end.send(Op.CREDIT_UPDATE, data)
        end.send(Op.SHUTDOWN, data)
        end.send(Op.BUSY, data)
        end.send(Op.CREDIT_REQUEST, data)
        end.expect(Op.CREDIT_UPDATE)
    expect(sock.silent(), "there is something to read")
    grown = kernel.memory()[0] - before[0]
    expect(grown < 4096, f"slab has grown by {grown} kB")
    works(end, sock)
    end.send(Op.RST, data)
    same("receiving", errno.ECONNRESET, sock.recv())
    client, sock = asked(lab, peer, link)
    client.send(Op.RESPONSE, data)
    same("connecting", 0, sock.connected())
    expect(sock.silent(), "there is something to read")
    works(client, sock)


@test("stream rules: only a SHUTDOWN without NO_MORE: bytes may follow")
def reads_no_more(lab):
    peer, link = meet(lab)
    for role in ROLES:
        end, sock = role(lab, peer, link)
        end.send(Op.SHUTDOWN, flags=NO_READ)
        for _ in range(3):
            end.send(Op.RW, b"text")
            same("received", b"text", sock.recv())
        same("sending", -errno.EPIPE, sock.send(b"x"))
        # Nobody there reads what would be said.
        sock.close()
        nothing_comes(peer, link, 0.2)
        end.send(Op.RW, b"text")
        end.expect(Op.RST)
        all_end(lab)


# Silence

@test("stream rules: keepalive asks a silent peer, and ends the stream")
def keepalive(lab):
    peer, link = meet(lab)
    end, sock = serve(lab, peer, link)
    for option, value in ((socket.TCP_KEEPIDLE, 1), (socket.TCP_KEEPINTVL, 2),
                          (socket.TCP_KEEPCNT, 2)):
        sock.sock.setsockopt(socket.IPPROTO_TCP, option, value)
    sock.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # An answer restarts the count. An ack of TCP is none.
    end.expect(Op.CREDIT_REQUEST)
    end.send(Op.CREDIT_UPDATE)
    for _ in range(2):
        end.expect(Op.CREDIT_REQUEST)
        expect(sock.silent(), "the stream has ended")
    end.expect(Op.RST)
    same("receiving", errno.ETIMEDOUT, sock.recv())


@test("stream rules: a probe that crosses the end of a stream is no failure")
def probe_crosses_end(lab):
    for role in ROLES:
        peer, link = meet(lab)
        end, sock = role(lab, peer, link)
        sock.shutdown(socket.SHUT_WR)
        end.expect(Op.SHUTDOWN, flags=NO_MORE)
        end.quiet()
        link.drop_segments()
        number = kernel.next_number(peer.address)
        sock.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1)
        sock.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        within(5, "the kernel sends a probe",
               lambda: kernel.next_number(peer.address) > number)
        # The peer ends the stream, and forgets it, before the probe comes.
        end.send(Op.SHUTDOWN, flags=NO_MORE)
        end.send(Op.RST)
        expect(sock.poll(select.POLLHUP, 5), "the stream goes on")
        same("the end, which is no failure", b"", sock.recv())
        link.drop_no_segments()
        end.expect(Op.CREDIT_REQUEST)
        lab.end_streams()


@test("stream rules: close() resets, however many answers wait")
def reset_behind_answers(lab):
    peer, link = meet(lab, rcvbuf=4096)
    end, sock = serve(lab, peer, link)
    end.send(Op.RW, b"unread")
    link.write(b"".join(wire.Frame(
        1000 + number, PORT, seq=peer.next_seq(0),
        ext=wire.stream(Op.CREDIT_REQUEST, 0, number)).encode()
        for number in range(10000)))
    within(10, "all of it has arrived", link.is_acked)
    sock.close()
    frames = [wire.parse_stream(frame.ext)
              for frame in all_that_comes(peer, link)]
    same("what comes", {Op.RST}, {frame[0] for frame in frames})
    same("resets of the stream", 1,
         [frame[3] for frame in frames].count(end.ident))
    say(f"one of {len(frames)} frames")


@test("stream rules: a peer that forgets a stream before its end resets it")
def forgets_before_end(lab):
    for last in (b"", b"text"):
        peer, link = meet(lab)
        end, sock = serve(lab, peer, link)
        link.drop_segments()
        number = kernel.next_number(peer.address)
        if last:
            same("bytes sent", len(last), sock.send(last))
        sock.shutdown(socket.SHUT_WR)
        within(5, "the kernel sends it",
               lambda: kernel.next_number(peer.address) > number)
        end.send(Op.SHUTDOWN, flags=NO_MORE)
        end.send(Op.RST)
        expect(sock.poll(select.POLLHUP, 5), "the stream goes on")
        same("receiving", errno.ECONNRESET, sock.recv())
        lab.end_streams()


@test("stream rules: a closed stream that is not delivered says nothing else")
def closed_says_nothing(lab):
    peer, link = meet(lab)
    none_left()
    for role in ROLES:
        end, sock = role(lab, peer, link)
        link.drop_segments()
        same("bytes sent", 4, sock.send(b"text"))
        sock.close()
        time.sleep(0.2)
        for _ in range(3):
            end.send(Op.CREDIT_REQUEST)
            end.send(Op.RW, b"nobody reads this")
            if role is serve:
                end.send(Op.REQUEST)
            end.send(Op.SHUTDOWN, flags=0)
        time.sleep(0.1)
        link.drop_no_segments()
        end.expect(Op.RW, b"text", timeout=20)
        end.expect(Op.SHUTDOWN, flags=ENDS)
        end.quiet()
        all_end(lab)
        # The rules hold to the end.
        end, sock = role(lab, peer, link)
        link.drop_segments()
        same("bytes sent", 4, sock.send(b"text"))
        sock.close()
        time.sleep(0.2)
        end.send(Op.RW, b"")
        all_end(lab)
        link.drop_no_segments()
        end.expect(Op.RW, b"text", timeout=20)
        end.expect(Op.SHUTDOWN, flags=ENDS)
        end.expect(Op.RST)


def change_sysctls(**values):
    """Set sysctls of streams; return their former values."""
    return {name: kernel.sysctl(f"net/rds/stream/{name}", value)
            for name, value in values.items()}


def sip(link, seconds):
    """Take what there is, which is little, and then nothing for a while."""
    link.silent(0.01)
    time.sleep(seconds)


@test("stream rules: acks now and then do not keep a closed stream for ever")
def slow_acks(lab):
    peer, link = meet(lab, rcvbuf=4096)
    none_left()
    end, sock = ask(lab, peer, link)
    text = bytes(range(250)) * 4
    sent = 500
    for _ in range(sent):
        same("bytes sent", len(text), sock.send(text))
    before = kernel.counters()
    old = change_sysctls(close_stall_ms=1500, close_max_ms=4000)
    try:
        sock.close()
        start = time.monotonic()
        while kernel.streams() and time.monotonic() - start < 20:
            sip(link, 0.3)
        took = time.monotonic() - start
    finally:
        change_sysctls(**old)
    expect(3.9 < took < 7, f"gone after {took:.1f} s")
    now = kernel.counters()
    for name, grown in (("late", 1), ("stalled", 0), ("limited", 0)):
        name = "stream_closed_" + name
        same(name, grown, now[name] - before[name])
    # What had begun may come, and then the reset; never the SHUTDOWN.
    got = 0
    for frame in all_that_comes(peer, link, 5):
        op = wire.parse_stream(frame.ext)[0]
        if op == Op.RST:
            break
        same("a frame", (Op.RW, text), (op, frame.payload))
        got += 1
    expect(0 < got < sent, f"{got} of {sent} frames came")
    say(f"gone after {took:.1f} s; {got} of {sent} frames came")
    end.send(Op.RW, b"text")
    end.expect(Op.RST)
