# SPDX-License-Identifier: GPL-2.0
"""The faults of a run of hours, drawn from its seed. Both guests and the host
draw the same ones, so none has to be told.

A run has rounds. In most, faults begin and end while messages flow. In some,
one end then dies: its modules are loaded again, or it is booted again. Kinds
and endings are dealt like cards, so that each has its turn soon.
"""
import collections
import random

# Where a kind occurs: in one guest, drawn by lot, or in both at once. It HOLDS
# what no other fault may touch meanwhile. LINE is the transport that it
# disturbs, or "all". It lasts from SHORTEST to LONGEST seconds.
Kind = collections.namedtuple("Kind",
                              "name where holds line shortest longest")

KINDS = [
    Kind("tcp loss", "both", {"tcp queue"}, "tcp", 5, 20),
    Kind("tcp corruption", "both", {"tcp queue"}, "tcp", 5, 20),
    Kind("tcp duplication", "both", {"tcp queue"}, "tcp", 5, 20),
    Kind("tcp reordering", "both", {"tcp queue"}, "tcp", 5, 20),
    Kind("tcp delay", "both", {"tcp queue"}, "tcp", 5, 20),
    Kind("tcp link down", "one", {"tcp link"}, "tcp", 2, 10),
    Kind("tcp resets", "one", {"tcp resets"}, "tcp", 3, 15),
    Kind("tcp buffers", "one", {"tcp sysctls"}, "tcp", 3, 12),
    Kind("tcp address gone", "both", {"tcp link"}, "tcp", 4, 4),
    Kind("tcp address moves", "both", {"tcp link"}, "tcp", 4, 10),
    Kind("tcp max_paths", "one", {"tcp resets", "tcp sysctls"}, "tcp", 2, 10),
    Kind("loss", "both", {"ib", "queue"}, "all", 5, 15),
    Kind("delay", "both", {"ib", "queue"}, "all", 5, 15),
    Kind("wire cut", "one", {"ib", "queue"}, "all", 2, 10),
    Kind("link down", "one", {"ib", "queue", "tcp link"}, "all", 2, 10),
    Kind("rdma device gone", "one", {"ib"}, "ib", 2, 8),
    Kind("rdma address gone", "both", {"ib"}, "ib", 4, 4),
    Kind("rdma route gone", "one", {"ib"}, "ib", 2, 10),
    Kind("sysctls", "one", {"tcp sysctls"}, "all", 5, 15),
    Kind("processor hogs", "one", {"load"}, "all", 5, 15),
    Kind("memory limit", "one", {"load"}, "all", 5, 15),
    Kind("namespaces", "one", {"namespaces"}, "all", 5, 15),
]
# The guest that dies
ENDINGS = {"modules reloaded in a": "a", "modules reloaded in b": "b",
           "reboot of b": "b"}
# Kinds, by their ends, that are there from their start until they stop
UNCOUNTED = ("loss", "corruption", "duplication", "reordering", "delay")
# A new life of an end does not disturb these, nor do they disturb it.
HARMLESS = {"load"}

# Seconds between two faults that touch the same
GAP = 4
# Seconds at the end of a round without a fault: the slowest path to recover is
# one over RDMA whose attempts to connect meet nobody.
CALM = 35
# Faults that begin in a round, and in one with an ending before this
MANY, FEW = 7, 3
# Seconds in which the latter begin
PRELUDE = 25

Event = collections.namedtuple("Event", "kind guests start seconds salt")
Round = collections.namedtuple("Round", "number seconds events ending")


def lot(seed, *what):
    """Return a source of random numbers for one purpose."""
    return random.Random("/".join(map(str, (seed, *what))))


def deal(seed, what, cards, first, count):
    """Return COUNT cards from place FIRST on of an endless sequence. Each of
    CARDS occurs once in every len(CARDS) of them."""
    dealt = []
    for place in range(first, first + count):
        pack = list(cards)
        lot(seed, what, place // len(pack)).shuffle(pack)
        dealt.append(pack[place % len(pack)])
    return dealt


def clash(event, other):
    """Check whether two events touch the same at about the same time."""
    return event.kind.holds & other.kind.holds and \
        event.start < other.start + other.seconds + GAP and \
        other.start < event.start + event.seconds + GAP


def draw_event(chance, kind, window):
    seconds = chance.uniform(kind.shortest, kind.longest)
    seconds = min(seconds, window - 1)
    guests = "ab" if kind.where == "both" else chance.choice("ab")
    return Event(kind, guests, chance.uniform(1, window - seconds), seconds,
                 chance.random())


def draw_events(chance, kinds, window):
    """Place the kinds in the window. One that finds no place is left out."""
    events = []
    for kind in kinds:
        for _ in range(60):
            event = draw_event(chance, kind, window)
            if not any(clash(event, other) for other in events):
                events.append(event)
                break
    return events


def draw_beside(chance, ending, kinds):
    """Draw a fault that the survivor has while the other end is away."""
    harmless = [kind for kind in kinds if kind.holds <= HARMLESS]
    if not harmless or chance.random() < 0.5:
        return []
    event = draw_event(chance, chance.choice(harmless), 20)
    survivor = "b" if ENDINGS[ending] == "a" else "a"
    return [event._replace(guests=survivor,
                           start=PRELUDE + chance.uniform(1, 10))]


def death(seed, number):
    """Return how many seconds after the start of the round the end dies."""
    return PRELUDE + 5 + lot(seed, "when", number).uniform(0, 5)


def choose(kinds, lines):
    """Return the kinds that match, and whose transport is in use."""
    return [kind for kind in KINDS if kinds.search(kind.name) and
            (kind.line in lines or kind.line == "all") and
            ("ib" in lines or "ib" not in kind.holds)]


def draw(seed, number, seconds, kinds, endings):
    """Draw one round; the first has number 0. Messages flow for so many
    SECONDS, or longer if that is needed. KINDS are Kinds, ENDINGS names."""
    chance = lot(seed, "round", number)
    # In every other round both ends live.
    ending = None
    if endings and number % 2:
        ending = deal(seed, "ending", endings, number // 2, 1)[0]
    count = min(len(kinds), FEW if ending else MANY)
    window = PRELUDE if ending else max(seconds - CALM, 10)
    dealt = deal(seed, "kind", kinds, number * MANY, count) if kinds else []
    events = draw_events(chance, dealt, window)
    if ending:
        events += draw_beside(chance, ending, kinds)
    return Round(number, seconds, events, ending)
