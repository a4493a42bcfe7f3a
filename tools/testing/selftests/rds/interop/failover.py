# SPDX-License-Identifier: GPL-2.0
"""Addresses that move to the other machine, and back, while a third host sends
to them. Guest a has them first, then guest b, then a again. The third host is
a namespace in b; it has one address below them and one above. The sockets that
a has bound to them stay open all the time.
"""
import json
import pathlib
import select
import socket
import struct
import sys
import time

import net

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "wire"))
import kernel	# noqa: E402

NAME = "address-fails-over"
PORT = 4000
HOST = "client"
# The addresses that move, and those of the third host by them
MOVING = ["10.80.0.5", "fdc0:80::5"]
CLIENTS = {"10.80.0.5": ["10.80.0.1", "10.80.0.9"],
           "fdc0:80::5": ["fdc0:80::1", "fdc0:80::9"]}
PAIRS = [(client, moving) for moving in MOVING for client in CLIENTS[moving]]
# Messages of each pair before the addresses move on
ENOUGH = 50
GAP = 0.01
# Seconds until messages flow again: if the sender is the end that connects,
# and if the other end has to be asked to connect
SOON, LATER = 3, 13
PATIENCE = 30
NUMBER = struct.Struct("!I")


class Holder:
    """The messages that a guest receives while it has the addresses"""

    def __init__(self):
        self.sockets = {}
        self.heard = {pair: [] for pair in PAIRS}
        self.first = {}

    def open(self):
        for address in MOVING:
            self.sockets[address] = kernel.RdsSocket(address, PORT)

    def listen(self, seconds):
        """Receive what arrives, for at most this time."""
        if not self.sockets:
            time.sleep(seconds)
            return
        ready, _, _ = select.select([sock.sock for sock in
                                     self.sockets.values()], [], [], seconds)
        for address, sock in self.sockets.items():
            if sock.sock in ready:
                self.take(sock, address)

    def take(self, sock, address):
        """Receive all messages that have arrived; there may be only a
        congestion update."""
        while True:
            try:
                payload, sender, _ = sock.recv(socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            pair = (sender, address)
            self.heard[pair].append(NUMBER.unpack(payload)[0])
            self.first.setdefault(pair, time.monotonic())

    def enough(self, count):
        return all(len(numbers) >= count for numbers in self.heard.values())


class Sender:
    """The third host"""

    def __init__(self, pair):
        self.host = kernel.Namespace(HOST)
        self.connect_host(pair)
        with self.host.entered():
            self.sockets = [kernel.RdsSocket(client, PORT)
                            for client, _ in PAIRS]
        self.sent = [0] * len(PAIRS)
        self.next = time.monotonic()

    @staticmethod
    def connect_host(pair):
        inside = ["ip", "-n", HOST]
        net.run("ip", "link", "add", "host0", "type", "veth", "peer", "name",
                "host1", "netns", HOST)
        net.run("ip", "link", "set", "host0", "up")
        net.run(*inside, "link", "set", "lo", "up")
        net.run(*inside, "link", "set", "host1", "up")
        for near, far, length in (("10.0.1.1", "10.0.1.2", 30),
                                  ("fd01::1", "fd01::2", 64)):
            nodad = ["nodad"] if ":" in near else []
            net.run("ip", "address", "add", f"{near}/{length}", "dev", "host0",
                    *nodad)
            net.run(*inside, "address", "add", f"{far}/{length}", "dev",
                    "host1", *nodad)
            net.run(*inside, "route", "add", "default", "via", near)
        for client, _ in PAIRS:
            v6 = ":" in client
            net.run(*inside, "address", "add",
                    f"{client}/{128 if v6 else 32}", "dev", "lo",
                    *(["nodad"] if v6 else []))
            net.run("ip", "route", "add", client, "via",
                    "fd01::2" if v6 else "10.0.1.2")
        # A packet that b forwards might match a connection that was b's own.
        # Such a packet would be dropped.
        net.sysctl("net/ipv4/ip_early_demux", 0)
        net.sysctl("net/ipv4/ip_forward", 1)
        net.sysctl("net/ipv6/conf/all/forwarding", 1)
        pair.add_routes()

    def send(self):
        if time.monotonic() < self.next:
            return
        self.next += GAP
        for index, (_, address) in enumerate(PAIRS):
            if not self.sockets[index].send(address, PORT,
                                            NUMBER.pack(self.sent[index])):
                self.sent[index] += 1

    def dropped(self):
        with self.host.entered():
            return kernel.counters()["send_drop_restarted"]


class Failover:
    """The part of one guest"""

    def __init__(self, pair, results):
        self.pair = pair
        self.dir = results / NAME
        self.dir.mkdir(exist_ok=True)
        self.holder = Holder()
        self.sender = Sender(pair) if pair.me == "b" else None
        self.complaints = []
        self.moved_at = None

    def report(self, what):
        (self.dir / what).touch()

    def listen_until(self, done, what):
        """Receive, and send, until DONE is true."""
        deadline = time.monotonic() + PATIENCE
        while not done():
            if time.monotonic() > deadline:
                self.complaints.append(f"guest {self.pair.me} waited in vain "
                                       f"for {what}")
                return
            if self.sender:
                self.sender.send()
            self.holder.listen(GAP / 2)

    def until_reported(self, what):
        self.listen_until((self.dir / what).exists, what)

    def until_heard(self, count):
        self.listen_until(lambda: self.holder.enough(count), "messages")

    def addresses(self, verb):
        for address in MOVING:
            self.pair.address(verb, address)

    def as_a(self):
        self.addresses("add")
        self.holder.open()
        self.report("a.has")
        self.until_heard(ENOUGH)
        self.addresses("del")
        self.report("a.gave")
        self.until_reported("b.gave")
        self.write("first")
        self.holder.heard = {pair: [] for pair in PAIRS}
        self.holder.first = {}
        self.moved_at = time.monotonic()
        self.addresses("add")
        self.until_heard(ENOUGH)
        self.report("a.heard")
        self.until_reported("b.stopped")
        self.quiet()
        self.write("second")
        self.addresses("del")

    def as_b(self):
        self.until_reported("a.has")
        self.until_reported("a.gave")
        self.moved_at = time.monotonic()
        self.addresses("add")
        self.holder.open()
        self.until_heard(ENOUGH)
        self.addresses("del")
        self.report("b.gave")
        self.until_reported("a.heard")
        self.report("b.stopped")
        self.write("first")

    def quiet(self):
        """Wait until what has been sent has arrived."""
        deadline = time.monotonic() + 1
        while time.monotonic() < deadline:
            self.holder.listen(GAP)

    def write(self, which):
        result = {
            "complaints": self.complaints,
            "heard": list(self.holder.heard.values()),
            "after": [self.holder.first[pair] - self.moved_at
                      if self.moved_at and pair in self.holder.first else None
                      for pair in PAIRS],
        }
        if self.sender:
            result["sent"] = self.sender.sent
            result["dropped"] = self.sender.dropped()
        file = self.dir / f"{self.pair.me}.{which}"
        file.write_text(json.dumps(result))

    def run(self):
        started = time.monotonic()
        if self.pair.me == "a":
            self.as_a()
        else:
            self.as_b()
        print(f"{NAME}: {time.monotonic() - started:.1f} s "
              f"{self.complaints or ''}", flush=True)


def gaps(numbers):
    """Count the numbers that are missing between the first and the last
    one."""
    return numbers[-1] - numbers[0] + 1 - len(numbers) if numbers else 0


def judge_pair(index, stays, sent):
    """Return the complaints about one pair of addresses, and how many messages
    it has lost."""
    client, moving = PAIRS[index]
    heard = [stay["heard"][index] for stay in stays]
    merged = sum(heard, [])
    complaints = []
    if len(merged) != len(set(merged)):
        complaints.append("a message arrived twice")
    if any(gaps(numbers) for numbers in heard):
        complaints.append(f"missing {[gaps(numbers) for numbers in heard]} "
                          "while the addresses stood still")
    if merged != sorted(merged):
        complaints.append("out of order")
    limit = SOON if client < moving else LATER
    for stay in stays[1:]:
        after = stay["after"][index]
        if after is None or after > limit:
            complaints.append(f"flows only {after} s after the move")
    return ([f"{client} to {moving}: {words}" for words in complaints],
            sent - len(merged))


def judge(results):
    """Return the complaints, and a line for the reader."""
    files = [results / NAME / name for name in
             ("a.first", "b.first", "a.second")]
    if not all(file.exists() for file in files):
        return ["no results"], ""
    stays = [json.loads(file.read_text()) for file in files]
    complaints = stays[1]["complaints"] + stays[2]["complaints"]
    lost = 0
    for index, sent in enumerate(stays[1]["sent"]):
        wrong, missing = judge_pair(index, stays, sent)
        complaints += wrong
        lost += missing
    if lost > stays[1]["dropped"]:
        complaints.append(f"{lost} lost, {stays[1]['dropped']} counted")
    times = [f"{after:.2f}" if after else "-" for stay in stays[1:]
             for after in stay["after"]]
    return complaints, (f"{sum(stays[1]['sent'])} sent, {lost} lost between "
                        f"the holders, {stays[1]['dropped']} counted as "
                        f"dropped; flowed after {', '.join(times)} s")


def run(pair, results):
    Failover(pair, results).run()
