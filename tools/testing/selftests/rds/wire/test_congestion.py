# SPDX-License-Identifier: GPL-2.0
"""Congestion maps, in both directions."""

import errno
import threading

import kernel
import wire
from lab import KERNEL, LEGACY, OURS
from tap import expect, same, test, within

PORT = 5300


def send_map(peer, link, *ports):
    """Send a map, and wait until the kernel has processed it."""
    link.send(wire.cong_frame(*ports))
    peer.ping(link, 60001)


@test("a congested port is refused, and only that one")
def refused(lab):
    peer = lab.lower()
    link = peer.dial()
    sock = lab.socket(PORT)
    for port in (2, 7, 8, 63, 64, 700, 4095, 32768, 65535):
        send_map(peer, link, port)
        same(f"sending to port {port}", errno.ENOBUFS,
             sock.send(peer.address, port, b"no"))
        for other in {port - 1, port + 1, port ^ 8} - {1, 65536}:
            same(f"sending to port {other} beside {port}", 0,
                 sock.send(peer.address, other, b"yes"))
            peer.message(link, PORT, other, b"yes")
    send_map(peer, link)
    same("sending to all clear", 0,
         sock.send(peer.address, 65535, b"yes"))
    peer.message(link, PORT, 65535, b"yes")


@test("a sender waits until the bit clears, and then sends")
def waits(lab):
    for exts in (LEGACY, OURS):
        peer = lab.lower(exts)
        link = peer.dial()
        sock = lab.socket(PORT)
        send_map(peer, link, 700, 701)
        result = []
        thread = threading.Thread(target=lambda: result.append(
            sock.send(peer.address, 700, b"waited", wait=True)), daemon=True)
        thread.start()
        thread.join(0.3)
        expect(thread.is_alive(), "the sender does not wait")
        send_map(peer, link, 700)
        thread.join(0.2)
        expect(thread.is_alive(), "the sender does not wait for its own bit")
        send_clear_map(peer, link)
        thread.join(5)
        expect(not thread.is_alive(), "the sender waits for ever")
        same("sending", [0], result)
        sock.close()


def send_clear_map(peer, link):
    """Clear the map. Send no ping: the message that waited has to come
    first."""
    link.send(wire.cong_frame())
    peer.message(link, PORT, 700, b"waited")


@test("a map of the wrong length changes nothing, and is skipped")
def wrong_length(lab):
    peer = lab.lower()
    link = peer.dial()
    sock = lab.socket(PORT)
    for size in (0, 1, 8, 8191, 8193, 4096, 16384, 65536):
        link.send(wire.Frame(flags=wire.FLAG_CONG_BITMAP,
                             payload=b"\xff" * size))
        peer.ping(link)
        same(f"sending after a map of {size} bytes", 0,
             sock.send(peer.address, 700, b"yes"))
        peer.message(link, PORT, 700, b"yes")
    send_map(peer, link, 700)
    same("sending after a map", errno.ENOBUFS,
         sock.send(peer.address, 700, b"no"))


@test("a map has only its flag; its ports and sequence number are ignored")
def flags(lab):
    peer = lab.lower()
    link = peer.dial()
    sock = lab.socket(PORT, rcvbuf=1 << 20)
    bits = wire.cong_map(700)
    for other in (0x03, 0x05, 0x09, 0x81, 0x02):
        peer.data(link, 9, PORT, bits, flags=other)
        same("a message that is no map", bits, sock.recv()[0])
        same(f"sending after flags {other:#x}", 0,
             sock.send(peer.address, 700, b"yes"))
        peer.message(link, PORT, 700, b"yes")
    link.send(wire.Frame(9, PORT, bits, 1 << 50, wire.FLAG_CONG_BITMAP))
    peer.ping(link)
    expect(sock.silent(), "a map was delivered")
    same("sending after a map with ports and a number", errno.ENOBUFS,
         sock.send(peer.address, 700, b"no"))
    peer.data(link, 9, PORT, b"in sequence", flags=wire.FLAG_RETRANSMITTED)
    same("the sequence number of a map does not count", b"in sequence",
         sock.recv()[0])


@test("a flood of maps: the last one counts")
def flood(lab):
    peer = lab.lower()
    link = peer.dial()
    sock = lab.socket(PORT)
    link.send(*(wire.cong_frame(700) if count % 2 else wire.cong_frame()
                for count in range(100)))
    peer.ping(link)
    same("sending", errno.ENOBUFS,
         sock.send(peer.address, 700, b"no"))
    send_map(peer, link)
    same("sending", 0, sock.send(peer.address, 700, b"yes"))
    peer.message(link, PORT, 700, b"yes")


@test("a map is the peer's own: another address is not congested by it")
def own_address(lab):
    one, other = lab.lower(), lab.lower()
    one_link, other_link = one.dial(), other.dial()
    sock = lab.socket(PORT)
    # Not all ports: a pong has to get through.
    one_link.send(wire.cong_frame(*range(2, 60000)))
    one.ping(one_link, 60001)
    same("sending to the other", 0,
         sock.send(other.address, 700, b"yes"))
    other.message(other_link, PORT, 700, b"yes")
    same("sending to the one", errno.ENOBUFS,
         sock.send(one.address, 700, b"no"))


@test("peers are notified when a socket is full, and when it is no longer")
def full(lab):
    one, other = lab.lower(), lab.lower(OURS)
    links = one.dial(), other.dial()
    sock = lab.socket(PORT, rcvbuf=2048)
    count = 0
    while not any(PORT in bits for bits in one.maps):
        one.data(links[0], 9, PORT, bytes(1000))
        one.ping(links[0])
        count += 1
        expect(count < 20, "20,000 bytes do not congest a port")
    same("ports congested", {PORT}, one.maps[-1])
    other.ping(links[1])
    within(5, "the other peer is notified",
           lambda: other.ping(links[1]) or other.maps[-1] == {PORT})
    one.data(links[0], 9, PORT, b"a socket never refuses data")
    for _ in range(count):
        same("a message", 1000, len(sock.recv()[0]))
    same("a message", b"a socket never refuses data", sock.recv()[0])
    for peer, link in zip((one, other), links):
        within(5, "all are notified that it is free",
               lambda: peer.ping(link) or not peer.maps[-1])


@test("a connection begins with the map as it is")
def map_first(lab):
    sock = lab.socket(PORT, rcvbuf=2048)
    first = lab.lower()
    link = first.dial()
    same("the first map", set(), first.maps[0])
    for _ in range(10):
        first.data(link, 9, PORT, bytes(1000))
    first.ping(link)
    second = lab.lower()
    second.dial()
    same("the first map of the next", {PORT}, second.maps[0])
    link.reset()
    first.maps.clear()
    first.dial()
    same("the first map of a new connection", {PORT}, first.maps[0])
    same("the address", KERNEL, sock.address)
    expect(kernel.counters()["cong_update_received"], "maps are counted")


@test("messages for a congested port wait; messages for others do not")
def parked(lab):
    for exts, kept in ((OURS, True), (LEGACY, False)):
        peer = lab.lower(exts)
        link = peer.dial(rcvbuf=4096)
        sock = lab.socket(PORT, sndbuf=1 << 24)
        # More than TCP takes from the kernel while the peer does not read
        large = bytes(1 << 20)
        for _ in range(10):
            same("sending", 0, sock.send(peer.address, 700, large))
        maps = kernel.counters()["cong_update_received"]
        link.send(wire.cong_frame(700))
        within(5, "the map is read",
               lambda: kernel.counters()["cong_update_received"] > maps)
        same("sending to another port", 0,
             sock.send(peer.address, 701, b"other"))
        came = 0
        while True:
            frame = peer.next_frame(link, timeout=30)
            if frame.dport == 701:
                break
            same("a message sent before", (700, len(large)),
                 (frame.dport, len(frame.payload)))
            came += 1
        expect(came < 10 if kept else came == 10,
               f"{came} of 10 came before the other")
        link.send(wire.cong_frame())
        for _ in range(10 - came):
            peer.message(link, PORT, 700, large)
        sock.close()
