# SPDX-License-Identifier: GPL-2.0
"""Streams: direct placement, byte by byte, and peers that break its rules."""

import errno

import wire
from kernel import Memory
from tap import expect, same, test
from test_streams import (COST, ENDS, THEIRS, UNACCEPTED, End, Op, identifiers,
                          is_reset, listen, meet)

SIZE = 8192
LIMIT = 1 << 30		# bytes of a mapping
MOST = 128		# mappings


def serve(lab, peer, link, kernel_may=4, peer_may=4):
    """As that of test_streams, but with mappings: return (the peer's end, the
    kernel's socket)."""
    listener = listen(lab)
    listener.allow_mappings(peer_may)
    end = End(peer, link, next(identifiers), THEIRS)
    end.send(Op.REQUEST, reason=kernel_may)
    end.expect(Op.RESPONSE, credit=UNACCEPTED, reason=peer_may)
    sock = lab.keep(listener.accept())
    listener.close()
    end.expect(Op.CREDIT_UPDATE)
    return end, sock


def maps(end, sock, memory, key, offset=0):
    same("the offset", offset, sock.map(memory, offset))
    end.expect(Op.MAP, wire.mapping(offset, memory.size, key))


def put(end, key, place, data):
    """Have the peer send a PUT, in which these two are where credit is."""
    end.send(Op.PUT, data, consumed=place, credit=key)


@test("placement: every frame of a receiver")
def receives(lab):
    peer, link = meet(lab)
    end, sock = serve(lab, peer, link)
    memory, other = Memory(SIZE), Memory(SIZE)
    maps(end, sock, memory, 1, 1 << 40)
    maps(end, sock, other, 2)
    put(end, 1, 0, b"first")
    put(end, 1, SIZE - 4, b"last")
    put(end, 2, 77, b"other")
    end.send(Op.RW, b"done")
    same("what is received", b"done", sock.recv())
    same("memory", b"first" + bytes(SIZE - 9) + b"last", memory[:])
    same("other memory", b"other", other[77:82])
    expect(sock.silent(), "the user was told more")
    same("unmapping", 0, sock.unmap(memory))
    end.expect(Op.MAP, wire.mapping(0, 0, 1), consumed=COST + 4)
    same("unmapping again", -errno.EINVAL, sock.unmap(memory))


@test("placement: every frame of a writer")
def writes(lab):
    peer, link = meet(lab)
    end, sock = serve(lab, peer, link)
    same("before it is mapped", -errno.EINVAL, sock.put(b"x", 5000))
    end.send(Op.MAP, wire.mapping(5000, 100, 0xdecade))
    end.send(Op.MAP, wire.mapping((1 << 63) - 1, LIMIT, 0))
    end.quiet()
    same("written", 4, sock.put(b"text", 5096))
    end.expect(Op.PUT, b"text", consumed=96, credit=0xdecade)
    same("written", 1, sock.put(b"x", (1 << 63) + LIMIT - 2))
    end.expect(Op.PUT, b"x", consumed=LIMIT - 1, credit=0)
    same("beyond it", -errno.EINVAL, sock.put(b"text!", 5096))
    same("before it", -errno.EINVAL, sock.put(b"x", 4999))
    same("in the stream", 1, sock.send(b"y"))
    end.expect(Op.RW, b"y")
    end.send(Op.MAP, wire.mapping(0, 0, 0xdecade), consumed=COST + 1)
    end.quiet()
    same("when it is gone", -errno.EINVAL, sock.put(b"x", 5000))


@test("placement: bytes for a mapping that is gone, or never was, are dropped")
def stale(lab):
    peer, link = meet(lab)
    end, sock = serve(lab, peer, link)
    memory, other = Memory(SIZE), Memory(SIZE)
    maps(end, sock, memory, 1)
    sock.unmap(memory)
    end.expect(Op.MAP, wire.mapping(0, 0, 1))
    maps(end, sock, other, 2)
    put(end, 1, 0, b"stale")
    put(end, 0, 0, b"wrong")
    put(end, (1 << 32) - 1, 0, b"wrong")
    put(end, 2, 5, b"good")
    end.send(Op.RW, b"done")
    same("what is received", b"done", sock.recv())
    same("the old memory", bytes(SIZE), memory[:])
    same("the new memory", bytes(5) + b"good" + bytes(SIZE - 9), other[:])


@test("placement: a PUT beyond its mapping, empty or behind a SHUTDOWN")
def wrong_puts(lab):
    peer, link = meet(lab)
    for place, data, flags in ((SIZE, b"x", 0), (SIZE - 1, b"xy", 0),
                               ((1 << 32) - 1, b"xy", 0), (0, b"", 0),
                               (0, b"x", ENDS)):
        end, sock = serve(lab, peer, link)
        memory = Memory(SIZE)
        maps(end, sock, memory, 1)
        if flags:
            end.send(Op.SHUTDOWN, flags=flags)
            end.quiet()
        put(end, 1, place, data)
        end.expect(Op.RST)
        same("memory", bytes(SIZE), memory[:])
        lab.end_streams()


@test("placement: a MAP that breaks the rules ends the stream")
def wrong_maps(lab):
    peer, link = meet(lab)
    good = wire.mapping(0, 1, 7)
    for payloads in ((wire.mapping(0, 0, 7),),
                     (good, wire.mapping(5, 1, 7)),
                     (good, wire.mapping(0, 0, 8)),
                     (wire.mapping(0, LIMIT + 1, 7),),
                     (wire.mapping(1 << 63, 1, 7),),
                     (good[:15],), (good + b"x",), (b"",),
                     [wire.mapping(0, 1, key) for key in range(5)]):
        end, sock = serve(lab, peer, link)
        for payload in payloads[:-1]:
            end.send(Op.MAP, payload)
        end.quiet()
        end.send(Op.MAP, payloads[-1])
        is_reset(end, sock)
        lab.end_streams()


@test("placement: by default neither end may map")
def default(lab):
    peer, link = meet(lab)
    end, sock = serve(lab, peer, link, 0, 0)
    same("mapping", -errno.ENOMEM, sock.map(Memory(SIZE)))
    end.send(Op.MAP, wire.mapping(0, 1, 7))
    is_reset(end, sock)


@test("placement: no more mappings than there may be, whatever the peer allows")
def most(lab):
    peer, link = meet(lab)
    end, sock = serve(lab, peer, link, 255, MOST)
    memory = Memory(SIZE)
    for i in range(MOST):
        maps(end, sock, memory, i + 1, i * SIZE)
    same("one more", -errno.ENOMEM, sock.map(memory))
    for i in range(MOST):
        end.send(Op.MAP, wire.mapping(i, 1, i))
    end.quiet()
    same("written", 1, sock.put(b"x", MOST - 1))
    end.expect(Op.PUT, b"x", consumed=0, credit=MOST - 1)
    end.send(Op.MAP, wire.mapping(MOST, 1, MOST))
    is_reset(end, sock)


@test("placement: frames for a closed socket change nothing")
def closed(lab):
    peer, link = meet(lab)
    end, sock = serve(lab, peer, link)
    memory = Memory(SIZE)
    maps(end, sock, memory, 1)
    sock.send(b"x")
    end.expect(Op.RW, b"x")
    sock.close()
    end.expect(Op.SHUTDOWN, flags=ENDS)
    put(end, 1, 0, b"late")
    end.expect(Op.RST)
    same("memory", bytes(SIZE), memory[:])
