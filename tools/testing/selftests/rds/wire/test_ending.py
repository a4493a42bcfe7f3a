# SPDX-License-Identifier: GPL-2.0
"""Connections that end: at every phase, by FIN and by RST, before they have
begun, and again and again."""

import socket
import time

import kernel
import wire
from lab import KERNEL, LEGACY, MODERN, OURS
from peer import GENERATION, Closed
from tap import expect, same, say, test, within
from test_handshake import need_ours

PORT = 5500
AGAIN = wire.FLAG_RETRANSMITTED
PAYLOAD = bytes(range(250)) * 4
WHOLE = wire.HEADER_BYTES + len(PAYLOAD)
CUTS = (0, 1, 24, 47, 48, 49, 500, WHOLE - 1, WHOLE)


def end(link, how):
    """End the connection, and check that the kernel ends it, too."""
    if how == "reset":
        link.reset()
        return
    if how == "fin":
        link.fin()
        expect(link.ended(5), "the kernel does not close after a FIN")
    link.close()


@test("RST and FIN at every phase: what was sent is delivered once")
def phases(lab):
    need_ours("lose some of it, and double some")
    for exts in (LEGACY, OURS):
        peer = lab.lower(exts)
        be_known(lab, peer)
        for how in ("reset", "fin", "close"):
            for cut in CUTS:
                one_phase(lab, peer, how, cut)


def be_known(lab, peer):
    """Deliver a message to a socket. Otherwise the kernel would forget the
    peer and its sequence numbers when the connection ends."""
    sock = lab.socket(PORT)
    try:
        link = peer.dial()
        peer.data(link, 9, PORT, b"known")
        same("a message", b"known", sock.recv()[0])
        link.reset()
    finally:
        sock.close()


def one_phase(lab, peer, how, cut):
    sock = lab.socket(PORT)
    try:
        link = peer.dial()
        seq = peer.next_seq(0)
        frame = wire.Frame(9, PORT, PAYLOAD, seq).encode()
        link.write(frame[:cut])
        end(link, how)
        if how == "fin" and cut == WHOLE:
            same("a message before a FIN", PAYLOAD, sock.recv()[0])
        link = peer.connect()
        link.send(wire.cong_frame())
        peer.tx_seq[0] = seq + 1
        if peer.ours():
            peer.probe(link)
        peer.data(link, 9, PORT, PAYLOAD[::-1], seq=seq, flags=AGAIN)
        peer.data(link, 9, PORT, b"after")
        got = [sock.recv()[0]]
        while got[-1] != b"after":
            got.append(sock.recv()[0])
        names = [{PAYLOAD: "first", PAYLOAD[::-1]: "second"}.get(text, "?")
                 for text in got[:-1]]
        if cut < WHOLE:
            wanted = [["second"]]
        elif how == "fin":
            wanted = [[]]		# the first one has been received before
        else:
            wanted = [["first"], ["second"]]
        expect(names in wanted, f"after {how} at {cut}: delivered {names}")
        expect(sock.silent(), f"after {how} at {cut}: more is delivered")
        end(link, "reset")
    finally:
        sock.close()


@test("RST and FIN in the middle of 1 MiB")
def phases_big(lab):
    peer = lab.lower()
    sock = lab.socket(PORT, rcvbuf=4 << 20)
    for how in ("reset", "fin", "close"):
        for cut in (5000, 100000, wire.MAX_MESSAGE - 1):
            link = peer.dial()
            seq = peer.next_seq(0)
            frame = wire.Frame(9, PORT, bytes(wire.MAX_MESSAGE), seq).encode()
            link.write(frame[:cut])
            end(link, how)
            link = peer.dial()
            expect(sock.silent(), "an unfinished message was delivered")
            peer.data(link, 9, PORT, b"after")
            same("a message", b"after", sock.recv()[0])
            end(link, "reset")


@test("a path that has stopped reading ends: acknowledged data is delivered")
def ends_stopped(lab):
    need_ours("keep whatever comes")
    held = kernel.sysctl("net/rds/rx_held_max", 65536)
    try:
        for how in ("fin", "close", "reset"):
            one_stopped(lab, how)
    finally:
        kernel.sysctl("net/rds/rx_held_max", held)


def one_stopped(lab, how):
    sock = lab.socket(PORT, rcvbuf=4096)
    peer = lab.lower(OURS)
    link = peer.dial()
    stopped = kernel.counters()["recv_path_stopped"]
    sent = 0
    while kernel.counters()["recv_path_stopped"] == stopped:
        peer.data(link, 9, PORT, b"%4d" % sent + bytes(4000))
        sent += 1
        expect(sent < 1000, "all is taken")
    for _ in range(5):
        peer.data(link, 9, PORT, b"%4d" % sent + bytes(4000))
        sent += 1
    within(5, "TCP acknowledges what is not read", link.is_acked)
    end(link, how)
    for number in range(sent):
        same(f"message {number} of {sent} after {how}", b"%4d" % number,
             sock.recv()[0][:4])
    peer.ping(peer.dial())
    expect(sock.silent(), "more is delivered")
    sock.close()


@test("a connection that ends in its first header leaves nothing behind")
def ends_in_header(lab):
    need_ours("make an RDS connection for each TCP connection")
    frame = wire.Frame(9, 0, seq=1).encode()
    seen = []
    for how in ("reset", "fin", "close"):
        for cut in (0, 1, 24, 47):
            peer = lab.lower()
            link = peer.connect()
            link.write(frame[:cut])
            end(link, how)
            seen.append(peer.address)
    within(5, "all are forgotten",
           lambda: not set(seen) & set(kernel.connections()))


@test("an unused connection is forgotten when it ends")
def forgotten(lab):
    need_ours("remember it for ever")
    peers = [lab.lower(exts) for exts in (b"", LEGACY, MODERN, OURS) * 5]
    for peer in peers:
        link = peer.dial()
        peer.ping(link)
        peer.data(link, 9, PORT + 1, b"no socket")
    listed = kernel.connections()
    same("peers listed while connected", [], [
        peer.address for peer in peers if peer.address not in listed])
    for count, peer in enumerate(peers):
        end(peer.links[0], ("reset", "fin", "close")[count % 3])
    within(10, "all are forgotten", lambda: not
           {peer.address for peer in peers} & set(kernel.connections()))


GARBAGE = {
    "nothing": b"",
    "a line": b"\r\n",
    "HTTP": b"GET / HTTP/1.1\r\nHost: example.com\r\nUser-Agent: scan\r\n\r\n",
    "TLS": bytes.fromhex("1603010200010001fc0303") + bytes(range(200)),
    "SSH": b"SSH-2.0-scanner_1.0\r\n",
    "47 zero bytes": bytes(47),
    "all ones": b"\xff" * 300,
    "a letter": b"A" * 10000,
}


@test("a port scanner leaves nothing behind")
def scanner(lab):
    before = kernel.connections()
    peers = []
    for text in GARBAGE.values():
        for how in ("reset", "close", "stays"):
            peer = lab.lower()
            peers.append(peer)
            link = peer.connect()
            try:
                link.write(text)
                if how != "stays":
                    end(link, how)
            except Closed:
                pass
    lab.honest.check()
    need_ours("make an RDS connection for each TCP connection")
    within(20, "the kernel ends connections with invalid data", lambda: all(
        link.sock.fileno() < 0 or link.ended(0.1)
        for peer in peers for link in peer.links))
    same("connections made", set(), set(kernel.connections()) - set(before))


def served_again(peer):
    """Expect the next connection to be kept; it may still be one that drops
    data."""
    peer.take_no_data(False)
    link = peer.accept()
    link.drop_no_segments()
    return peer.handshake(link)


@test("a higher peer that resets each connection is dialed with back-off")
def resets_each(lab):
    sock = lab.socket(PORT)
    for after in (0, 0.05):
        peer = lab.higher()
        peer.listen()
        peer.take_no_data()
        same("sending", 0, sock.send(peer.address, 78, b"waits"))
        stop = time.monotonic() + 3
        count = 0
        while time.monotonic() < stop:
            link = peer.accept(5)
            time.sleep(after)
            link.reset()
            count += 1
        say(f"{count} connections in 3 s, each reset after {after} s")
        expect(count < 100 or not kernel.is_ours(),
               f"{count} connections in 3 s")
        link = served_again(peer)
        peer.message(link, PORT, 78, b"waits")


@test("a higher peer that closes each connection is served in the end")
def closes_each(lab):
    sock = lab.socket(PORT)
    peer = lab.higher()
    peer.listen()
    peer.take_no_data()
    same("sending", 0, sock.send(peer.address, 78, b"waits"))
    for how in ("fin", "close", "fin", "close", "reset"):
        end(peer.accept(), how)
    link = served_again(peer)
    peer.message(link, PORT, 78, b"waits")
    peer.ping(link)


@test("a higher peer that does not listen is dialed until it does")
def not_listening(lab):
    sock = lab.socket(PORT)
    peer = lab.higher()
    same("sending", 0, sock.send(peer.address, 78, b"waits"))
    time.sleep(1.5)
    peer.listen()
    link = peer.be_dialed(4)
    peer.message(link, PORT, 78, b"waits")


@test("a higher peer whose every reply is garbage does no harm")
def replies_garbage(lab):
    sock = lab.socket(PORT)
    peer = lab.higher()
    peer.listen()
    same("sending", 0, sock.send(peer.address, 78, b"may be lost"))
    for text in GARBAGE.values():
        link = peer.accept()
        link.write(text)
        end(link, "reset")
    link = peer.be_dialed()
    same("sending", 0, sock.send(peer.address, 79, b"waits"))
    while peer.next_frame(link).dport != 79:
        pass


def vanish_and_return(peer, number, sock, connect, pause=0):
    """Let the peer's host crash, and return with a new generation number."""
    served(peer, connect(), sock, b"before")
    peer.links[-1].vanish()
    time.sleep(pause)
    peer.exts = peer.exts.replace(wire.gen_num(GENERATION),
                                  wire.gen_num(2 + number))
    peer.tx_seq.clear()
    start = time.monotonic()
    served(peer, connect(), sock, b"after")
    took = time.monotonic() - start
    expect(took < 3, f"peer {number} was served after {took:.1f} s")


@test("a lower peer that vanished and dials again is served at once")
def vanished_lower(lab):
    need_ours("reset it until they notice the loss")
    sock = lab.socket(PORT)
    for number, exts in enumerate((LEGACY, MODERN, OURS)):
        peer = lab.lower(exts)
        vanish_and_return(peer, number, sock, peer.dial, 1.5)


@test("a connection is lost without a segment, and dialed again at once")
def vanished_just_now(lab):
    need_ours("reset it until they notice the loss")
    sock = lab.socket(PORT)
    for number, exts in enumerate((OURS, MODERN, LEGACY)):
        peer = lab.lower(exts)
        vanish_and_return(peer, number, sock, peer.dial)


def knock_and_accept(peer):
    """Knock, and return the connection that the kernel makes in return."""
    peer.knock()
    return peer.be_dialed()


@test("a higher peer that vanished and knocks is dialed at once")
def vanished_higher(lab):
    need_ours("do so when they notice the loss")
    sock = lab.socket(PORT)
    for number, exts in enumerate((LEGACY, MODERN, OURS)):
        peer = lab.higher(exts)
        peer.listen()
        vanish_and_return(peer, number, sock, lambda: knock_and_accept(peer))


def served(peer, link, sock, text):
    peer.data(link, 9, PORT, text)
    same("a message", (text, peer.address, 9), sock.recv())
    same("sending", 0, sock.send(peer.address, 78, text))
    peer.message(link, PORT, 78, text)
    peer.ping(link)


@test("this host is no peer of its own: TCP is reset, loopback is used")
def own_host(lab):
    listed = kernel.connections()
    for text in (b"", wire.Frame(9, PORT, b"text", 1).encode()):
        with socket.socket() as sock:
            sock.bind((KERNEL, 0))
            sock.settimeout(5)
            # The reset may arrive before connect() has returned.
            try:
                sock.connect((KERNEL, wire.TCP_PORT))
                sock.sendall(text)
                got = sock.recv(1)
            except OSError:
                got = b""
            same("what is received", b"", got)
    same("connections", listed, kernel.connections())
    one, other = lab.socket(PORT), lab.socket(PORT + 1)
    same("sending to oneself", 0, one.send(KERNEL, PORT + 1, b"text"))
    same("a message", (b"text", KERNEL, PORT), other.recv())


@test("urgent data harms its own connection at most")
def urgent(lab):
    peer = lab.lower()
    link = peer.dial()
    link.sock.settimeout(5)
    link.sock.send(b"!", socket.MSG_OOB)
    # The kernel may reply and may end the connection; no other connection may
    # suffer.
    try:
        peer.data(link, 9, wire.PORT_PING)
        link.ended(0.5)
    except Closed:
        pass
    link.reset()
    link = peer.dial()
    peer.ping(link)
