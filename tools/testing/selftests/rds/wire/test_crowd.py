# SPDX-License-Identifier: GPL-2.0
"""Many peers at once, and many in turn. Memory stays bounded, and later peers
that keep the rules are served."""

import ipaddress
import resource
import socket
import time

import kernel
import syn
import wire
from lab import KERNEL, LEGACY, MODERN, NOWHERE, OURS
from peer import Closed
from tap import Failure, expect, same, say, test, within
from test_handshake import need_ours

PORT = 5700

# A new peer is served within this time, whatever else happens.
PROMPT = 5


def newcomer(lab):
    """Let a new peer dial and be served; return how long that took."""
    start = time.monotonic()
    peer = lab.lower()
    link = peer.dial()
    sock = lab.socket(PORT + 99)
    peer.data(link, 9, sock.port, b"new here")
    same("a message", b"new here", sock.recv()[0])
    same("sending", 0, sock.send(peer.address, 78, b"welcome"))
    peer.message(link, sock.port, 78, b"welcome")
    sock.close()
    link.reset()
    lab.newcomers.add(peer.address)
    took = time.monotonic() - start
    expect(took < PROMPT, f"a new peer was served after {took:.1f} s")
    return took


def many_files():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def back_to(before, slack):
    """Wait, at most 20 s, until slab is at most SLACK kB above what it was."""
    end = time.monotonic() + 20
    while True:
        more = kernel.memory()[0] - before[0]
        if more <= slack:
            return more
        if time.monotonic() > end:
            raise Failure(f"slab has grown by {more} kB")
        time.sleep(1)


def nothing_stays_of(count, before):
    """Check that after COUNT visits no slab cache has half as many more
    objects than it had BEFORE, beside those of one slab. Some are freed later,
    within 20 s."""
    slab = kernel.objects_per_slab()
    end = time.monotonic() + 20
    while True:
        now = kernel.objects()
        more, name = max((number - before.get(name, 0) - slab.get(name, 0),
                          name) for name, number in now.items())
        if more < count // 2:
            say(f"{name}: {more} more than those of a slab")
            return
        if time.monotonic() > end:
            raise Failure(f"{more} objects more in {name}")
        time.sleep(1)


def netstat(name):
    """Return a counter of /proc/net/netstat."""
    with open("/proc/net/netstat", encoding="ascii") as file:
        lines = [line.split() for line in file]
    for names, values in zip(lines[::2], lines[1::2]):
        if name in names:
            return int(values[names.index(name)])
    raise Failure(f"no counter {name}")


@test("10,000 half-open connections: a new peer is served, nothing stays",
      timeout=120)
def half_open(lab):
    cookies = kernel.sysctl("net/ipv4/tcp_syncookies", 1)
    retries = kernel.sysctl("net/ipv4/tcp_synack_retries", 1)
    before = kernel.memory()
    sent = netstat("SyncookiesSent")
    mac = open("/sys/class/net/k0/address", encoding="ascii").read().strip()
    try:
        for _ in range(10):
            syn.flood(lab.away, "p0", mac, NOWHERE, KERNEL, 1000)
            newcomer(lab)
        cookies_sent = netstat("SyncookiesSent") - sent
        say(f"{cookies_sent} cookies")
        # A slow kernel forgets some before it has received the others.
        expect(kernel.finds_leaks() or cookies_sent > 5000,
               "the kernel was not flooded")
        nowhere = ipaddress.ip_network(f"{NOWHERE}/16")
        same("connections to the senders of the SYNs", [], [
            peer for peer in kernel.connections()
            if ipaddress.ip_address(peer) in nowhere])
        # Memory that KASAN holds back for a while is no leak.
        if not kernel.finds_leaks():
            back_to(before, 2048)
    finally:
        kernel.sysctl("net/ipv4/tcp_syncookies", cookies)
        kernel.sysctl("net/ipv4/tcp_synack_retries", retries)


@test("1,000 pending connections that stay silent: bounded, gone in seconds",
      timeout=120)
def idle_pending(lab):
    need_ours("make an RDS connection for each TCP connection")
    many_files()
    listed = set(kernel.connections())
    before = kernel.memory()
    for count in range(1000):
        link = lab.lower().connect()
        if count % 4 == 3:
            link.write(b"R" * (count % 47))
        if count % 100 == 50:
            newcomer(lab)
    say(f"pending connections: {pending()}")
    expect(pending() <= 300, f"{pending()} connections are pending")
    expect(kernel.memory()[0] - before[0] < 8192, "slab grows")
    newcomer(lab)
    within(15, "all of them are dropped", lambda: pending() == 0)
    same("connections made", set(),
         set(kernel.connections()) - listed - lab.newcomers)
    for peer in lab.peers:
        expect(all(link.sock.fileno() < 0 or link.ended(1)
                   for link in peer.links), "a connection stays open")


@test("unused connections that stay make room for others",
      timeout=300)
def idle_unused(lab):
    need_ours("keep all of them for ever")
    many_files()
    listed = set(kernel.connections())
    before = kernel.memory()
    most = 0
    count = 3000 if lab.full else 1200
    for number in range(count):
        peer = lab.lower(LEGACY)
        link = peer.connect()
        link.send(wire.Frame(9, 0, seq=1))
        try:
            peer.pong(link, 9)
        except Closed:
            pass	# there was no room, until later
        if number % 200 == 150:
            newcomer(lab)
        if number % 100 == 50:
            most = max(most, len(set(kernel.connections()) - listed))
    more = kernel.memory()[0] - before[0]
    say(f"at most {most} of {count} at a time, {more} kB of slab")
    expect(most <= 1100, f"{most} unused connections")
    newcomer(lab)
    for peer in lab.peers:
        peer.stop()
    within(10, "all are forgotten",
           lambda: not set(kernel.connections()) - listed - lab.newcomers)


def pending():
    """Return the number of TCP connections to the RDS port that have no RDS
    connection."""
    lines = kernel.run("ss", "-Htn", "state", "established", "sport", "=",
                       str(wire.TCP_PORT))
    there = [line.split()[3].rsplit(":", 1)[0].strip("[]").removeprefix(
        "::ffff:") for line in lines.splitlines()]
    listed = set(kernel.connections())
    return len([peer for peer in there if peer not in listed])


def one_visit(lab, exts=b""):
    """Send a ping and a message, and reset. Uses fewer objects than a Peer."""
    peer = lab.lower(exts)
    link = peer.connect()
    link.send(wire.Frame(9, 0, seq=1),
              wire.Frame(9, PORT + 1, b"for nobody", 2))
    peer.pong(link, 9)
    link.reset()
    lab.peers.remove(peer)


@test("thousands of addresses in turn: memory returns to where it was",
      timeout=1800)
def in_turn(lab):
    need_ours("keep an RDS connection for each TCP connection, for ever")
    count = 20000 if lab.full else 2000
    kernel.sysctl("net/ipv4/tcp_no_metrics_save", 1)
    listed = set(kernel.connections())
    for _ in range(200):
        one_visit(lab)
    within(10, "the first ones are forgotten",
           lambda: not set(kernel.connections()) - listed)
    before = kernel.objects()
    start = time.monotonic()
    for number in range(count):
        one_visit(lab)
        if number % 500 == 250:
            newcomer(lab)
    say(f"{count} in {time.monotonic() - start:.0f} s")
    within(10, "all are forgotten",
           lambda: not set(kernel.connections()) - listed - lab.newcomers)
    nothing_stays_of(count, before)


@test("connections that end before their first header is whole leave nothing",
      timeout=120)
def cut_short(lab):
    need_ours("keep an RDS connection for each TCP connection, for ever")
    count = 2000 if lab.full else 600
    peer = lab.lower()
    before = kernel.objects()
    for number in range(count):
        link = peer.connect()
        link.write(b"R" * (number % wire.HEADER_BYTES))
        link.reset()
        peer.links.clear()
    within(10, "all of them are dropped", lambda: pending() == 0)
    newcomer(lab)
    nothing_stays_of(count, before)


@test("knocks from addresses that do not reply are forgotten", timeout=120)
def knocks(lab):
    need_ours("dial them for ever")
    count = 1000 if lab.full else 600
    listed = set(kernel.connections())
    before = kernel.objects()
    for _ in range(count):
        peer = lab.higher()
        same("how a knock ends", "reset", peer.knock())
        lab.peers.remove(peer)
    newcomer(lab)
    within(30, "all are forgotten",
           lambda: not set(kernel.connections()) - listed - lab.newcomers)
    nothing_stays_of(count, before)


def ended_by(lab, peers):
    """Have each peer close its connection, and acknowledge nothing any
    more."""
    for peer in peers:
        peer.links[0].drop_segments()
    for peer in peers:
        peer.links[0].fin()


@test("hundreds close their connection and never acknowledge our FIN",
      timeout=600)
def used_without_acks(lab):
    many_files()
    sock = lab.socket(PORT)
    count = 1000
    peers = []
    for number in range(count):
        peer = lab.lower(LEGACY)
        link = peer.dial()
        peer.data(link, 9, PORT, b"used")
        sock.recv()
        peers.append(peer)
        if number % 200 == 100:
            newcomer(lab)
    ended_by(lab, peers)
    # Each of those present when its turn came has waited 2 s, once.
    for _ in range(3):
        say(f"served after {newcomer(lab):.1f} s")
    need_ours("keep them for ever")
    within(30, "all of them are gone", lambda: not
           {peer.address for peer in peers} & connected())
    same("the connections are remembered", set(),
         {peer.address for peer in peers} -
         set(kernel.connections()))


def connected():
    """Return the peers of TCP connections to the RDS port, in any state but
    TIME-WAIT."""
    lines = kernel.run("ss", "-Htan", "sport", "=", str(wire.TCP_PORT))
    return {line.split()[4].rsplit(":", 1)[0].strip("[]").removeprefix(
        "::ffff:") for line in lines.splitlines()
        if not line.startswith("TIME-WAIT")}


@test("hundreds of unused connections that never acknowledge: gone at once",
      timeout=300)
def unused_without_acks(lab):
    need_ours("keep them for ever")
    many_files()
    peers = []
    for _ in range(300):
        peer = lab.lower(LEGACY)
        link = peer.dial()
        peer.ping(link)
        peers.append(peer)
    ended_by(lab, peers)
    newcomer(lab)
    within(10, "all of them are gone", lambda: not
           {peer.address for peer in peers} & connected())


@test("slow writers: all of them are served, and so is a new peer")
def slow_writers(lab):
    sock = lab.socket(PORT)
    peers = [lab.lower((b"", LEGACY, MODERN, OURS)[number % 4])
             for number in range(20)]
    links = [peer.dial() for peer in peers]
    frames = [wire.Frame(9, PORT, peer.address.encode(), peer.next_seq(0)
                         ).encode() for peer in peers]
    for at in range(max(map(len, frames))):
        for link, frame in zip(links, frames):
            link.write(frame[at:at + 1])
        if at % 20 == 10:
            newcomer(lab)
    got = {sock.recv()[1] for _ in peers}
    same("peers received from", {peer.address for peer in peers}, got)


@test("1 MiB announced a hundred times, and not sent: no memory is allocated")
def announced(lab):
    before = kernel.memory()
    for count in range(100):
        peer = lab.lower()
        link = peer.connect()
        link.send(wire.Frame(9, PORT, b"x" * (count % 10), seq=1,
                             length=wire.MAX_MESSAGE))
    newcomer(lab)
    after = kernel.memory()
    say(f"{before[1] - after[1]} kB for 100 connections that wait")
    expect(before[1] - after[1] < 16384, "memory was allocated")


@test("1 MiB announced by hundreds at a time: all of them are served")
def announced_by_many(lab):
    need_ours("bound it by other means")
    many_files()
    sock = lab.socket(PORT, rcvbuf=64 << 20)
    peers = [lab.lower() for _ in range(300)]
    payload = bytes(wire.MAX_MESSAGE)
    for peer in peers:
        peer.dial()
    lost = kernel.counters()["conn_reset"]
    for peer in peers:
        peer.links[0].send(wire.Frame(9, PORT, b"x" * 100, peer.next_seq(0),
                                      length=wire.MAX_MESSAGE))
    for peer in (peers[0], peers[150], peers[299]):
        peer.links[0].write(payload[100:])
        same("length of a message", len(payload), len(sock.recv()[0]))
    same("connections lost", lost, kernel.counters()["conn_reset"])


@test("partial messages hold too much: only the slowest peers are dropped")
def slowest_goes(lab):
    need_ours("bound it by other means")
    many_files()
    sock = lab.socket(PORT, rcvbuf=64 << 20)
    old = kernel.sysctl("net/rds/tcp/partial_max_kb", 4096)
    before = kernel.counters()["tcp_partial_dropped"]
    try:
        slow = [lab.lower() for _ in range(40)]
        fast = lab.lower()
        link = fast.dial()
        for peer in slow:
            try:
                peer.dial().write(wire.Frame(
                    9, PORT, bytes(1 << 17), peer.next_seq(0),
                    length=wire.MAX_MESSAGE).encode())
            except Closed:
                pass	# it is one of those that are dropped
        for _ in range(20):
            frame = wire.Frame(9, PORT, bytes(wire.MAX_MESSAGE),
                               fast.next_seq(0)).encode()
            link.write(frame[:1 << 19])
            time.sleep(0.05)
            link.write(frame[1 << 19:])
            same("length of a message", wire.MAX_MESSAGE,
                 len(sock.recv()[0]))
        dropped = kernel.counters()["tcp_partial_dropped"] - before
        say(f"{dropped} of {len(slow)} were dropped")
        expect(dropped >= 8, "too much is held")
        expect(fast.address in connected(), "the fast one was dropped")
        within(20, "those dropped are reset", lambda: len(
            {peer.address for peer in slow} & connected()) <=
            len(slow) - dropped)
    finally:
        kernel.sysctl("net/rds/tcp/partial_max_kb", old)


@test("unread pongs and replies are bounded", timeout=240)
def unread_replies(lab):
    for port in (9, wire.PORT_PROBE):
        for exts in (LEGACY, OURS):
            unread(lab, port, exts)


def unread(lab, port, exts):
    before = kernel.memory()
    peer = lab.lower(exts)
    link = peer.dial(rcvbuf=4096)
    handshake = port == wire.PORT_PROBE and exts == OURS
    pings = b"".join(wire.Frame(port, 0, ext=exts, seq=0 if handshake else
                                peer.next_seq(0)).encode()
                     for _ in range(1000))
    sent = 0
    link.sock.settimeout(1)
    try:
        for _ in range(500 if lab.full else 60):
            link.sock.sendall(pings)
            sent += 1000
    except (TimeoutError, OSError) as error:
        say(f"stopped after {sent}: {error}")
    newcomer(lab)
    after = kernel.memory()
    say(f"{before[1] - after[1]} kB for {sent} unread replies to {port}")
    link.reset()
    if kernel.is_ours():
        expect(before[1] - after[1] < 32768, "unread replies are kept")


@test("a peer that reads no pong is dropped, unless a socket has used it",
      timeout=120)
def closed_window(lab):
    need_ours("keep them for ever")
    old = kernel.sysctl("net/rds/tcp/user_timeout_ms", 2000)
    try:
        sock = lab.socket(PORT)
        used, unused = lab.lower(LEGACY), lab.lower(LEGACY)
        for peer in (used, unused):
            link = peer.dial(rcvbuf=4096)
            if peer is used:
                peer.data(link, 9, PORT, b"used")
                same("a message", b"used", sock.recv()[0])
            link.write(b"".join(
                wire.Frame(9, 0, seq=peer.next_seq(0)).encode()
                for _ in range(1000)))
        within(60, "the one that no socket has used is gone",
               lambda: unused.address not in connected())
        expect(used.address in connected(), "the other is gone, too")
        peer = lab.lower()
        peer.ping(peer.dial())
    finally:
        kernel.sysctl("net/rds/tcp/user_timeout_ms", old)


@test("acks of window probes, however rare, keep a connection", timeout=120)
def rare_acks(lab):
    need_ours("do not probe that often")
    sock = lab.socket(PORT)
    peer = lab.lower(LEGACY)
    # The first window probe is sent after this time, the next one not before
    # twice that.
    route = f"{peer.address}/32 via 10.8.0.2 src {KERNEL} rto_min 1500ms"
    kernel.run("ip", "route", "add", *route.split())
    old = kernel.sysctl("net/rds/tcp/user_timeout_ms", 2000)
    probes = netstat("TCPWinProbe")
    try:
        link = peer.dial(rcvbuf=4096)
        peer.data(link, 9, PORT, b"used")
        same("a message", b"used", sock.recv()[0])
        link.write(b"".join(
            wire.Frame(9, 0, seq=peer.next_seq(0)).encode()
            for _ in range(1000)))
        time.sleep(10)
        expect(peer.address in connected(), "it was dropped")
        expect(netstat("TCPWinProbe") - probes > 2, "it was not probed")
        # From here on nothing reaches it.
        kernel.run("ip", "-n", lab.away.name, "route", "add", "blackhole",
                   f"{peer.address}/32")
        within(5, "silence has an end",
               lambda: peer.address not in connected())
    finally:
        kernel.run("ip", "route", "del", f"{peer.address}/32")
        kernel.sysctl("net/rds/tcp/user_timeout_ms", old)


@test("a socket that does not read: the peer is stopped, nothing is lost",
      timeout=180)
def not_reading(lab):
    need_ours("keep whatever comes")
    sock = lab.socket(PORT, rcvbuf=65536)
    peer = lab.lower(OURS)
    link = peer.dial()
    before = kernel.memory()
    sent = 0
    try:
        while sent < 1024:
            link.write(wire.Frame(9, PORT, b"%64d" % sent + bytes(131008),
                                  peer.next_seq(0)).encode(), timeout=2)
            sent += 1
    except Failure:
        pass
    held = before[1] - kernel.memory()[1]
    say(f"stopped after {sent} messages of 128 KiB; {held} kB are held")
    expect(16 < sent < 512, f"{sent} messages of 128 KiB are held")
    expect(held < 64 << 10, f"{held} kB are held")
    newcomer(lab)
    for number in range(sent):
        same("a message", b"%64d" % number, sock.recv()[0][:64])
    same("the port is reported as congested", True,
         any(PORT in bits for bits in maps(peer, link)))


@test("the receive queue is charged to the memory cgroup of the socket")
def charged(lab):
    need_ours("charge it to no cgroup")
    group = kernel.MemoryCgroup("rds-wire")
    try:
        with group.entered():
            sock = lab.socket(PORT, rcvbuf=64 << 20)
        peer = lab.lower(OURS)
        link = peer.dial()
        for size, count in ((1000, 4000), (100000, 60)):
            before = group.used()
            for _ in range(count):
                peer.data(link, 9, PORT, bytes(size))
            # Each CPU has a stock that is charged already.
            within(10, f"{count} messages of {size} bytes are charged",
                   lambda: group.used() - before > size * count * 3 // 4)
            for _ in range(count):
                sock.recv()
            within(10, "they are not when they have been read",
                   lambda: group.used() - before < size * count // 4)
        before = group.used()
        for _ in range(4):
            peer.data(link, 9, PORT, bytes(wire.MAX_MESSAGE))
        within(10, "large messages are charged",
               lambda: group.used() - before > 3 * wire.MAX_MESSAGE)
        sock.close()
        within(10, "they are not when the socket is closed",
               lambda: group.used() - before < wire.MAX_MESSAGE)
    finally:
        group.delete()


def maps(peer, link):
    """Read until the kernel sends no more; return all maps."""
    while not link.silent(1) or link.rest:
        try:
            peer.handle(link, link.read_frame(1))
        except (Closed, Failure):
            break
    return peer.maps


@test("many honest peers at once are all served")
def many_honest(lab):
    many_files()
    sock = lab.socket(PORT)
    links = []
    for number in range(500 if lab.full else 100):
        peer = lab.lower((LEGACY, MODERN, OURS)[number % 3])
        links.append((peer, peer.dial()))
    for peer, link in links:
        peer.data(link, 9, PORT, peer.address.encode())
    same("peers received from", {peer.address for peer, _ in links},
         {sock.recv()[1] for _ in links})
    for peer, link in links:
        same("sending", 0,
             sock.send(peer.address, 78, peer.address.encode()))
    for peer, link in links:
        peer.message(link, PORT, 78, peer.address.encode())
    same("a listener of IPv4", socket.AF_INET, lab.family(KERNEL))
