# SPDX-License-Identifier: GPL-2.0
"""Streams with a peer that has several paths: on which path their frames are,
paths that are lost, and peers that use the wrong one."""

import errno
import itertools
import time

import kernel
import wire
from lab import STREAMS
from peer import GENERATION
from tap import Failure, expect, same, say, test
from test_handshake import need_ours
from test_paths import AGAIN, readable
from test_streams import (BUFFER, COST, ENDS, PORT, THEIRS, UNACCEPTED, End,
                          Op, asking, identifiers, is_reset, listen, none_left,
                          restarted, works)
from wire import NO_MORE

TWO = STREAMS.replace(wire.npaths(1), wire.npaths(2))
EIGHT = STREAMS.replace(wire.npaths(1), wire.npaths(wire.PATHS))
PATHS = range(wire.PATHS)


def next_of(peer, links):
    """Return (one of LINKS, the next frame, which comes on it)."""
    while True:
        found = [link for link in links if link.early] or readable(links)
        if not found:
            raise Failure("nothing comes on any path")
        if found[0].early:
            return found[0], found[0].early.pop(0)
        frame = found[0].read_frame()
        if not peer.handle(found[0], frame):
            return found[0], frame


class Ways:
    """A peer with eight paths, and a listener of the kernel. PORTS has, for
    each path, a port of the peer whose frames to and from the listener take
    it."""

    def __init__(self, lab):
        need_ours("have no streams")
        self.lab = lab
        self.peer = lab.lower(EIGHT, paths=wire.PATHS)
        self.links = [self.peer.dial(path) for path in PATHS]
        self.listener = listen(lab, 64)
        self.ports = {}
        for port in itertools.count(THEIRS):
            self.ports.setdefault(self.way(port).path, port)
            if len(self.ports) == wire.PATHS:
                break

    def next_frame(self):
        return next_of(self.peer, self.links)

    def way(self, port, kernel_port=PORT, asked_on=0):
        """Return the link of the path between two ports: the kernel answers a
        frame without a stream on it."""
        end = End(self.peer, self.links[asked_on], next(identifiers), port,
                  kernel_port)
        end.send(Op.CREDIT_REQUEST)
        link, frame = self.next_frame()
        link.early.append(frame)
        end.link = link
        end.expect(Op.RST)
        return link

    def serve(self, path, asked_on=None):
        """Open a stream on a path, for which the peer asks on the same one or
        on another. Return (the peer's end, the kernel's socket)."""
        end = End(self.peer, self.links[path], next(identifiers),
                  self.ports[path])
        other = End(self.peer, self.links[path if asked_on is None
                                          else asked_on], end.ident, end.port)
        other.send(Op.REQUEST)
        end.expect(Op.RESPONSE, credit=UNACCEPTED)
        sock = self.lab.keep(self.listener.accept())
        end.expect(Op.CREDIT_UPDATE)
        return end, sock

    def quiet(self):
        """Check that the kernel has nothing to say on any path."""
        for link in self.links:
            self.peer.ping(link)

    def dial_again(self, path, streams):
        """Dial a path again; its streams go on on the new connection."""
        link = self.links[path] = self.peer.dial(path)
        for end, _ in streams:
            if end.link.path == path:
                end.link = link


def aside(end, link):
    """Return the same end of a stream, on another path."""
    return End(end.peer, link, end.ident, end.port, end.kernel_port,
               end.server)


@test("stream paths: ports choose the path, the same in both directions")
def both_ways(lab):
    ways = Ways(lab)
    for asked_on in (0, 5):
        for path in PATHS:
            same("the path of an answer", path,
                 ways.way(ways.ports[path], asked_on=asked_on).path)
    streams = [ways.serve(path) for path in PATHS]
    for end, sock in streams:
        works(end, sock)
    for end, sock in streams[::-1]:
        sock.close()
        end.expect(Op.SHUTDOWN, flags=ENDS, consumed=COST + 5)
    ways.quiet()


@test("stream paths: a client's frames take the path of its ports")
def client(lab):
    ways = Ways(lab)
    used = set()
    for _ in range(16):
        sock = asking(lab, ways.peer)
        link, frame = ways.next_frame()
        link.early.append(frame)
        used.add(link.path)
        end = End(ways.peer, link, wire.parse_stream(frame.ext)[3],
                  kernel_port=sock.port(), server=True)
        end.expect(Op.REQUEST)
        same("the path of its ports", link.path,
             ways.way(THEIRS, sock.port()).path)
        end.send(Op.RESPONSE)
        same("connecting", 0, sock.connected())
        works(end, sock)
        drop_quietly(ways, end, sock)
    expect(len(used) > 1, f"paths used: {used}")
    say(f"paths used: {sorted(used)}")


def drop_quietly(ways, end, sock):
    sock.reset()
    end.expect(Op.RST)
    ways.quiet()


def await_probe(peer, link, probes):
    """Wait for one more than PROBES probes; keep other frames."""
    while len(peer.probes) == probes:
        frame = link.read_frame()
        if not peer.handle(link, frame):
            link.early.append(frame)


@test("stream paths: the kernel dials them, and one that is lost again")
def dialed(lab):
    need_ours("have no streams")
    # Two: a peer that is slow to take eight would be found silent.
    peer = lab.higher(TWO, paths=wire.PATHS)
    peer.listen()
    socks = {}
    for _ in range(12):
        sock = asking(lab, peer)
        socks[sock.port()] = sock
    links = [peer.be_dialed() for _ in range(2)]
    same("paths", [0, 1], [link.path for link in links])
    ends = []
    for _ in range(len(socks)):
        link, frame = next_of(peer, links)
        same("op", Op.REQUEST, wire.parse_stream(frame.ext)[0])
        end = End(peer, link, wire.parse_stream(frame.ext)[3],
                  kernel_port=frame.sport, server=True)
        end.send(Op.RESPONSE)
        same("connecting", 0, socks[frame.sport].connected())
        ends.append(end)
    same("paths used", {0, 1}, {end.link.path for end in ends})
    for end in ends:
        works(end, socks[end.kernel_port])
    # The kernel dials it again when path 0 has shown that the peer is there.
    first, lost = links
    probes = len(peer.probes)
    lost.reset()
    for end in ends:
        same("bytes sent", 5, socks[end.kernel_port].send(b"later"))
    await_probe(peer, first, probes)
    again = peer.be_dialed()
    same("the path that is dialed", lost.path, again.path)
    for end in ends:
        if end.link is lost:
            end.link = again
        end.expect(Op.RW, b"later", consumed=COST + 5)
    for end in ends:
        works(end, socks[end.kernel_port], 2 * COST + 9, COST + 5)


@test("stream paths: much on all paths at once, every byte")
def much(lab):
    ways = Ways(lab)
    streams = [ways.serve(path) for path in PATHS]
    size = 60000
    texts = [bytes((path + 8 * number) % 251 for number in range(251)) *
             (size // 251 + 1) for path in PATHS]
    texts = [data[:size] for data in texts]
    for end, sock in streams:
        same("bytes sent", size, sock.send(texts[end.link.path]))
    for start in range(0, size, 6000):
        for end, _ in streams:
            end.send(Op.RW, texts[end.link.path][start:start + 6000])
    got = {end.port: b"" for end, _ in streams}
    paths = {end.port: end.link.path for end, _ in streams}
    while min(map(len, got.values())) < size:
        link, frame = ways.next_frame()
        same("the path of a frame", paths[frame.dport], link.path)
        if wire.parse_stream(frame.ext)[0] == Op.RW:
            got[frame.dport] += frame.payload
    for end, sock in streams:
        wanted = texts[end.link.path]
        same("bytes from the kernel", wanted, got[end.port])
        same("bytes to the kernel", wanted, sock.recv_all(size))


# A path that is lost

@test("stream paths: one is lost and dialed again, the others go on")
def one_lost(lab):
    ways = Ways(lab)
    streams = [ways.serve(path) for path in PATHS]
    # By path: the credit that works() has spent and consumed so far
    credits = [(0, 0) for path in PATHS]
    for lost in (3, 0):
        link = ways.links[lost]
        end, sock = streams[lost]
        sent, received = credits[lost]
        # This is sent again, and what the peer sends again is no news.
        link.drop_segments()
        same("bytes sent", 9, sock.send(b"once more"))
        end.send(Op.RW, b"told once", consumed=sent)
        told = ways.peer.tx_seq[lost] - 1
        same("received", b"told once", sock.recv())
        time.sleep(0.2)
        link.reset()
        time.sleep(0.1)
        for path, (other, other_sock) in enumerate(streams):
            if path != lost:
                spent, consumed = credits[path]
                works(other, other_sock, spent, consumed)
                credits[path] = spent + COST + 4, consumed + COST + 5
        same("bytes sent", 5, sock.send(b"later"))
        ways.dial_again(lost, streams)
        ways.links[lost].may_skip = False
        end.expect(Op.RW, b"once more", consumed=received)
        end.expect(Op.RW, b"later", consumed=received + COST + 9)
        ways.peer.data(end.link, end.port, PORT, b"told once", seq=told,
                       flags=AGAIN, ext=wire.stream(Op.RW, 0, end.ident, 0,
                                                    BUFFER))
        end.send(Op.RW, b"as well", consumed=sent + 2 * COST + 14)
        same("received", b"as well", sock.recv())
        same("nothing is acknowledged twice", [], ways.peer.repeated)
        drop_quietly(ways, end, sock)
        streams[lost] = ways.serve(lost)
        credits[lost] = 0, 0
    for end, sock in streams:
        drop_quietly(ways, end, sock)


@test("stream paths: all are lost and dialed in another order")
def all_lost(lab):
    ways = Ways(lab)
    streams = [ways.serve(path) for path in PATHS]
    for end, sock in streams:
        works(end, sock)
    for link in ways.links:
        link.reset()
    time.sleep(0.1)
    for end, sock in streams:
        data = b"for path %d" % end.link.path
        same("bytes sent", len(data), sock.send(data))
    for path in (6, 2, 7, 0, 5, 1, 3, 4):
        ways.dial_again(path, streams)
    for end, sock in streams:
        end.expect(Op.RW, b"for path %d" % end.link.path, consumed=COST + 5)
        end.send(Op.RW, b"from path %d" % end.link.path,
                 consumed=2 * COST + 14)
        same("received", b"from path %d" % end.link.path, sock.recv())
    ways.quiet()


@test("stream paths: a peer that restarts has no stream on any of them")
def restarts(lab):
    ways = Ways(lab)
    streams = [ways.serve(path) for path in PATHS]
    for end, sock in streams:
        works(end, sock)
        end.link.drop_segments()
        same("bytes sent", 3, sock.send(b"old"))
    time.sleep(0.1)
    for link in ways.links:
        link.reset()
    restarted(ways.peer, 2)
    ways.peer.exts = EIGHT.replace(wire.gen_num(GENERATION), wire.gen_num(2))
    ways.peer.tags.clear()
    ways.links = [ways.peer.dial()]
    for _, sock in streams:
        same("receiving", errno.ECONNRESET, sock.recv())
        same("sending", -errno.EPIPE, sock.send(b"x"))
    ways.links += [ways.peer.dial(path) for path in PATHS if path]
    # Nothing of the old streams comes, and new ones take the same paths.
    ways.quiet()
    for path in PATHS:
        end, sock = ways.serve(path)
        works(end, sock)
        drop_quietly(ways, end, sock)


# The number of paths grows

def streams_on_one(lab, number):
    """Return (a peer that uses one path, its connection, streams on it)."""
    need_ours("have no streams")
    peer = lab.lower(STREAMS, paths=wire.PATHS)
    link = peer.dial()
    listener = listen(lab, 64)
    streams = []
    for port in range(THEIRS, THEIRS + number):
        end = End(peer, link, next(identifiers), port)
        end.send(Op.REQUEST)
        end.expect(Op.RESPONSE, credit=UNACCEPTED)
        streams.append((end, lab.keep(listener.accept())))
        end.expect(Op.CREDIT_UPDATE)
    return peer, link, streams


def grow(peer, link):
    """Have the peer announce more paths, and dial them. It does not reply to
    the probe of the barrier."""
    peer.replies_to_probes = False
    peer.exts = EIGHT
    replies = len(peer.replies)
    peer.probe(link)
    peer.await_reply(link, replies)
    return [link] + [peer.dial(path) for path in PATHS if path]


def arrived(peer, links, seconds=0.5):
    """Return (path, port, op, payload) of all frames that come until there has
    been none for this time."""
    found = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for link in links:
            frames = link.early
            link.early = []
            while not link.silent(0.01):
                frame = link.read_frame()
                end = time.monotonic() + seconds
                if not peer.handle(link, frame):
                    frames.append(frame)
            found += [(link.path, frame.dport,
                       Op(wire.parse_stream(frame.ext)[0]), frame.payload)
                      for frame in frames]
    return found


@test("stream paths: streams move to other paths behind the barrier only")
def barrier(lab):
    peer, link, streams = streams_on_one(lab, 12)
    for end, sock in streams:
        same("bytes sent", 6, sock.send(b"before"))
    links = grow(peer, link)
    for end, sock in streams:
        same("bytes sent", 6, sock.send(b"behind"))
    early = arrived(peer, links)
    expect(peer.tags[0], "there is no barrier")
    same("paths before the reply", {0}, {path for path, *_ in early})
    peer.replies_to_probes = True
    peer.reply(link)
    all_ = early + arrived(peer, links)
    for end, sock in streams:
        same("bytes of a stream", [b"before", b"behind"],
             [data for _, port, _, data in all_ if port == end.port])
        same("bytes sent", 4, sock.send(b"more"))
    late = arrived(peer, links)
    used = {port: path for path, port, *_ in all_}
    same("paths later", used, {port: path for path, port, *_ in late})
    expect(len(set(used.values())) > 2, f"paths used: {used}")
    # The peer may still be where it was.
    for end, sock in streams:
        end.send(Op.RW, b"answer", consumed=3 * COST + 16)
        same("received", b"answer", sock.recv())


@test("stream paths: streams end while a barrier is pending")
def end_at_barrier(lab):
    peer, link, streams = streams_on_one(lab, 12)
    links = grow(peer, link)
    for number, (end, sock) in enumerate(streams):
        same("bytes sent", 4, sock.send(b"last"))
        if number % 2:
            sock.close()
        else:
            sock.reset()
    time.sleep(0.1)
    peer.replies_to_probes = True
    peer.reply(link)
    found = arrived(peer, links)
    for number, (end, _) in enumerate(streams):
        said = [(op, data) for _, port, op, data in found
                if port == end.port]
        if number % 2:
            same("a stream that was closed",
                 [(Op.RW, b"last"), (Op.SHUTDOWN, b"")], said)
        else:
            same("how a stream that was reset ends", (Op.RST, b""), said[-1])
    lab.end_streams()
    none_left()


# Peers that use the wrong path

@test("stream paths: frames on another path than their own are taken")
def wrong_path(lab):
    ways = Ways(lab)
    for path, other in ((2, 6), (0, 1), (7, 0)):
        end, sock = ways.serve(path, asked_on=other)
        wrong = aside(end, ways.links[other])
        wrong.send(Op.RW, b"wrong")
        wrong.quiet()
        end.send(Op.RW, b"right")
        end.quiet()
        same("received", b"wrongright", sock.recv_all(10))
        # The kernel speaks on the right one.
        wrong.send(Op.CREDIT_REQUEST)
        end.expect(Op.CREDIT_UPDATE, consumed=2 * COST + 10)
        wrong.send(Op.REQUEST)
        end.expect(Op.RESPONSE, consumed=2 * COST + 10)
        same("bytes sent", 4, sock.send(b"text"))
        end.expect(Op.RW, b"text", consumed=2 * COST + 10)
        wrong.send(Op.SHUTDOWN, flags=NO_MORE, consumed=COST + 4)
        wrong.quiet()
        same("the end", b"", sock.recv())
        end.send(Op.RW, b"behind the end", consumed=COST + 4)
        end.expect(Op.RST)
        ways.quiet()


@test("stream paths: RESPONSE, BUSY and RST on another path")
def wrong_answers(lab):
    ways = Ways(lab)
    for op in (Op.RESPONSE, Op.BUSY, Op.RST):
        sock = asking(lab, ways.peer)
        link, frame = ways.next_frame()
        end = End(ways.peer, link, wire.parse_stream(frame.ext)[3],
                  kernel_port=sock.port(), server=True)
        wrong = aside(end, ways.links[(link.path + 3) % wire.PATHS])
        wrong.send(op, reason=wire.NO_LISTENER if op == Op.RST else 0)
        if op == Op.RST:
            same("connecting", errno.ECONNREFUSED, sock.connected())
            same("why", kernel.NO_LISTENER, sock.refused())
            ways.quiet()
            continue
        if op == Op.BUSY:
            end.expect(Op.REQUEST)
            end.send(Op.RESPONSE)
        same("connecting", 0, sock.connected())
        works(end, sock)
        wrong.send(Op.RST)
        same("receiving", errno.ECONNRESET, sock.recv())
        ways.quiet()


@test("stream paths: bytes of one stream on all of them at once")
def mixed(lab):
    ways = Ways(lab)
    end, sock = ways.serve(4)
    ends = [aside(end, link) for link in ways.links]
    size, count = 1000, 80
    for number in range(count):
        for other in ends:
            other.send(Op.RW, bytes([other.link.path, number]) * (size // 2))
    got = sock.recv_all(size * count * wire.PATHS)
    same("bytes received", size * count * wire.PATHS, len(got))
    seen = {path: 0 for path in PATHS}
    for at in range(0, len(got), size):
        path, number = got[at:at + 2]
        same("a frame", bytes([path, number]) * (size // 2),
             got[at:at + size])
        same(f"the next one of path {path}", seen[path], number)
        seen[path] += 1
    sock.reset()
    arrived(ways.peer, ways.links)
    # The limit of credit is one for all of them.
    end, sock = ways.serve(5)
    ends = [aside(end, link) for link in ways.links]
    for other in ends:
        other.send(Op.RW, bytes(BUFFER // wire.PATHS - COST))
        other.quiet()
    ends[0].send(Op.RW, b"x")
    is_reset(end, sock, bytes(BUFFER - wire.PATHS * COST))


@test("stream paths: REQUESTs between the same ports on all of them at once")
def many_requests(lab):
    ways = Ways(lab)
    asked = []
    for _ in range(6):
        for link in ways.links:
            end = End(ways.peer, link, next(identifiers), ways.ports[1])
            end.send(Op.REQUEST)
            asked.append(end)
    # A stream that is replaced may not have been answered yet.
    found = arrived(ways.peer, ways.links)
    same("the path of all answers", {1}, {path for path, *_ in found})
    expect({op for _, _, op, _ in found} <= {Op.RESPONSE, Op.BUSY}, found)
    # Each has replaced the one before it.
    alive = []
    while not ways.listener.silent():
        sock = lab.keep(ways.listener.accept())
        if sock.silent():
            alive.append(sock)
    same("streams that are left", 1, len(alive))
    frame = ways.peer.next_frame(ways.links[1])
    end = End(ways.peer, ways.links[1], wire.parse_stream(frame.ext)[3],
              ways.ports[1])
    expect(end.ident in {other.ident for other in asked}, "it was asked for")
    works(end, alive[0])
