# SPDX-License-Identifier: GPL-2.0
"""Paths: connections of one peer beside each other, each with sequence numbers
of its own, told apart by source port."""

import select

import kernel
import wire
from lab import LEGACY, OURS
from peer import GENERATION
from tap import expect, same, say, test, within
from test_handshake import paths_for_others, need_ours

PORT = 5400
AGAIN = wire.FLAG_RETRANSMITTED
EIGHT = wire.npaths(8) + wire.gen_num(GENERATION) + wire.sport_idx()
EIGHT_OURS = EIGHT + wire.features()


def dial_all(lab, exts):
    peer = lab.lower(exts, paths=8)
    links = [peer.dial(0)]
    for _ in range(3):
        peer.ping(links[0])
    links += [peer.dial(path) for path in range(1, 8)]
    return peer, links


def arrives(peer, link, sock, text, **fields):
    peer.data(link, 9, PORT, text, **fields)
    same(f"a message on path {link.path}", text, sock.recv()[0])


@test("eight paths are accepted, and each is received from")
@paths_for_others()
def all_paths(lab):
    need_ours("have no paths a peer could name")
    for exts in (EIGHT, EIGHT_OURS):
        peer, links = dial_all(lab, exts)
        sock = lab.socket(PORT)
        for link in links + links[::-1]:
            arrives(peer, link, sock, b"path %d" % link.path)
        same("connections", 1, kernel.connections().count(peer.address))
        sock.close()


@test("each path has a sequence of its own, and keeps it when it is lost")
@paths_for_others()
def own_sequences(lab):
    need_ours("have no paths a peer could name")
    for exts in (EIGHT, EIGHT_OURS):
        peer, links = dial_all(lab, exts)
        sock = lab.socket(PORT)
        for link in links:
            arrives(peer, link, sock, b"first", seq=100 + 10 * link.path)
            peer.tx_seq[link.path] = 101 + 10 * link.path
        for path in (5, 2, 7, 0):
            links[path].reset()
            links[path] = peer.dial(path)
        for link in links:
            seq = 100 + 10 * link.path
            peer.data(link, 9, PORT, b"again", seq=seq, flags=AGAIN)
            arrives(peer, link, sock, b"%d" % link.path)
        expect(sock.silent(), "a duplicate was delivered")
        sock.close()


@test("all paths lost at once and dialed in another order keep their numbers")
def other_order(lab):
    need_ours("have no paths a peer could name")
    peer, links = dial_all(lab, EIGHT_OURS)
    sock = lab.socket(PORT)
    for link in links:
        arrives(peer, link, sock, b"first", seq=100 * (1 + link.path))
        peer.tx_seq[link.path] = 100 * (1 + link.path) + 1
    for link in links:
        link.reset()
    for path in (3, 7, 1, 6, 0, 5, 4, 2):
        link = peer.dial(path)
        peer.data(link, 9, PORT, b"again", flags=AGAIN,
                  seq=100 * (1 + path))
        arrives(peer, link, sock, b"%d" % path)
    expect(sock.silent(), "a duplicate was delivered")


@test("a second connection on a path: its messages are not lost")
@paths_for_others()
def second_on_path(lab):
    need_ours("reset it")
    for exts in (EIGHT, EIGHT_OURS):
        peer, links = dial_all(lab, exts)
        sock = lab.socket(PORT)
        arrives(peer, links[3], sock, b"on the first")
        again = peer.connect(3)
        again.send(wire.cong_frame())
        if peer.ours():
            peer.probe(again)
        peer.data(again, 9, PORT, b"on the second")
        links[3].fin()
        same("a message", b"on the second", sock.recv()[0])
        expect(sock.silent(), "something was doubled")
        sock.close()


@test("more connections than paths from a stock peer: nothing is lost")
def legacy_many(lab):
    need_ours("reset those that are too many")
    peer = lab.lower(LEGACY)
    links = [peer.dial()]
    sock = lab.socket(PORT)
    for count in range(1, 4):
        link = peer.connect()
        link.path = count
        link.send(wire.cong_frame())
        peer.data(link, 9, PORT, b"%d" % count)
        links.append(link)
    got = set()
    for link in links:
        while not sock.silent():
            got.add(sock.recv()[0])
        if len(got) < 3:
            link.fin()
            within(5, "the kernel closes after a FIN", link.ended)
    while len(got) < 3:
        got.add(sock.recv()[0])
    same("messages", {b"1", b"2", b"3"}, got)


@test("idle paths do no harm; the others are served")
def idle_paths(lab):
    need_ours("have no paths a peer could name")
    peer, links = dial_all(lab, OURS.replace(wire.npaths(1), wire.npaths(8)))
    for _ in range(20):
        peer.connect(4)
    sock = lab.socket(PORT)
    for link in links[:4] + links[5:]:
        arrives(peer, link, sock, b"path %d" % link.path)
    same("connections", 1, kernel.connections().count(peer.address))


def readable(links):
    """Return those of LINKS that have something to read."""
    early = [link for link in links if link.rest]
    return early or select.select(links, [], [], 10)[0]


@test("what the kernel sends to one of many paths comes in order")
def sends_in_order(lab):
    need_ours("send on paths that are not there")
    peer, links = dial_all(lab, EIGHT_OURS)
    for link in links:
        peer.probe(link)
    socks = [lab.socket(PORT + count) for count in range(8)]
    for count in range(20):
        for sock in socks:
            same("sending", 0,
                 sock.send(peer.address, 78, b"%d" % count))
    wanted = {sock.port: 0 for sock in socks}
    used = set()
    while min(wanted.values()) < 20:
        for link in readable(links):
            frame = link.read_frame()
            if peer.handle(link, frame):
                continue
            used.add(link.path)
            same(f"next from port {frame.sport}",
                 b"%d" % wanted[frame.sport], frame.payload)
            wanted[frame.sport] += 1
    expect(len(used) > 1, f"paths used: {used}")
    say(f"paths used: {sorted(used)}")
