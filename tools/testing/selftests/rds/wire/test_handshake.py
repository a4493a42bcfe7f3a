# SPDX-License-Identifier: GPL-2.0
"""Pings, and the handshake, which carries the number of paths, the generation
number and the features."""

import contextlib
import itertools
import time

import kernel
import wire
from lab import KERNEL, KERNEL6, LEGACY, MODERN, OURS
from peer import GENERATION
from tap import Skip, expect, same, test, within

PORT = 5000


def need_ours(why):
    if not kernel.is_ours():
        raise Skip(f"the kernel's own modules {why}")


@contextlib.contextmanager
def paths_for_others():
    """Offer more than one path to peers of other implementations as well."""
    if not kernel.is_ours():
        yield
        return
    kernel.sysctl("net/rds/tcp/legacy_multipath", 1)
    try:
        yield
    finally:
        kernel.sysctl("net/rds/tcp/legacy_multipath", 0)


def judge_exts(frame, paths):
    """Check that a handshake frame has exactly these extension headers; return
    the identity that it carries."""
    if not kernel.is_ours():
        same("extension headers", wire.npaths(8).ljust(16, b"\0"), frame.ext)
        return None
    told = wire.parse_ext(frame.ext)
    generation = int.from_bytes(told.get(wire.EXT_GEN_NUM, b""), "big")
    expect(generation, "no generation number")
    life = int.from_bytes(told.get(wire.EXT_FEATURES, b"")[1:], "big") >> 8
    same("extension headers",
         wire.npaths(paths) + wire.gen_num(generation) + wire.sport_idx() +
         wire.features(life, wire.STRICT | wire.MEMORY | wire.STREAMS),
         frame.ext)
    return generation, life


def serve(lab, peer, link, sock):
    """Exchange a ping and a message each way."""
    peer.ping(link)
    peer.data(link, 77, sock.port, b"in")
    same("a message", (b"in", peer.address, 77), sock.recv())
    same("sending", 0, sock.send(peer.address, 78, b"out"))
    peer.message(link, sock.port, 78, b"out")
    expect(peer.address in kernel.connections(), "the connection is listed")


@test("nothing is created before the first header of a connection is whole")
def first_header(lab):
    need_ours("make an RDS connection for each TCP connection")
    peer = lab.lower()
    frame = wire.cong_frame().encode()
    link = peer.connect()
    for start, end in ((0, 0), (0, 1), (1, 47)):
        link.write(frame[start:end])
        expect(link.silent(0.1), f"something was sent after {end} bytes")
        expect(peer.address not in kernel.connections(),
               f"there is a connection after {end} bytes")
    link.write(frame[47:48])
    expect(peer.handle(link, link.read_frame()), "no map comes first")
    same("congested ports", [set()], peer.maps)
    expect(peer.handle(link, link.read_frame()), "no probe comes second")
    judge_exts(peer.probes[0], 1)
    same("sequence of the first probe", 1, peer.probes[0].seq)
    link.write(frame[48:])
    peer.ping(link)


@test("map, probe and reply are exact, and offer one path to a stock peer")
def exact_legacy(lab):
    peer = lab.lower(wire.npaths(8) if kernel.is_ours() else LEGACY)
    link = peer.dial()
    peer.ping(link)
    told = [judge_exts(frame, 1)
            for frame in peer.probes + peer.replies]
    expect(peer.probes and peer.replies, "both a probe and a reply")
    same("identities", 1, len(set(told)))


def offered(frame):
    return int.from_bytes(wire.parse_ext(frame.ext)[wire.EXT_NPATHS], "big")


@test("eight paths are offered to a peer of ours, as soon as it is known")
def offers_paths(lab):
    need_ours("always offer eight")
    peer = lab.lower(OURS)
    link = peer.dial()
    peer.ping(link)
    judge_exts(peer.probes[0], 1)
    peer.probe(link)
    replies = len(peer.replies)
    peer.ping(link)
    same("replies to one more probe", replies + 1, len(peer.replies))
    judge_exts(peer.replies[-1], 8)


@test("if it is known by a reply only, another probe offers eight paths")
def offers_again(lab):
    need_ours("always offer eight")
    peer = lab.lower(OURS)
    link = peer.connect()
    link.send(wire.cong_frame())
    while len(peer.probes) < 2:
        expect(peer.handle(link, link.read_frame()), "something else comes")
    for frame, paths in zip(peer.probes, (1, 8)):
        judge_exts(frame, paths)
    peer.ping(link)
    same("probes", 2, len(peer.probes))


@test("the kernel replies to every combination of extension headers")
def ext_combinations(lab):
    known = (wire.npaths(1), wire.gen_num(7), wire.sport_idx(),
             wire.features(0))
    orders = [order for size in range(5)
              for order in itertools.permutations(known, size)]
    for order in orders if lab.full else orders[::3] + orders[-1:]:
        peer = lab.lower(b"".join(order))
        link = peer.dial()
        peer.ping(link)
        expect(peer.replies, f"no reply to {order}")


@test("the kernel replies to unknown, truncated and repeated headers")
def ext_odd(lab):
    odd = {
        "none": b"",
        "version": bytes([1, 0, 0, 0, 9]),
        "capability bits": bytes([7, 255, 255, 255, 255]),
        "unknown 9": bytes([9]) + wire.npaths(1),
        "unknown 14": bytes([14]) + MODERN,
        "type 16": bytes([16]) + wire.npaths(1),
        "type 200 behind": wire.npaths(1) + bytes([200, 1, 2, 3]),
        "type 255 everywhere": b"\xff" * 16,
        "npaths cut off": bytes(9) + b"\x09" * 5 + bytes([5, 0]),
        "npaths at the end": b"\x09" * 14 + bytes([5, 0]),
        "generation cut off": b"\x09" * 13 + bytes([6, 0, 0]),
        "features cut off": b"\x09" * 12 + bytes([15, 0, 0, 0]),
        "RDMA cut off": b"\x09" * 10 + bytes([3, 0, 0, 0, 0, 0]),
        "last byte is npaths": b"\x09" * 15 + bytes([5]),
        "npaths twice": wire.npaths(1) + wire.npaths(8),
        "generation twice": wire.gen_num(1) + wire.gen_num(2),
        "generation 0": wire.gen_num(0) + wire.npaths(1),
        "16 full bytes": OURS,
    }
    for name, exts in odd.items():
        peer = lab.lower(exts[:16])
        link = peer.connect()
        try:
            peer.handshake(link)
            peer.ping(link)
        except Exception as error:
            raise type(error)(f"{name}: {error}") from error


@test("extension headers on data are ignored")
def ext_on_data(lab):
    peer = lab.lower()
    link = peer.dial()
    sock = lab.socket(PORT)
    for exts in (MODERN, wire.npaths(8), b"\xff" * 16, b"\x0f" * 16,
                 bytes([2, 1, 2, 3, 4]), bytes([3, 1, 2, 3, 4, 5, 6, 7, 8])):
        peer.data(link, 9, PORT, exts, ext=exts)
        same("a message", exts, sock.recv()[0])
    expect(sock.silent(), "something more arrived")
    peer.ping(link)


@test("a reply without a probe, and a probe with a payload, do no harm")
def odd_handshake(lab):
    peer = lab.lower()
    link = peer.dial()
    for _ in range(3):
        peer.reply(link)
    peer.ping(link)
    replies = len(peer.replies)
    peer.data(link, wire.PORT_PROBE, wire.PORT_PING, b"payload",
              ext=peer.exts)
    # This reply and the pong come in any order.
    peer.await_reply(link, replies)
    peer.ping(link)
    same("replies", replies + 1, len(peer.replies))


@test("ping: with a payload, and many at once; without a source port")
def pings(lab):
    peer = lab.lower()
    link = peer.dial()
    peer.data(link, 0, 0)
    peer.data(link, 0, 0, b"payload")
    for size in (0, 1, 1000, 100000):
        peer.ping(link, payload=bytes(size))
    ports = [*range(2, 102), 65535, 0x8000]
    link.send(*(wire.Frame(port, 0, seq=peer.next_seq(0)) for port in ports))
    for port in ports:
        peer.pong(link, port)
    peer.ping(link)


@test("ping_enable 0: no pong to a ping, but a reply to a probe")
def ping_disabled(lab):
    peer = lab.lower()
    link = peer.dial()
    peer.ping(link)
    replies = len(peer.replies)
    kernel.sysctl("net/rds/ping_enable", 0)
    try:
        need_ours("reply to no probe then either")
        peer.data(link, 50, wire.PORT_PING)
        peer.probe(link)
        while len(peer.replies) == replies:
            same("the frame before the reply to the probe", True,
                 peer.handle(link, link.read_frame()))
    finally:
        kernel.sysctl("net/rds/ping_enable", 1)
    peer.ping(link, 51)


@test("a lower peer dials: served both ways")
def lower_dials(lab):
    for exts in (b"", LEGACY, MODERN, OURS):
        peer = lab.lower(exts)
        link = peer.dial()
        sock = lab.socket(PORT)
        serve(lab, peer, link, sock)
        sock.close()


@test("a lower peer sends map, probe and message before it is accepted")
def sends_all_at_once(lab):
    for exts in (LEGACY, MODERN, OURS):
        peer = lab.lower(exts)
        sock = lab.socket(PORT)
        link = peer.connect(data_first=True)
        link.send(wire.cong_frame(),
                  wire.Frame(wire.PORT_PROBE, wire.PORT_PING,
                             seq=peer.handshake_seq(0), ext=exts),
                  wire.Frame(77, PORT, b"in", peer.next_seq(0)))
        same("a message", (b"in", peer.address, 77), sock.recv())
        peer.await_reply(link, 0)
        sock.close()


@test("a higher peer is dialed: served both ways")
def higher_dialed(lab):
    for exts in (LEGACY, MODERN, OURS):
        peer = lab.higher(exts)
        peer.listen()
        sock = lab.socket(PORT)
        same("sending", 0, sock.send(peer.address, 78, b"first"))
        link = peer.accept()
        if kernel.is_ours():
            same("path in the source port", 0, link.remote_port % 8)
        peer.handshake(link)
        peer.message(link, PORT, 78, b"first")
        serve(lab, peer, link, sock)
        sock.close()


@test("IPv6: lower and higher peers are served")
def ipv6(lab):
    for peer in (lab.lower6(), lab.lower6(OURS)):
        link = peer.dial()
        sock = lab.socket(PORT, KERNEL6)
        peer.ping(link)
        peer.data(link, 77, PORT, b"in")
        same("a message", (b"in", peer.address, 77), sock.recv())
        expect(peer.address in kernel.connections(), "it is listed")
        sock.close()
    for peer in (lab.higher6(), lab.higher6(OURS)):
        peer.listen()
        sock = lab.socket(PORT, KERNEL6)
        same("sending", 0, sock.send(peer.address, 78, b"out"))
        link = peer.be_dialed()
        peer.message(link, PORT, 78, b"out")
        sock.close()


@test("npaths 0, 1, 3, 8, 65535 from a peer to dial: 1, 1, 2, 8, 8 paths")
@paths_for_others()
def npaths_dialed(lab):
    need_ours("dial a path for each of any number")
    sock = lab.socket(PORT)
    for told, wanted in ((0, 1), (1, 1), (3, 2), (8, 8), (65535, 8)):
        exts = wire.npaths(told) + wire.gen_num(GENERATION) + wire.sport_idx()
        peer = lab.higher(exts, paths=8)
        peer.listen()
        same("sending", 0, sock.send(peer.address, 78, b"out"))
        first = peer.be_dialed()
        peer.message(first, PORT, 78, b"out")
        paths = {first.path}
        end = time.monotonic() + 5
        while len(paths) < wanted and time.monotonic() < end:
            peer.ping(first)
            link = peer.accept()
            paths.add(link.path)
            link.send(wire.cong_frame())
            expect(peer.handle(link, link.read_frame()),
                   f"path {link.path} does not begin with a map")
        same(f"paths for npaths {told}", set(range(wanted)), paths)
        peer.ping(first)
        expect(no_more(peer), f"npaths {told}: more than {wanted} paths")


@test("npaths 0, 1, 3, 8, 65535 from a peer that dials: all are served")
@paths_for_others()
def npaths_dialing(lab):
    need_ours("send on paths that are not there")
    sock = lab.socket(PORT)
    for told, paths in ((0, 1), (1, 1), (3, 2), (8, 8), (65535, 8)):
        exts = wire.npaths(told) + wire.gen_num(GENERATION) + wire.sport_idx()
        peer = lab.lower(exts, paths=8)
        link = peer.dial()
        for path in range(paths):
            if path:
                link = peer.connect(path)
                link.send(wire.cong_frame())
            peer.data(link, 77, PORT, b"%d" % path)
            same(f"npaths {told}", (b"%d" % path, peer.address, 77),
                 sock.recv())


def no_more(peer):
    """Check that the kernel makes no connection for a while."""
    peer.listener.settimeout(0.3)
    try:
        peer.listener.accept()[0].close()
    except TimeoutError:
        return True
    return False


@test("a stock peer with 8 paths gets one, whatever it announces")
def legacy_one_path(lab):
    need_ours("use as many as the peer announces")
    sock = lab.socket(PORT)
    names = wire.npaths(8) + wire.gen_num(GENERATION) + wire.sport_idx()
    for exts in (wire.npaths(8), names):
        peer = lab.higher(exts)
        peer.listen()
        same("sending", 0, sock.send(peer.address, 78, b"out"))
        link = peer.be_dialed()
        peer.message(link, PORT, 78, b"out")
        peer.probe(link)
        peer.ping(link)
        expect(no_more(peer), "there is a second path")
        same("paths offered", {1},
             set(map(offered, peer.probes + peer.replies)))


@test("knock: a lower peer is knocked at, dials, and gets what waits")
def knocked_at(lab):
    peer = lab.lower()
    peer.listen()
    sock = lab.socket(PORT)
    same("sending", 0, sock.send(peer.address, 78, b"waits"))
    knock = peer.accept()
    expect(knock.ended(), "the kernel keeps its knock open")
    knock.reset()
    link = peer.dial()
    peer.message(link, PORT, 78, b"waits")
    serve(lab, peer, link, sock)


@test("knock: a higher peer's is reset, and the peer is dialed")
def knocks(lab):
    peer = lab.higher()
    peer.listen()
    how = peer.knock()
    expect(how == "reset" or how and not kernel.is_ours(),
           f"how the knock ends: {how}")
    link = peer.be_dialed()
    peer.ping(link)
    sock = lab.socket(PORT)
    serve(lab, peer, link, sock)


@test("to a peer of ours, the handshake is unnumbered and precedes data")
def ours_waits(lab):
    need_ours("have no such rule")
    sock = lab.socket(PORT)
    peer = lab.higher(OURS)
    peer.listen()
    same("sending", 0, sock.send(peer.address, 78, b"first"))
    link = peer.be_dialed()
    peer.message(link, PORT, 78, b"first")
    peer.ping(link)
    same("sending", 0, sock.send(peer.address, 78, b"second"))
    peer.message(link, PORT, 78, b"second")
    link.drop_segments()
    same("sending", 0, sock.send(peer.address, 78, b"third"))
    for _ in range(5):
        link.reset()
        start = time.monotonic()
        link = peer.accept()
        expect(peer.handle(link, link.read_frame()), "no map comes first")
        probe = link.read_frame()
        expect(probe.is_probe(), f"no probe comes second but {probe}")
        same("sequence of the probe", 0, probe.seq)
        judge_exts(probe, 8)
        quiet = link.silent(0.3)
        # The kernel waits at most 2 s. If this test was that slow, repeat it.
        if time.monotonic() - start < 1.5:
            break
    if not quiet:
        frame = link.read_frame()
        expect(frame.is_map() or frame.is_probe(),
               f"before our handshake comes {frame}")
    peer.handshake(link)
    peer.message(link, PORT, 78, b"third")


@test("the kernel keeps its identity, until it has forgotten the peer")
def identity(lab):
    need_ours("have no identity")
    seen = set()
    sock = lab.socket(PORT)
    for _ in range(3):
        peer = lab.lower(MODERN)
        for visit in range(3):
            link = peer.dial()
            if visit:
                # From here on the kernel has to remember the peer.
                peer.data(link, 9, PORT, b"remember")
                same("a message", b"remember", sock.recv()[0])
            link.reset()
            if not visit:
                within(5, "it is forgotten", lambda: peer.address
                       not in kernel.connections())
                seen |= identities_of(peer)
        mine = identities_of(peer)
        same("identities for one peer", 1, len(mine))
        seen |= mine
    same("identities for six", 6, len(seen))
    same("generations", 1, len({generation for generation, _ in seen}))


def identities_of(peer):
    """Return the identities received since the last call."""
    frames = peer.probes + peer.replies
    peer.probes.clear()
    peer.replies.clear()
    peer.rx_next.clear()
    peer.tx_seq.clear()
    return {judge_exts(frame, frame.ext[2]) for frame in frames}


@test("a message to a port without a socket is dropped")
def no_socket(lab):
    peer = lab.lower()
    link = peer.dial()
    before = kernel.counters()["recv_drop_no_sock"]
    for port in (PORT + 1, 65535):
        peer.data(link, 9, port, b"no socket")
    peer.ping(link)
    same("recv_drop_no_sock", before + 2,
         kernel.counters()["recv_drop_no_sock"])
    same("where the kernel listens", KERNEL, lab.kernel_of(peer.address))
