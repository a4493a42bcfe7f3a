# SPDX-License-Identifier: GPL-2.0
"""Operations on memory: requests of peers for the kernel's memory and of the
kernel for peers' memory, by frames that only peers of our implementation
accept."""

import errno
import os
import struct
import time

import kernel
import wire
from kernel import FENCE, NOTIFY_ME, READWRITE, SILENT, Memory
from lab import KERNEL6, LEGACY, MEMORY, MODERN, OURS
from peer import GENERATION, Closed
from tap import Failure, expect, same, say, test, within
from test_handshake import need_ours
from test_paths import dial_all, readable

PORT = 6200
EIGHT = wire.npaths(8) + wire.gen_num(GENERATION) + wire.sport_idx() + \
    wire.features(bits=wire.STRICT | wire.MEMORY)
OTHER = "10.8.0.1"		# the kernel's, too, but no peer dials it
PAGE = 4096
TOKEN = 0x123456789abcdef0
DEPTH = 16			# at most so many requests of the kernel
PLACE = (0x5eed, 24, 40)	# key, address of the region, offset behind that
THERE = 24 + 40
TELLS = NOTIFY_ME | READWRITE


def meet(lab, exts=MEMORY, **more):
    """Return (peer, its connection, a socket). A message has arrived by the
    connection, because an unused connection is forgotten as soon as it ends.
    """
    need_ours("do no operations on memory over TCP")
    peer = lab.lower(exts)
    link = peer.dial(**more)
    sock = lab.socket(PORT)
    peer.data(link, 9, PORT, b"hello")
    same("the first message", b"hello", sock.recv()[0])
    return peer, link, sock


def nothing_comes(peer, link, seconds=0.3):
    try:
        frame = peer.next_frame(link, seconds)
    except Failure as error:
        expect("no reply: 0 bytes" in str(error), error)
        return
    raise Failure(f"{frame} arrives")


def number_of(peer):
    """Return the number of the message that PEER sends next."""
    return peer.tx_seq.get(0, 1)


def word(value):
    return struct.pack("!Q", value)


def write_works(peer, link, memory, where):
    """Check that operations still work."""
    key, begin = where
    text = os.urandom(8)
    peer.request(link, wire.WRITE, 0xfeed, key, begin, text)
    peer.expect_response(link, 0xfeed)
    same("memory", text, memory[:8])


# Operations on the kernel's memory

@test("memory: peers write and read it, and nothing around it")
def write_and_read(lab):
    peer, link, sock = meet(lab)
    memory = Memory(3 * PAGE, 5)
    key, begin = sock.register(memory)
    # The address of the page is random.
    same("where in a page it begins", 5, begin % PAGE)
    wanted = bytearray(memory.size)
    for at, size in ((0, 1), (memory.size - 1, 1), (7, PAGE), (PAGE - 5, 1),
                     (PAGE - 6, 2), (1, 2 * PAGE + 100), (0, memory.size)):
        text = os.urandom(size)
        number = number_of(peer)
        peer.request(link, wire.WRITE, number, key, begin + at, text)
        peer.data(link, 9, PORT, b"%d" % at, ext=wire.used(key, size, True))
        wanted[at:at + size] = text
        same("the message behind it", b"%d" % at, sock.recv()[0])
        same(f"memory, {size} bytes at {at}", wanted, memory[:])
        peer.expect_response(link, number)
        peer.request(link, wire.READ, number, key, begin + at,
                     wire.length(size))
        peer.expect_response(link, number, text)
    expect(not any(memory.around()), "something around it was written to")


@test("memory: 1 MiB, and memory that peers may only read")
def large(lab):
    peer, link, sock = meet(lab)
    memory = Memory(wire.MAX_MESSAGE, 8)
    text = os.urandom(memory.size)
    key, begin = sock.register(memory)
    peer.request(link, wire.WRITE, 1, key, begin, text)
    peer.expect_response(link, 1)
    same("memory", text, memory[:])
    same("to free it", 0, sock.free(key))
    key, begin = sock.register(memory, 0)
    for number in range(3):
        peer.request(link, wire.READ, number, key, begin,
                     wire.length(memory.size))
    for number in range(3):
        peer.expect_response(link, number, text)
    expect(not any(memory.around()), "something around it was written to")


HALVES = 1 << 31 | 1 << 63	# no carry from one half to the other
ATOMICS = (
    (wire.FADD, 7, wire.operands(5), 12),
    (wire.FADD, wire.ALL, wire.operands(2), 1),
    (wire.FADD, 0xffffffff, wire.operands(1), 1 << 32),
    (wire.CSWP, 7, wire.operands(9, 7, wire.ALL), 9),
    (wire.CSWP, 7, wire.operands(9, 8, wire.ALL), 7),
    (wire.MASKED_FADD, 0xffffffff, wire.operands(1, 0, HALVES), 0),
    (wire.MASKED_FADD, 0x00000001_fffffffe, wire.operands(
        0xffffffff_00000003, 0, HALVES), 0x00000000_00000001),
    (wire.MASKED_CSWP, 0x1234, wire.operands(0xabcd, 0x0030, 0xff00, 0xf0),
     0xab34),
    (wire.MASKED_CSWP, 0x1234, wire.operands(0xabcd, 0x0040, 0xff00, 0xf0),
     0x1234),
)


@test("memory: atomic operations find what was there, and change it")
def atomics(lab):
    peer, link, sock = meet(lab)
    memory = Memory(24, PAGE - 16)
    key, begin = sock.register(memory)
    for at in (0, 8, 16):
        for number, (kind, old, operands, new) in enumerate(ATOMICS):
            memory[:] = bytes(24)
            memory.word(at, old)
            peer.request(link, kind, number, key, begin + at, operands)
            peer.expect_response(link, number, word(old))
            same(f"kind {kind} of {old:x}", f"{new:x}",
                 f"{memory.word(at):x}")
            memory.word(at, 0)
            same("what is beside it", bytes(24), memory[:])
    expect(not any(memory.around()), "something around it was written to")


@test("memory: IPv6 peers reach it as well")
def six(lab):
    need_ours("do no operations on memory over TCP")
    peer = lab.lower6(MEMORY)
    link = peer.dial()
    sock = lab.socket(PORT, KERNEL6)
    memory = Memory(100, 3)
    where = sock.register(memory)
    write_works(peer, link, memory, where)
    # A region of one address is not accessible by another.
    other, link, _ = meet(lab)
    other.request(link, wire.WRITE, 1, *where, bytes(8))
    other.expect_response(link, 1, status=wire.REFUSED)
    expect(any(memory[:8]), "it was written to")


def forbidden(lab, sock, memory):
    """Return requests that are wrong, by what makes them wrong."""
    key, begin = sock.register(memory)
    size = memory.size
    fixed, first = sock.register(memory, 0)
    gone, _ = sock.register(memory)
    same("to free it", 0, sock.free(gone))
    away, _ = lab.socket(PORT, OTHER).register(memory)
    closed = lab.socket(PORT + 1)
    late, _ = closed.register(memory)
    closed.close()
    strange = next(number for number in range(1, 10)
                   if number not in (key, fixed, gone, away, late))
    add, top = wire.operands(1), (1 << 32) - 1
    swap = wire.operands(1, 0, wire.ALL)
    requests = {}
    for name, other in (("an unknown", strange), ("a freed", gone), ("no", 0),
                        ("a closed socket's", late),
                        ("another address's", away)):
        requests[f"{name} key, write"] = (wire.WRITE, other, begin, b"x")
        requests[f"{name} key, read"] = (wire.READ, other, begin,
                                         wire.length(1))
        requests[f"{name} key, atomic"] = (wire.FADD, other, begin, add)
    for name, at, count in (
            ("one byte beyond", begin + size - 7, 8),
            ("one byte, beyond", begin + size, 1),
            ("one byte more than all", begin, size + 1),
            ("one byte before", begin - 1, 2), ("at 0", 0, 1),
            ("the last address", top, 1), ("around the end", top, 2),
            ("around by much", top - 1000, wire.MAX_MESSAGE)):
        requests[f"write {name}"] = (wire.WRITE, key, at, bytes(count))
        requests[f"read {name}"] = (wire.READ, key, at, wire.length(count))
    for kind in (wire.FADD, wire.MASKED_FADD, wire.CSWP, wire.MASKED_CSWP):
        values = add if kind in (wire.FADD, wire.MASKED_FADD) else swap
        for name, other, at in (
                ("not aligned", key, begin + 1),
                ("half aligned", key, begin + 4),
                ("before", key, begin - 8), ("beyond", key, begin + size),
                ("half beyond", key, begin + size - 4),
                ("at the end of all", key, top - 7),
                ("read only", fixed, first)):
            requests[f"atomic {kind} {name}"] = (kind, other, at, values)
    requests["write where one may read"] = (wire.WRITE, fixed, first, b"x")
    requests["write nothing"] = (wire.WRITE, key, begin, b"")
    return (key, begin), requests


@test("memory: what the key does not allow is refused, and nothing else")
def refused(lab):
    peer, link, sock = meet(lab)
    # The region ends with half a word.
    memory = Memory(PAGE + 100, 16)
    text = os.urandom(memory.size)
    memory[:] = text
    where, requests = forbidden(lab, sock, memory)
    for name, (kind, key, at, payload) in requests.items():
        try:
            peer.request(link, kind, 0x01020304, key, at, payload)
            peer.expect_response(link, 0x01020304, status=wire.REFUSED)
            same("memory", text, memory[:])
        except (Failure, Closed) as error:
            raise Failure(f"{name}: {error}") from error
    expect(not any(memory.around()), "something around it was written to")
    peer.ping(link)
    write_works(peer, link, memory, where)


@test("memory: the message of a refused write is not delivered, others are")
def barred(lab):
    peer, link, sock = meet(lab)
    key, begin = sock.register(Memory(8))
    script = []
    # The requester of a read learns of its failure before there is a message.
    for ahead, kind, payload, status, bars in (
            (0, wire.WRITE, bytes(9), wire.REFUSED, True),
            (0, wire.WRITE, bytes(8), wire.DONE, False),
            (1, wire.WRITE, bytes(9), wire.REFUSED, False),
            (7, wire.WRITE, bytes(9), wire.REFUSED, False),
            (1 << 31, wire.WRITE, bytes(9), wire.REFUSED, False),
            (0, wire.READ, wire.length(9), wire.REFUSED, False)):
        number = number_of(peer)
        peer.request(link, kind, number + ahead, key, begin, payload)
        for count in range(10):
            name = b"%d+%d: %d" % (number, ahead, count)
            peer.data(link, 9, PORT, name)
            if count or not bars:
                script.append(name)
        peer.expect_response(link, number + ahead, status=status)
    peer.ping(link)
    same("messages delivered", script, [sock.recv()[0] for _ in script])
    expect(sock.silent(), "more was delivered")


@test("memory: a region for one use is gone when the peer has used it")
def used_once(lab):
    peer, link, sock = meet(lab)
    memory = Memory(100)
    where = sock.register(memory, READWRITE | kernel.USE_ONCE)
    # The peer has not reported the use yet.
    write_works(peer, link, memory, where)
    write_works(peer, link, memory, where)
    peer.data(link, 9, PORT, b"used", ext=wire.used(where[0], 8, True))
    same("a message", b"used", sock.recv()[0])
    # The call waits until the region, which is being freed, is gone.
    same("to free it", errno.EINVAL, sock.free(where[0]))
    text = memory[:]
    peer.request(link, wire.WRITE, 1, *where, bytes(8))
    peer.expect_response(link, 1, status=wire.REFUSED)
    same("memory", text, memory[:])


@test("memory: the kernel announces it to a peer")
def announced(lab):
    peer, link, sock = meet(lab)
    memory = Memory(100, 77)
    same("sending", 0, sock.offer(peer.address, 78, b"here", memory))
    frame = peer.message(link, PORT, 78, b"here")
    key = int.from_bytes(frame.ext[1:5], "big")
    begin = int.from_bytes(frame.ext[5:9], "big")
    same("where in a page it begins", 77, begin % PAGE)
    same("extension headers", wire.dest(key, begin).ljust(16, b"\0"),
         frame.ext)
    write_works(peer, link, memory, (key, begin))


# Invalid frames

@test("memory: frames of unknown kinds are ignored")
def unknown_kinds(lab):
    peer, link, sock = meet(lab)
    memory = Memory(100)
    where = sock.register(memory)
    before = kernel.counters()["recv_drop_old_seq"]
    for kind in range(wire.MASKED_CSWP + 1, 256):
        peer.request(link, kind, number_of(peer), *where, wire.operands(1))
    peer.ping(link)
    same("recv_drop_old_seq", before + 249,
         kernel.counters()["recv_drop_old_seq"])
    expect(not any(memory[:]), "memory was written to")
    write_works(peer, link, memory, where)


REQUESTS = {
    "read of nothing": (wire.READ, wire.length(0)),
    "read of more than 1 MiB": (wire.READ, wire.length((1 << 20) + 1)),
    "read of all there could be": (wire.READ, wire.length((1 << 32) - 1)),
    "read, length of 3 bytes": (wire.READ, bytes(2) + b"\1"),
    "read, length of 5 bytes": (wire.READ, wire.length(1) + b"\0"),
    "read, no length": (wire.READ, b""),
    "atomic, 31 bytes": (wire.FADD, wire.operands(1)[:31]),
    "atomic, 33 bytes": (wire.CSWP, wire.operands(1) + b"\0"),
    "atomic, nothing": (wire.MASKED_FADD, b""),
    "atomic, 1 MiB": (wire.MASKED_CSWP, bytes(wire.MAX_MESSAGE)),
    "response to no request": (wire.RESPONSE, b""),
    "response to no request, with payload": (wire.RESPONSE, bytes(100)),
}


@test("memory: invalid frames end the connection, and the next one works")
def invalid(lab):
    peer, link, sock = meet(lab)
    memory = Memory(PAGE)
    where = sock.register(memory)
    for name, (kind, payload) in REQUESTS.items():
        text = memory[:]
        peer.request(link, kind, 1, *where, payload)
        expect(link.ended(5), f"{name}: the connection goes on")
        link.close()
        same(f"memory after {name}", text, memory[:])
        link = peer.dial()
        write_works(peer, link, memory, where)
        peer.data(link, 9, PORT, b"after")
        same(f"a message after {name}", b"after", sock.recv()[0])


# Responses where 8 bytes, or none, would be right: distance from the number,
# size; and the status of the operation
TO_FETCH = {
    "twice": (((0, 8), (0, 8)), kernel.SUCCESS),
    "7 bytes": (((0, 7),), kernel.OTHER_ERROR),
    "9 bytes": (((0, 9),), kernel.OTHER_ERROR),
    "nothing": (((0, 0),), kernel.OTHER_ERROR),
    "1 MiB": (((0, 1 << 20),), kernel.OTHER_ERROR),
    "another number": (((1, 8),), kernel.DROPPED),
    "a large number": (((1 << 31, 8),), kernel.DROPPED),
}
TO_WRITE = {
    "twice": (((0, 0), (0, 0)), kernel.SUCCESS),
    "1 byte": (((0, 1),), kernel.OTHER_ERROR),
    "8 bytes": (((0, 8),), kernel.OTHER_ERROR),
    "1 MiB": (((0, 1 << 20),), kernel.OTHER_ERROR),
    "another number": (((1, 0),), kernel.DROPPED),
}


def one_wrong_response(peer, link, sock, kind, responses, status):
    mine = Memory(8)
    if kind == wire.FADD:
        error = sock.atomic(peer.address, 78, b"lost", PLACE, mine,
                            kernel.CMSG_FADD, (1,), token=TOKEN)
    else:
        error = sock.rdma(peer.address, 78, b"lost", PLACE, mine,
                          TELLS if kind == wire.WRITE else NOTIFY_ME, TOKEN)
    same("sending", 0, error)
    frame = peer.next_frame(link)
    expect(frame.is_operation(), f"no request, but {frame}")
    number = wire.parse_operation(frame.ext)[2]
    for ahead, size in responses:
        peer.respond(link, number + ahead, b"\xab" * size)
    same("how it ends", [(TOKEN, status)], sock.statuses())
    expect(link.ended(5), "the connection goes on")
    link.close()
    expect(not any(mine.around()), "something around it was written to")
    if status != kernel.SUCCESS:
        same("what was taken", bytes(8), mine[:])
    link = peer.dial()
    same("sending", 0, sock.send(peer.address, 78, b"next"))
    frame = peer.next_frame(link)
    # The message of an operation that has succeeded is sent again.
    if status == kernel.SUCCESS and frame.payload == b"lost":
        frame = peer.next_frame(link)
    same("the next message", b"next", frame.payload)
    same("notifications", [], sock.statuses(wait=False))
    return link


@test("memory: wrong responses end the connection, and fail the operation")
def wrong_responses(lab):
    peer, link, sock = meet(lab)
    for kind, responses in ((wire.READ, TO_FETCH), (wire.FADD, TO_FETCH),
                            (wire.WRITE, TO_WRITE)):
        for name, (response, status) in responses.items():
            try:
                link = one_wrong_response(peer, link, sock, kind,
                                          response, status)
            except (Failure, Closed) as error:
                raise Failure(f"kind {kind}, {name}: {error}") from error


@test("memory: a peer that requests on and reads no responses is dropped")
def takes_no_responses(lab):
    peer, link, sock = meet(lab, rcvbuf=8192)
    memory = Memory(wire.MAX_MESSAGE)
    where = sock.register(memory, 0)
    try:
        for number in range(1000):
            peer.request(link, wire.READ, number, *where,
                         wire.length(memory.size))
    except Closed:
        pass
    within(5, "the kernel drops the connection",
           lambda: not kernel.tcp_sockets(peer.address))
    link.reset()
    link = peer.dial()
    peer.request(link, wire.READ, 1, *where, wire.length(100))
    peer.expect_response(link, 1, bytes(100))
    peer.ping(link)


@test("memory: a peer that reads 64 responses late receives them all")
def takes_responses_later(lab):
    peer, link, sock = meet(lab, rcvbuf=8192)
    memory = Memory(100000)
    where = sock.register(memory, 0)
    for number in range(64):
        peer.request(link, wire.READ, number, *where, wire.length(memory.size))
    time.sleep(0.5)
    for number in range(64):
        peer.expect_response(link, number, bytes(memory.size))
    peer.ping(link)


# Operations on peers' memory

@test("memory: the kernel requests a write, and the message follows at once")
def requests_write(lab):
    peer, link, sock = meet(lab)
    key, begin, offset = PLACE
    for size, text in ((1, b"message"), (PAGE + 1, b""),
                       (wire.MAX_MESSAGE, b"message")):
        mine = Memory(size, 9)
        mine[:] = os.urandom(size)
        same("sending", 0, sock.rdma(peer.address, 78, text, PLACE, mine,
                                     TELLS, TOKEN))
        number = peer.expect_request(link, wire.WRITE, key, begin + offset,
                                     mine[:])
        frame = peer.message(link, PORT, 78, text)
        same("its number", number, frame.seq)
        same("its extension headers", wire.used(key, size, True)
             .ljust(16, b"\0"), frame.ext)
        same("notifications before the response", [],
             sock.statuses(wait=False))
        peer.respond(link, number)
        same("how it ends", [(TOKEN, kernel.SUCCESS)], sock.statuses())


@test("memory: the kernel requests a read; its messages wait for the response")
def requests_read(lab):
    peer, link, sock = meet(lab)
    key = PLACE[0]
    for size in (1, 2 * PAGE, wire.MAX_MESSAGE):
        mine = Memory(size, 9)
        text = os.urandom(size)
        same("sending", 0, sock.rdma(peer.address, 78, b"first", PLACE, mine,
                                     token=TOKEN))
        same("sending", 0, sock.send(peer.address, 79, b"second"))
        number = peer.expect_request(link, wire.READ, key, THERE,
                                     wire.length(size))
        nothing_comes(peer, link)
        # While the kernel waits for its response, it serves the peer's
        # requests.
        theirs = Memory(8)
        where = sock.register(theirs)
        write_works(peer, link, theirs, where)
        peer.request(link, wire.READ, 5, *where, wire.length(8))
        peer.expect_response(link, 5, theirs[:])
        peer.respond(link, number, text)
        frame = peer.message(link, PORT, 78, b"first")
        same("its number", number, frame.seq)
        same("its extension headers", wire.used(key, size, False)
             .ljust(16, b"\0"), frame.ext)
        peer.message(link, PORT, 79, b"second")
        same("how it ends", [(TOKEN, kernel.SUCCESS)], sock.statuses())
        same("what was read", text, mine[:])
        expect(not any(mine.around()), "something around it was written to")


# What the program passes, and what the kernel requests
REQUESTED = (
    (kernel.CMSG_FADD, (5,), wire.FADD, wire.operands(5)),
    (kernel.CMSG_CSWP, (7, 9), wire.CSWP, wire.operands(9, 7, wire.ALL)),
    (kernel.CMSG_MASKED_FADD, (5, HALVES), wire.MASKED_FADD,
     wire.operands(5, 0, HALVES)),
    (kernel.CMSG_MASKED_CSWP, (7, 9, 0xf0, 0xff00), wire.MASKED_CSWP,
     wire.operands(9, 7, 0xff00, 0xf0)),
)


@test("memory: the kernel requests atomic operations")
def requests_atomics(lab):
    peer, link, sock = meet(lab)
    for type_, values, kind, operands in REQUESTED:
        mine = Memory(8, 16)
        same("sending", 0, sock.atomic(peer.address, 78, b"text", PLACE, mine,
                                       type_, values, token=kind))
        number = peer.expect_request(link, kind, PLACE[0], THERE, operands)
        nothing_comes(peer, link, 0.1)
        peer.respond(link, number, word(0x0102030405060708))
        frame = peer.message(link, PORT, 78, b"text")
        same("its number", number, frame.seq)
        same("its extension headers", bytes(16), frame.ext)
        same("how it ends", [(kind, kernel.SUCCESS)], sock.statuses())
        same("what was there", 0x0102030405060708, mine.word(0))
        expect(not any(mine.around()), "something around it was written to")


@test("memory: an address beyond 32 bits is requested as the last one")
def far_away(lab):
    peer, link, sock = meet(lab)
    for offset in (1 << 32, (1 << 64) - 100, (1 << 32) - 1):
        same("sending", 0, sock.rdma(peer.address, 78, b"", (1, 2, offset),
                                     Memory(8), TELLS | SILENT, TOKEN))
        number = peer.expect_request(link, wire.WRITE, 1, 0xffffffff, bytes(8))
        peer.skip(link)
        peer.respond(link, number, status=wire.REFUSED)
        same("how it ends", [(TOKEN, kernel.REMOTE_ERROR)], sock.statuses())


def bare(peer, sock, memory, flags=0, token=TOKEN):
    """Have the kernel request an operation that no message follows."""
    same("sending", 0, sock.rdma(peer.address, 78, b"", PLACE, memory,
                                 NOTIFY_ME | SILENT | flags, token))


@test("memory: operations without a message, and the fence")
def bare_operations(lab):
    peer, link, sock = meet(lab)
    key = PLACE[0]
    mine = Memory(8)
    wanted = {0: (wire.READ, key, THERE, wire.length(8)),
              READWRITE: (wire.WRITE, key, THERE, bytes(8))}
    results = {0: bytes(8), READWRITE: b""}
    # A write does not overtake a read.
    for first, then, flags, waits in (
            (0, 0, 0, False), (0, 0, FENCE, True), (0, READWRITE, 0, True),
            (READWRITE, 0, FENCE, False), (READWRITE, READWRITE, 0, False),
            (READWRITE, READWRITE, FENCE, False)):
        bare(peer, sock, mine, first, 1)
        bare(peer, sock, mine, then | flags, 2)
        same("sending", 0, sock.send(peer.address, 79, b"behind"))
        one = peer.expect_request(link, *wanted[first])
        peer.skip(link)
        if waits:
            nothing_comes(peer, link)
            peer.respond(link, one, results[first])
        two = peer.expect_request(link, *wanted[then])
        peer.skip(link)
        peer.message(link, PORT, 79, b"behind")
        # Responses may come in any order.
        peer.respond(link, two, results[then])
        if not waits:
            peer.respond(link, one, results[first])
        found = []
        while len(found) < 2:
            found += sock.statuses()
        same("how they end", [(1, 0), (2, 0)], sorted(found))
    nothing_comes(peer, link)


@test("memory: no more than 16 requests are outstanding")
def depth(lab):
    peer, link, sock = meet(lab)
    mine = Memory(8)
    for number in range(DEPTH + 3):
        bare(peer, sock, mine, token=number)
    same("sending", 0, sock.send(peer.address, 79, b"behind"))
    out = []
    for number in range(DEPTH + 3):
        if number >= DEPTH:
            nothing_comes(peer, link, 0.2)
            peer.respond(link, out.pop(), bytes(8))
        out.append(peer.expect_request(link, wire.READ, PLACE[0], THERE,
                                       wire.length(8)))
        peer.skip(link)
    peer.message(link, PORT, 79, b"behind")
    for number in out:
        peer.respond(link, number, bytes(8))
    found = []
    while len(found) < DEPTH + 3:
        found += sock.statuses()
    same("how they end", [(number, 0) for number in range(DEPTH + 3)],
         sorted(found))


@test("memory: requests that wait for a peer are sent up to the limit")
def together(lab):
    peer, link, sock = meet(lab)
    mine = Memory(8)
    # A connection that no socket has used would be forgotten.
    same("sending", 0, sock.send(peer.address, 79, b"first"))
    peer.message(link, PORT, 79, b"first")
    for flags, kind, text, result in (
            (READWRITE, wire.WRITE, bytes(8), b""),
            (0, wire.READ, wire.length(8), bytes(8)),
            (FENCE, wire.READ, wire.length(8), bytes(8))):
        link.reset()
        within(5, "the kernel knows", lambda: not kernel.tcp_sockets(
            peer.address))
        for number in range(DEPTH + 1):
            bare(peer, sock, mine, flags, number)
        same("sending", 0, sock.send(peer.address, 79, b"behind"))
        link = peer.dial()
        found = []
        out = []
        for number in range(DEPTH + 1):
            if flags == FENCE and number or number == DEPTH:
                peer.respond(link, out.pop(0), result)
            out.append(peer.expect_request(link, kind, PLACE[0], THERE, text))
            peer.skip(link)
        peer.message(link, PORT, 79, b"behind")
        for number in out:
            peer.respond(link, number, result)
        while len(found) < DEPTH + 1:
            found += sock.statuses()
        same("how they end", [(number, 0) for number in range(DEPTH + 1)],
             sorted(found))


def first_operation(peer, links):
    """Return (the path it comes by, its number)."""
    while True:
        for link in readable(links):
            frame = link.read_frame()
            if not peer.handle(link, frame):
                expect(frame.is_operation(), f"no request, but {frame}")
                return link, wire.parse_operation(frame.ext)[2]


@test("memory: each path has operations of its own")
def paths(lab):
    need_ours("do no operations on memory over TCP")
    peer, links = dial_all(lab, EIGHT)
    sock = lab.socket(PORT)
    memory, mine = Memory(8), Memory(8)
    where = sock.register(memory)
    for link in links:
        write_works(peer, link, memory, where)
    same("sending", 0, sock.rdma(peer.address, 78, b"text", PLACE, mine,
                                 token=TOKEN))
    link, number = first_operation(peer, links)
    other = links[(link.path + 1) % 8]
    peer.respond(other, number, b"badbadba")
    expect(other.ended(5), "a response on another path is accepted")
    other.close()
    same("notifications", [], sock.statuses(wait=False))
    peer.respond(link, number, b"12345678")
    same("its number", number, peer.message(link, PORT, 78, b"text").seq)
    same("how it ends", [(TOKEN, kernel.SUCCESS)], sock.statuses())
    same("what was read", b"12345678", mine[:])
    write_works(peer, peer.dial(other.path), memory, where)
    write_works(peer, link, memory, where)


@test("memory: a refusal is reported, and the message that waited is dropped")
def refusal(lab):
    peer, link, sock = meet(lab)
    mine = Memory(8)
    for status in (wire.REFUSED, 2, 255):
        same("sending", 0, sock.rdma(peer.address, 78, b"lost", PLACE, mine,
                                     token=TOKEN))
        number = peer.expect_request(link, wire.READ, PLACE[0], THERE,
                                     wire.length(8))
        # A payload in a refusal is ignored.
        peer.respond(link, number, b"notthis!", status)
        same("how it ends", [(TOKEN, kernel.REMOTE_ERROR)], sock.statuses())
        peer.skip(link)
        same("sending", 0, sock.atomic(peer.address, 78, b"lost", PLACE, mine,
                                       kernel.CMSG_FADD, (1,), token=TOKEN))
        number = peer.expect_request(link, wire.FADD, PLACE[0], THERE,
                                     wire.operands(1))
        peer.respond(link, number, status=status)
        same("how it ends", [(TOKEN, kernel.REMOTE_ERROR)], sock.statuses())
        peer.skip(link)
        # The message of a write has been sent already.
        same("sending", 0, sock.rdma(peer.address, 78, b"sent", PLACE, mine,
                                     TELLS, TOKEN))
        number = peer.expect_request(link, wire.WRITE, PLACE[0], THERE,
                                     bytes(8))
        peer.respond(link, number, status=status)
        same("how it ends", [(TOKEN, kernel.REMOTE_ERROR)], sock.statuses())
        peer.message(link, PORT, 78, b"sent")
        same("sending", 0, sock.send(peer.address, 79, b"next"))
        peer.message(link, PORT, 79, b"next")
        expect(not any(mine[:]), "it was written to")
    # A socket that has not asked for a notification receives one only if it
    # has asked for those of failures.
    for wants in (0, 1):
        same("RDS_RECVERR", 0, sock.option(kernel.RECVERR,
                                           struct.pack("i", wants)))
        same("sending", 0, sock.rdma(peer.address, 78, b"", PLACE, mine,
                                     SILENT, TOKEN))
        number = peer.expect_request(link, wire.READ, PLACE[0], THERE,
                                     wire.length(8))
        peer.skip(link)
        peer.respond(link, number, status=wire.REFUSED)
        if wants:
            same("how it ends", [(TOKEN, kernel.REMOTE_ERROR)],
                 sock.statuses())
        else:
            peer.ping(link)
            same("notifications", [], sock.statuses(wait=False))


@test("memory: a response that arrives before the end of its request")
def early_response(lab):
    peer, link, sock = meet(lab, rcvbuf=8192)
    peer.ping(link)
    mine = Memory(wire.MAX_MESSAGE)
    mine[:] = os.urandom(mine.size)
    for text, flags in ((b"", SILENT), (b"text", 0)):
        for status in (wire.DONE, wire.REFUSED):
            same("sending", 0, sock.rdma(peer.address, 78, text, PLACE, mine,
                                         TELLS | flags, TOKEN))
            frame = wire.Frame.decode(link.read(wire.HEADER_BYTES))
            number = peer.rx_next[0]
            same("what is requested", wire.operation(
                wire.WRITE, number, PLACE[0], THERE), frame.ext)
            peer.respond(link, number, status=status)
            same("how it ends", [(TOKEN, status)], sock.statuses())
            same("sending", 0, sock.send(peer.address, 79, b"behind"))
            same("what is written", mine[:], link.read(frame.length))
            # A message whose operation was refused is not sent.
            if text and status == wire.DONE:
                peer.message(link, PORT, 78, text)
            else:
                peer.skip(link)
            peer.message(link, PORT, 79, b"behind")
    # The end of the request is never read.
    bare(peer, sock, mine, READWRITE)
    link.read(wire.HEADER_BYTES)
    peer.respond(link, peer.rx_next[0])
    same("how it ends", [(TOKEN, kernel.SUCCESS)], sock.statuses())
    link.reset()
    link = peer.dial()
    same("sending", 0, sock.send(peer.address, 79, b"behind"))
    peer.message(link, PORT, 79, b"behind")
    same("notifications", [], sock.statuses(wait=False))


@test("memory: a message counts as unsent until the response to its write")
def unsent(lab):
    peer, link, sock = meet(lab)
    mine = Memory(8)
    same("sending", 0, sock.rdma(peer.address, 78, b"text", PLACE, mine,
                                 TELLS, TOKEN))
    number = peer.expect_request(link, wire.WRITE, PLACE[0], THERE, bytes(8))
    peer.message(link, PORT, 78, b"text")
    # A message sent later is no longer unsent, once TCP has acknowledged it.
    same("sending", 0, sock.send(peer.address, 78, b"behind"))
    peer.message(link, PORT, 78, b"behind")
    within(5, "what is behind it", lambda: sock.unsent() == len(b"text"))
    peer.ping(link)
    same("what is unsent", len(b"text"), sock.unsent())
    peer.respond(link, number)
    within(5, "nothing is", lambda: not sock.unsent())


# Connections that end

@test("memory: a peer that does not respond is dropped in bounded time",
      timeout=400)
def no_response(lab):
    peer, link, sock = meet(lab)
    # The default is tested in the long form.
    limit = 30 if lab.full else 2
    old = kernel.sysctl("net/rds/op_timeout_ms", limit * 1000)
    try:
        for flags, kind, text, result in (
                (0, wire.READ, wire.length(8), bytes(8)),
                (READWRITE, wire.WRITE, bytes(8), b"")):
            for token in range(3):
                bare(peer, sock, Memory(8), flags, token)
            out = []
            for _ in range(3):
                out.append(peer.expect_request(link, kind, PLACE[0], THERE,
                                               text))
                peer.skip(link)
            # Each response restarts the time limit, and nothing else does.
            for token in range(2):
                time.sleep(0.7 * limit)
                peer.respond(link, out.pop(0), result)
                same("how it ends", [(token, kernel.SUCCESS)],
                     sock.statuses())
            start = time.monotonic()
            time.sleep(0.9 * limit)
            peer.ping(link)
            expect(link.ended(2 * limit), "the kernel waits for ever")
            took = time.monotonic() - start
            say(f"dropped after {took:.1f} s")
            expect(0.9 * limit < took < 1.7 * limit,
                   f"dropped after {took:.1f} s")
            same("how it ends", [(2, kernel.DROPPED)], sock.statuses())
            link.close()
            link = peer.dial()
        # An operation that completed in time has no effect later.
        bare(peer, sock, Memory(8))
        number = peer.expect_request(link, wire.READ, PLACE[0], THERE,
                                     wire.length(8))
        peer.respond(link, number, bytes(8))
        peer.skip(link)
        same("how it ends", [(TOKEN, kernel.SUCCESS)], sock.statuses())
        time.sleep(1.2 * limit)
        peer.ping(link)
    finally:
        kernel.sysctl("net/rds/op_timeout_ms", old)


@test("memory: a peer that leaves one request out is dropped")
def left_out(lab):
    peer, link, sock = meet(lab)
    old = kernel.sysctl("net/rds/op_timeout_ms", 2000)
    try:
        bare(peer, sock, Memory(8), token=1)
        peer.expect_request(link, wire.READ, PLACE[0], THERE, wire.length(8))
        peer.skip(link)
        start = time.monotonic()
        while not link.ended(0.3):
            expect(time.monotonic() - start < 4, "the kernel waits for ever")
            bare(peer, sock, Memory(8), token=2)
            try:
                number = peer.expect_request(link, wire.READ, PLACE[0], THERE,
                                             wire.length(8))
                peer.skip(link)
                peer.respond(link, number, bytes(8))
            except Closed:
                break
            same("how it ends", [(2, kernel.SUCCESS)], sock.statuses())
        expect(time.monotonic() - start > 1.8, "dropped too early")
        link.close()
        found = []
        while (1, kernel.DROPPED) not in found:
            found += sock.statuses()
    finally:
        kernel.sysctl("net/rds/op_timeout_ms", old)


@test("memory: a peer that sends all but a response is dropped")
def all_but_a_response(lab):
    peer, link, sock = meet(lab)
    old = kernel.sysctl("net/rds/op_timeout_ms", 1000)
    pauses = kernel.counters()["recv_immediate_retry"]
    try:
        bare(peer, sock, Memory(8))
        peer.expect_request(link, wire.READ, PLACE[0], THERE, wire.length(8))
        peer.skip(link)
        start = time.monotonic()
        while not link.ended(0.001):
            expect(time.monotonic() - start < 5, "the kernel waits for ever")
            try:
                # So many that the kernel does not read them all at once
                link.send(*(wire.Frame(9, PORT + 1, seq=peer.next_seq(0))
                            for _ in range(8000)))
            except OSError:
                break
        expect(time.monotonic() - start > 0.9, "dropped too early")
        link.close()
        same("how it ends", [(TOKEN, kernel.DROPPED)], sock.statuses())
        expect(kernel.counters()["recv_immediate_retry"] > pauses,
               "the kernel has read all at once")
    finally:
        kernel.sysctl("net/rds/op_timeout_ms", old)


@test("memory: a peer whose responses are not read is not dropped for that")
def stopped_reading(lab):
    peer, link, sock = meet(lab)
    other = lab.socket(PORT + 1, rcvbuf=4096)
    held = kernel.sysctl("net/rds/rx_held_max", 65536)
    old = kernel.sysctl("net/rds/op_timeout_ms", 500)
    stopped = kernel.counters()["recv_path_stopped"]
    sent = 0
    try:
        bare(peer, sock, Memory(8))
        number = peer.expect_request(link, wire.READ, PLACE[0], THERE,
                                     wire.length(8))
        peer.skip(link)
        while kernel.counters()["recv_path_stopped"] == stopped:
            peer.data(link, 9, other.port, bytes(4096))
            sent += 1
            expect(sent < 1000, "all is taken")
        peer.respond(link, number, bytes(8))
        time.sleep(2)
        same("notifications", [], sock.statuses(wait=False))
        for _ in range(sent):
            other.recv()
        same("how it ends", [(TOKEN, kernel.SUCCESS)], sock.statuses())
    finally:
        kernel.sysctl("net/rds/op_timeout_ms", old)
        kernel.sysctl("net/rds/rx_held_max", held)


@test("memory: outstanding requests are dropped with the connection, once")
def dropped(lab):
    peer, link, sock = meet(lab)
    mine = Memory(8)
    for end in ("reset", "fin", "invalid frame"):
        for number in range(DEPTH):
            bare(peer, sock, mine, READWRITE if number < 5 else 0,
                 token=number)
        # These wait, because the limit is reached.
        same("sending", 0, sock.rdma(peer.address, 78, b"later", PLACE, mine,
                                     TELLS, DEPTH))
        same("sending", 0, sock.send(peer.address, 79, b"behind"))
        for number in range(DEPTH):
            peer.expect_request(link, *(
                (wire.WRITE, PLACE[0], THERE, bytes(8)) if number < 5 else
                (wire.READ, PLACE[0], THERE, wire.length(8))))
            peer.skip(link)
        nothing_comes(peer, link)
        if end == "reset":
            link.reset()
        elif end == "fin":
            link.fin()
            expect(link.ended(5), "the kernel does not close after a FIN")
            link.close()
        else:
            peer.respond(link, peer.rx_next[0])
            expect(link.ended(5), "an invalid frame is accepted")
            link.close()
        found = []
        while len(found) < DEPTH:
            found += sock.statuses()
        same("how they end", [(number, kernel.DROPPED)
                              for number in range(DEPTH)], sorted(found))
        link = peer.dial()
        number = peer.expect_request(link, wire.WRITE, PLACE[0], THERE,
                                     bytes(8))
        same("the number of the one that waited", number,
             peer.message(link, PORT, 78, b"later").seq)
        peer.message(link, PORT, 79, b"behind")
        peer.respond(link, number)
        same("how it ends", [(DEPTH, kernel.SUCCESS)], sock.statuses())
        # A response by another connection matches no request.
        bare(peer, sock, mine)
        number = peer.expect_request(link, wire.READ, PLACE[0], THERE,
                                     wire.length(8))
        peer.skip(link)
        link.reset()
        same("how it ends", [(TOKEN, kernel.DROPPED)], sock.statuses())
        link = peer.dial()
        peer.respond(link, number, bytes(8))
        expect(link.ended(5), "a response to an earlier request is accepted")
        link.close()
        link = peer.dial()
        same("notifications", [], sock.statuses(wait=False))


@test("memory: messages around an operation that is lost are sent again")
def around(lab):
    peer, link, sock = meet(lab)
    mine = Memory(8)
    peer.ping(link)
    link.drop_segments()
    same("sending", 0, sock.send(peer.address, 77, b"before"))
    same("sending", 0, sock.rdma(peer.address, 78, b"with", PLACE, mine,
                                 TELLS, TOKEN))
    bare(peer, sock, mine, READWRITE, TOKEN + 1)
    same("sending", 0, sock.send(peer.address, 79, b"behind"))
    time.sleep(0.2)
    link.reset()
    found = []
    while len(found) < 2:
        found += sock.statuses()
    same("how they end", [(TOKEN, kernel.DROPPED),
                          (TOKEN + 1, kernel.DROPPED)], sorted(found))
    link = peer.dial()
    first = peer.message(link, PORT, 77, b"before")
    link.may_skip = True
    last = peer.message(link, PORT, 79, b"behind")
    same("numbers that are left out", 2, last.seq - first.seq - 1)
    same("flags", 2 * [wire.FLAG_RETRANSMITTED],
         [frame.flags & wire.FLAG_RETRANSMITTED for frame in (first, last)])
    nothing_comes(peer, link)
    same("notifications", [], sock.statuses(wait=False))


@test("memory: an operation is not repeated when its message is sent again")
def done_once(lab):
    peer, link, sock = meet(lab)
    mine = Memory(8)
    same("sending", 0, sock.rdma(peer.address, 78, b"text", PLACE, mine,
                                 token=TOKEN))
    number = peer.expect_request(link, wire.READ, PLACE[0], THERE,
                                 wire.length(8))
    link.drop_segments()
    peer.respond(link, number, b"12345678")
    same("how it ends", [(TOKEN, kernel.SUCCESS)], sock.statuses())
    time.sleep(0.2)
    link.reset()
    link = peer.dial()
    frame = peer.message(link, PORT, 78, b"text")
    same("its number", number, frame.seq)
    same("its flag", wire.FLAG_RETRANSMITTED,
         frame.flags & wire.FLAG_RETRANSMITTED)
    nothing_comes(peer, link)
    same("what was read", b"12345678", mine[:])
    same("notifications", [], sock.statuses(wait=False))


# Peers that do no operations

@test("memory: stock peers receive no request; the call gives EOPNOTSUPP")
def others(lab):
    for exts in (b"", LEGACY, MODERN, OURS):
        peer, link, sock = meet(lab, exts)
        mine = Memory(8)
        for flags in (NOTIFY_ME, TELLS, TELLS | SILENT):
            same("RDMA", errno.EOPNOTSUPP,
                 sock.rdma(peer.address, 78, b"", PLACE, mine, flags))
        for type_, values, _, _ in REQUESTED:
            same("atomic", errno.EOPNOTSUPP,
                 sock.atomic(peer.address, 78, b"", PLACE, mine, type_,
                             values))
        same("announcing memory", errno.EOPNOTSUPP,
             sock.offer(peer.address, 78, b"", mine))
        same("sending", 0, sock.send(peer.address, 79, b"next"))
        peer.message(link, PORT, 79, b"next")
        same("notifications", [], sock.statuses(wait=False))
        sock.close()


@test("memory: requests of stock peers are ignored")
def others_request(lab):
    for exts in (b"", LEGACY, MODERN, OURS):
        peer, link, sock = meet(lab, exts)
        memory = Memory(8)
        key, begin = sock.register(memory)
        for kind, payload in ((wire.WRITE, b"12345678"),
                              (wire.FADD, wire.operands(1)),
                              (wire.CSWP, wire.operands(1, 0, wire.ALL)),
                              (wire.READ, wire.length(8)),
                              (wire.READ, wire.length(0)),
                              (wire.RESPONSE, b"")):
            peer.request(link, kind, number_of(peer), key, begin, payload)
        peer.ping(link)
        same("memory", bytes(8), memory[:])
        # No message is dropped either.
        peer.request(link, wire.WRITE, number_of(peer), key, begin, bytes(9))
        peer.data(link, 9, PORT, b"text")
        same("a message", b"text", sock.recv()[0])
        nothing_comes(peer, link, 0.1)
        sock.close()


@test("memory: a peer that no longer does operations receives no request")
def no_longer(lab):
    peer, link, sock = meet(lab)
    mine = Memory(8)
    bare(peer, sock, mine)
    peer.expect_request(link, wire.READ, PLACE[0], THERE, wire.length(8))
    peer.skip(link)
    link.reset()
    same("how it ends", [(TOKEN, kernel.DROPPED)], sock.statuses())
    # The peer is not connected, and was one that does operations.
    bare(peer, sock, mine)
    peer.exts = OURS
    link = peer.dial()
    same("how it ends", [(TOKEN, kernel.OTHER_ERROR)], sock.statuses())
    peer.ping(link)
    within(2, "it is known", lambda: sock.rdma(
        peer.address, 78, b"", PLACE, mine, TELLS | SILENT) ==
        errno.EOPNOTSUPP)


@test("memory: a peer that sends no handshake receives no request")
def no_handshake(lab):
    need_ours("do no operations on memory over TCP")
    peer = lab.lower(b"")
    peer.replies_to_probes = False
    link = peer.connect()
    link.send(wire.cong_frame())
    sock = lab.socket(PORT)
    start = time.monotonic()
    bare(peer, sock, Memory(8))
    same("how it ends", [(TOKEN, kernel.OTHER_ERROR)], sock.statuses())
    took = time.monotonic() - start
    expect(1.5 < took < 6, f"that took {took:.1f} s")
    nothing_comes(peer, link)


@test("memory: requests before the handshake of a connection are ignored")
def before_handshake(lab):
    peer, link, sock = meet(lab)
    memory = Memory(8)
    where = sock.register(memory)
    link.reset()
    link = peer.connect()
    link.send(wire.cong_frame())
    peer.request(link, wire.WRITE, number_of(peer), *where, b"12345678")
    peer.handshake(link)
    peer.ping(link)
    same("memory", bytes(8), memory[:])
    write_works(peer, link, memory, where)


@test("memory: no page is kept pinned")
def unpinned(lab):
    peer, link, sock = meet(lab)
    # Pages of other tests are released later.
    within(5, "pages pinned by others", lambda: not kernel.pinned())
    memory, mine = Memory(10 * PAGE), Memory(3 * PAGE)
    where = sock.register(memory)
    same("pages pinned", 10, kernel.pinned())
    write_works(peer, link, memory, where)
    for number in range(DEPTH + 4):
        bare(peer, sock, mine, token=number)
    same("pages pinned", 10 + 3 * (DEPTH + 4), kernel.pinned())
    number = peer.expect_request(link, wire.READ, PLACE[0], THERE,
                                 wire.length(mine.size))
    peer.respond(link, number, bytes(mine.size))
    within(5, "one is unpinned",
           lambda: kernel.pinned() == 10 + 3 * (DEPTH + 3))
    peer.request(link, wire.WRITE, 1, where[0], where[1] + memory.size, b"x")
    link.reset()
    # The operations that were requested are dropped. Three were not requested.
    within(5, "those that are dropped are unpinned",
           lambda: kernel.pinned() == 10 + 3 * 3)
    sock.close()
    within(5, "all are unpinned", lambda: not kernel.pinned())
