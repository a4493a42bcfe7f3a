# SPDX-License-Identifier: GPL-2.0
"""The stream of frames: lengths, flags, fields that are ignored, and every way
to cut the stream into segments."""

import os

import kernel
import wire
from lab import LEGACY, OURS
from tap import expect, same, test, within
from test_handshake import need_ours

PORT = 5200


def arrives(peer, link, sock, payload=b"x", **fields):
    peer.data(link, 9, PORT, payload, **fields)
    same("a message", (payload, peer.address, 9), sock.recv())


@test("payloads of 0, 1, and up to 1 MiB")
def payloads(lab):
    peer = lab.lower()
    link = peer.dial()
    sock = lab.socket(PORT, rcvbuf=4 << 20)
    for size in (0, 1, 2, 47, 48, 49, 1447, 1448, 1449, 2047, 2048, 2049,
                 4095, 4096, 4097, 8192, 65535, 65536, 65537, 262144,
                 wire.MAX_MESSAGE - 1, wire.MAX_MESSAGE, 0):
        arrives(peer, link, sock, os.urandom(size))
    peer.ping(link)


@test("a length beyond 1 MiB ends the connection, and allocates no memory")
def too_long(lab):
    need_ours("believe any length")
    sock = lab.socket(PORT)
    for length in (wire.MAX_MESSAGE + 1, 1 << 24, 1 << 31, (1 << 32) - 1):
        for fields in ({}, {"flags": wire.FLAG_CONG_BITMAP},
                       {"flags": wire.FLAG_RETRANSMITTED}):
            peer = lab.lower()
            link = peer.dial()
            arrives(peer, link, sock)
            before = kernel.memory()[1]
            peer.data(link, 9, PORT, b"beyond", length=length, **fields)
            expect(link.ended(5), f"length {length} does not end it")
            expect(before - kernel.memory()[1] < 16 << 10,
                   "memory was allocated")
            expect(sock.silent(), "something was delivered")
            link = peer.dial()
            arrives(peer, link, sock)


@test("no connection is made if the length in the first header is too large")
def too_long_pending(lab):
    need_ours("believe any length")
    peer = lab.lower()
    link = peer.connect()
    link.send(wire.Frame(9, PORT, length=wire.MAX_MESSAGE + 1))
    expect(link.ended(5), "the kernel does not end the connection")
    expect(peer.address not in kernel.connections(),
           "an RDS connection was made")


@test("unknown flags are ignored")
def flags(lab):
    peer = lab.lower()
    link = peer.dial()
    sock = lab.socket(PORT)
    for bits in range(2, 256) if lab.full else (
            2, 4, 6, 8, 0x10, 0x20, 0x40, 0x80, 0xfe, 0xff, 3, 5, 0x81):
        arrives(peer, link, sock, b"flags", flags=bits)


@test("checksum, ack, credit and padding are ignored")
def junk_fields(lab):
    peer = lab.lower()
    link = peer.dial()
    sock = lab.socket(PORT)
    for fields in ({"csum": 0x1234}, {"csum": 0xffff}, {"ack": 1 << 63},
                   {"ack": 1}, {"credit": 255}, {"padding": b"\xff" * 4},
                   {"csum": 1, "ack": 2, "credit": 3, "padding": b"junk"}):
        arrives(peer, link, sock, b"junk", **fields)
        peer.ping(link, **fields)


@test("cut at every byte: a header alone")
def cut_header(lab):
    peer = lab.lower()
    link = peer.dial()
    for at in range(1, wire.HEADER_BYTES):
        frame = wire.Frame(9, 0, seq=peer.next_seq(0)).encode()
        link.write_pieces((frame[:at], frame[at:]))
        peer.pong(link, 9)


@test("cut at every byte: two messages and what is around them")
def cut_messages(lab):
    for exts in (LEGACY, OURS):
        peer = lab.lower(exts)
        link = peer.dial()
        sock = lab.socket(PORT)
        total = 2 * (wire.HEADER_BYTES + 5)
        for at in range(1, total):
            texts = b"a%4d" % at, b"b%4d" % at
            data = b"".join(wire.Frame(9, PORT, text, peer.next_seq(0)
                                       ).encode() for text in texts)
            link.write_pieces((data[:at], data[at:]))
            for text in texts:
                same("a message", text, sock.recv()[0])
        sock.close()
        peer.ping(link)


@test("cut at every byte: the first header of a connection")
def cut_first(lab):
    frame = wire.Frame(9, 0, seq=1).encode()
    for at in range(1, wire.HEADER_BYTES, 1 if lab.full else 5):
        peer = lab.lower()
        link = peer.connect()
        link.write_pieces((frame[:at], frame[at:]))
        peer.pong(link, 9)


@test("in pieces of 1, 2, 3, 7, 47, 49 bytes: handshake, pings, messages, map")
def pieces(lab):
    for size in (1, 2, 3, 7, 47, 49):
        peer = lab.lower()
        link = peer.connect()
        sock = lab.socket(PORT)
        frames = [wire.Frame(1, 0, seq=1, ext=LEGACY),
                  wire.Frame(8, 0, seq=2),
                  wire.Frame(9, PORT, b"in pieces", 3),
                  wire.Frame(9, PORT, b"", 4),
                  wire.Frame(9, PORT, b"more", 5)]
        if size > 3 or lab.full:
            frames.append(wire.cong_frame(78))
        data = b"".join(frame.encode() for frame in frames)
        link.write_pieces(data[at:at + size]
                          for at in range(0, len(data), size))
        peer.tx_seq[0] = 6
        for text in (b"in pieces", b"", b"more"):
            same("a message", text, sock.recv()[0])
        peer.pong(link, 8)
        peer.ping(link)
        sock.close()


@test("many frames in one segment, and one frame in many")
def many(lab):
    peer = lab.lower()
    link = peer.dial()
    sock = lab.socket(PORT, rcvbuf=4 << 20)
    texts = [b"%d" % count for count in range(1000)]
    link.send(*(wire.Frame(9, PORT, text, peer.next_seq(0))
                for text in texts))
    for text in texts:
        same("a message", text, sock.recv()[0])
    text = os.urandom(200000)
    frame = wire.Frame(9, PORT, text, peer.next_seq(0)).encode()
    link.write_pieces(frame[at:at + 999] for at in range(0, len(frame), 999))
    same("a message", text, sock.recv()[0])
    peer.ping(link)


@test("every byte value is delivered as it was sent, cut anywhere")
def bytes_as_sent(lab):
    peer = lab.lower()
    link = peer.dial()
    sock = lab.socket(PORT, rcvbuf=4 << 20)
    for _ in range(200 if lab.full else 20):
        texts = [os.urandom(int.from_bytes(os.urandom(2), "big"))
                 for _ in range(4)]
        data = b"".join(wire.Frame(9, PORT, text, peer.next_seq(0)).encode()
                        for text in texts)
        step = 1 + int.from_bytes(os.urandom(2), "big")
        link.write_pieces(data[at:at + step]
                          for at in range(0, len(data), step))
        for text in texts:
            same("a message", text, sock.recv()[0])


@test("cve_2026_52943: a peer that sends by MSG_ZEROCOPY; nothing is lost")
def zerocopy(lab):
    peer = lab.lower()
    link = peer.dial()
    sock = lab.socket(PORT, rcvbuf=8 << 20)
    payloads = [os.urandom(size) for size in
                (1, 48, 1448, 4096, 5000, 65536, 100001, 262144, 1 << 20)]
    link.write = link.write_zerocopy
    for payload in payloads:
        peer.data(link, 9, PORT, payload)
    # All buffers have been overwritten by now, and no message has been read.
    for payload in payloads:
        same("a message", (payload, peer.address, 9), sock.recv())
    del link.write
    peer.ping(link)


@test("RDS_INFO_TCP_SOCKETS shows how much of a frame has arrived")
def how_far(lab):
    peer = lab.lower()
    link = peer.dial()
    sock = lab.socket(PORT)
    frame = wire.Frame(9, PORT, bytes(1000), peer.next_seq(0)).encode()
    at = 0
    for end, header, payload in ((0, 48, 0), (1, 47, 0), (20, 28, 0),
                                 (47, 1, 0), (49, 0, 999), (548, 0, 500),
                                 (1047, 0, 1), (1048, 48, 0)):
        link.write(frame[at:end])
        at = end
        within(5, f"{end} bytes are {header} and {payload} to go",
               lambda: kernel.tcp_sockets(peer.address) == [
                   (link.port, wire.TCP_PORT, header, payload)])
    same("a message", bytes(1000), sock.recv()[0])
    peer.ping(link)
