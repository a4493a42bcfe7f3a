# SPDX-License-Identifier: GPL-2.0
"""Detection of duplicates. From a peer that runs another implementation, a
message is a duplicate if its number is below the next one and its header has
the retransmit flag. From a peer that runs ours, it is one if its number is
below the next one. A new generation of the peer starts with new numbers."""

import random

import kernel
import wire
from lab import LEGACY, MODERN, OURS
from tap import expect, same, say, test
from test_handshake import need_ours

PORT = 5100
AGAIN = wire.FLAG_RETRANSMITTED
BIG = (1 << 64) - 1


def play(lab, peer, script, link=None):
    """Send the messages of SCRIPT, (sequence number, flags, is it delivered),
    and check that those that must be delivered are, in this order, and no
    others."""
    link = link or peer.dial()
    sock = lab.socket(PORT)
    try:
        before = kernel.counters()["recv_drop_old_seq"]
        for number, (seq, flags, _) in enumerate(script):
            peer.data(link, 9, PORT, b"%d" % number, seq=seq, flags=flags)
        # From here on, use numbers that any rule accepts.
        peer.tx_seq[0] = max(peer.tx_seq.get(0, 0), 1 << 40)
        synchronize(peer, link)
        wanted = [b"%d" % number for number, (_, _, taken)
                  in enumerate(script) if taken]
        got = [sock.recv()[0] for _ in wanted if not sock.silent()]
        same("messages delivered", wanted, got)
        expect(sock.silent(), "more was delivered")
        same("recv_drop_old_seq", before + len(script) - len(wanted),
             kernel.counters()["recv_drop_old_seq"])
    finally:
        sock.close()
    return link


def synchronize(peer, link):
    """Wait until all that was sent has been processed: the kernel replies to a
    probe whatever its sequence number."""
    if not peer.ours():
        peer.ping(link)
        return
    replies = len(peer.replies)
    peer.probe(link)
    while len(peer.replies) == replies:
        expect(peer.handle(link, link.read_frame()), "something else came")


STOCK_RULE = {
    "in order": [(11, 0, 1), (12, 0, 1), (13, 0, 1)],
    "old, flagged": [(11, 0, 1), (12, 0, 1), (11, AGAIN, 0), (12, AGAIN, 0),
                     (13, AGAIN, 1), (13, AGAIN, 0)],
    "old, not flagged": [(11, 0, 1), (12, 0, 1), (12, 0, 1), (11, 0, 1),
                         (12, AGAIN, 1), (12, AGAIN, 0)],
    "ahead": [(11, 0, 1), (100, 0, 1), (50, AGAIN, 0), (100, AGAIN, 0),
              (101, AGAIN, 1), (5000, AGAIN, 1), (4999, AGAIN, 0)],
    "back": [(5000, 0, 1), (20, 0, 1), (20, AGAIN, 0), (21, AGAIN, 1),
             (4000, AGAIN, 1)],
    "from 0": [(0, 0, 1), (0, AGAIN, 0), (1, AGAIN, 1), (0, 0, 1),
               (1, 0, 1)],
    "around the end": [(BIG - 1, 0, 1), (BIG - 1, AGAIN, 0), (BIG, 0, 1),
                       (1, AGAIN, 1), (1, AGAIN, 0)],
    "other flags are not that one": [(11, 0, 1), (12, 0, 1), (11, 0x02, 1),
                                     (11, 0x08, 1), (11, 0xfb, 1),
                                     (11, 0xff, 0), (11, 0x06, 0)],
}

OUR_RULE = {
    "in order": [(11, 0, 1), (12, 0, 1), (13, 0, 1)],
    "old, flagged": [(11, 0, 1), (12, 0, 1), (11, AGAIN, 0), (12, AGAIN, 0),
                     (13, AGAIN, 1)],
    "old, not flagged": [(11, 0, 1), (12, 0, 1), (12, 0, 0), (11, 0, 0),
                         (13, 0, 1), (12, 0, 0)],
    "ahead": [(11, 0, 1), (100, 0, 1), (50, 0, 0), (100, AGAIN, 0),
              (101, AGAIN, 1), (5000, 0, 1), (4999, 0, 0)],
}


@test("duplicates from a stock peer: by number and flag")
def stock_rule(lab):
    for exts in (LEGACY, MODERN, b""):
        for name, script in STOCK_RULE.items():
            try:
                play(lab, lab.lower(exts), script)
            except Exception as error:
                raise type(error)(f"{name}: {error}") from error


@test("duplicates from a peer of ours: by number alone")
def our_rule(lab):
    need_ours("have one rule only")
    for name, script in OUR_RULE.items():
        try:
            play(lab, lab.lower(OURS), script)
        except Exception as error:
            raise type(error)(f"{name}: {error}") from error


@test("duplicates are recognized on the next connection")
def across_connections(lab):
    for exts in (LEGACY, OURS):
        if exts == OURS and not kernel.is_ours():
            continue
        peer = lab.lower(exts)
        script = [(11, 0, 1), (12, 0, 1), (13, 0, 1)]
        for end in ("reset", "fin"):
            link = play(lab, peer, script)
            if end == "reset":
                link.reset()
            else:
                link.fin()
                expect(link.ended(), "the kernel does not close after a FIN")
                link.close()
            script = [(12, AGAIN, 0), (11, AGAIN, 0)]


@test("duplicates, at random")
def at_random(lab):
    seed = random.randrange(1 << 32)
    say(f"seed {seed}")
    dice = random.Random(seed)
    for exts in (LEGACY, OURS):
        if exts == OURS and not kernel.is_ours():
            continue
        following = 1000
        script = []
        for _ in range(2000 if lab.full else 200):
            seq = dice.choice((following, following, dice.randrange(
                following - 50, following + 50), dice.randrange(1000, 9999)))
            flags = dice.choice((0, 0, AGAIN, dice.randrange(2, 256)))
            old = seq < following
            taken = not (old and (exts == OURS or flags & AGAIN))
            script.append((seq, flags, taken))
            if taken:
                following = seq + 1
        # The first is in order, so that the next number is known.
        play(lab, lab.lower(exts), [(999, 0, 1)] + script)


@test("a new generation restarts the sequence, the same does not")
def new_generation(lab):
    need_ours("judge the frame by its old number first")
    for exts in (MODERN, OURS):
        peer = lab.lower(exts)
        link = play(lab, peer, [(500, 0, 1), (501, 0, 1)])
        link = play(lab, peer, [(1, AGAIN, 0)], link)
        link.reset()
        peer.exts = exts.replace(wire.gen_num(0x5eed0001), wire.gen_num(77))
        expect(peer.exts != exts, "the generation was changed")
        peer.tx_seq.clear()
        link = play(lab, peer, [(3, AGAIN, 1), (3, AGAIN, 0), (4, AGAIN, 1)])
        link.reset()
        play(lab, peer, [(3, AGAIN, 0), (4, AGAIN, 0)])


@test("a new epoch of the features restarts the sequence, too")
def new_epoch(lab):
    need_ours("have none")
    peer = lab.lower(MODERN + wire.features(1))
    link = play(lab, peer, [(500, 0, 1), (501, 0, 1)])
    link.reset()
    link = play(lab, peer, [(1, 0, 0)])
    link.reset()
    peer.exts = MODERN + wire.features(2)
    play(lab, peer, [(1, 0, 1), (1, 0, 0), (2, AGAIN, 1)])


@test("a new generation of the peer on a live connection restarts it, too")
def generation_on_connection(lab):
    need_ours("judge the frame by its old number first")
    peer = lab.lower(MODERN)
    link = play(lab, peer, [(500, 0, 1), (501, 0, 1)])
    peer.exts = wire.npaths(1) + wire.gen_num(99) + wire.sport_idx()
    peer.tx_seq.clear()
    peer.probe(link)
    play(lab, peer, [(1, AGAIN, 0), (2, AGAIN, 1), (2, AGAIN, 0)], link)


@test("sequence numbers run on through pongs and data")
def numbers_run_on(lab):
    peer = lab.lower()
    link = peer.dial()
    for _ in range(50):
        peer.ping(link)
    sock = lab.socket(PORT)
    for count in range(50):
        same("sending", 0, sock.send(peer.address, 9, b"%d" % count))
    for count in range(50):
        peer.message(link, PORT, 9, b"%d" % count)
    expect(peer.rx_next[0] > 100, f"numbers: {peer.rx_next}")
