# SPDX-License-Identifier: GPL-2.0
"""Fuzz the kernel's RDS: play sessions that are changed at random (session.py),
and look whether the kernel complains, and whether honest peers are served. What
the sessions are played on is the scene: a class with

    where                the key and address of memory that peers may use
    sessions()           those of honest peers
    play(steps, number, rng, patience)
                         play a session; return whether the kernel answered
    renew()              replace what a session may have spoiled
    check()              raise Failure if an honest peer is not served any more
    stop()
"""

import argparse
import os
import random
import re
import time

import session
from klog import KernelLog
from peer import Closed
from tap import Failure, say

REMEMBERED = 40		# sessions that are printed after a complaint
HONEST_EVERY = 25
HONEST_PATIENCE = 50	# ms for an answer to what nobody has changed
PATIENCE = 4		# ms for an answer to what was changed
RENEW_EVERY = 50
COVER = "/sys/kernel/debug/rds_cover"
COMPLAINT = re.compile(r"WARNING:|BUG:|KASAN|UBSAN|Oops|INFO: task|"
                       r"possible |refcount_t")


class Cover:
    """What the modules have run, since the beginning or one session."""

    def __init__(self, needed):
        self.fd = None
        self.seen = 0
        if os.path.exists(COVER):
            self.fd = os.open(COVER, os.O_RDWR)
            os.write(self.fd, b"0")
        elif needed:
            raise Failure(f"no {COVER}: the modules were built without it")

    def new(self):
        """Return how many places were reached for the first time."""
        if self.fd is None:
            return 0
        now = int.from_bytes(os.pread(self.fd, 1 << 20, 0), "little")
        new = now & ~self.seen
        self.seen |= now
        return new.bit_count()

    def count(self):
        return self.seen.bit_count()


class Fuzzer:
    def __init__(self, scene, args):
        self.args = args
        self.scene = scene
        self.rng = random.Random(args.seed)
        self.log = KernelLog()
        self.cover = Cover(args.guided)
        self.honest = scene.sessions()
        self.corpus = list(self.honest)
        self.last = []
        self.played = self.kept = 0
        self.begin = self.said = time.monotonic()
        if args.corpus:
            self.corpus += self.load(args.corpus)

    def load(self, name):
        return session.load(name, self.scene.where)

    def rng_of(self, steps):
        """Return a generator that depends on the steps only, not on the key and
        the address of this run."""
        steps = session.move(steps, self.scene.where, (0, 0))
        return random.Random(session.show(steps, (0, 0)))

    def play(self, steps, patience=PATIENCE):
        """Play a session. Return whether the kernel has answered."""
        self.last = (self.last + [steps])[-REMEMBERED:]
        heard = self.scene.play(steps, self.played, self.rng_of(steps),
                                patience)
        self.played += 1
        if self.played % RENEW_EVERY == 0:
            self.scene.renew()
        for record in self.log.records():
            if COMPLAINT.search(record):
                line = record.split(";", 1)[-1].split("\n")[0]
                raise Failure(f"the kernel complains: {line}")
        if self.played % HONEST_EVERY == 0:
            self.scene.check()
        return heard

    def play_honest(self):
        """Play what honest peers send: most of them must be answered, or the
        others would change what nobody listens to."""
        heard = sum(self.play(steps, HONEST_PATIENCE) for steps in self.honest)
        say(f"{heard} of {len(self.honest)} honest sessions are answered")
        if 2 * heard <= len(self.honest):
            raise Failure("too few honest sessions are answered")

    def mutate(self):
        steps, other = (self.rng.choice(self.corpus) for _ in range(2))
        return session.mutate(self.rng, steps, other, self.scene.where)

    def progress(self):
        now = time.monotonic()
        if now - self.said < 10:
            return
        self.said = now
        say(f"{now - self.begin:.0f} s: {self.played} sessions,"
            f" {self.played / (now - self.begin):.1f}/s, {self.kept} kept,"
            f" {self.cover.count()} places")

    def run(self):
        self.play_honest()
        for steps in self.corpus[len(self.honest):]:
            self.play(steps)
        self.cover.new()
        say(f"{len(self.corpus)} sessions reach {self.cover.count()} places")
        while time.monotonic() - self.begin < self.args.seconds:
            steps = self.mutate()
            self.play(steps)
            if self.cover.new():
                self.kept += 1
                self.corpus.append(steps)
            self.progress()
        self.scene.check()

    def replay(self):
        for _ in range(self.args.times):
            for steps in self.load(self.args.replay):
                self.play(steps)
        self.cover.new()
        self.scene.check()

    def save(self):
        with open(self.args.save, "w", encoding="ascii") as file:
            for steps in self.corpus:
                file.write(session.show(steps, self.scene.where))


def report(fuzzer, error):
    """Print the sessions that may have caused a failure, oldest first."""
    print("not ok 1 - sessions that are changed at random", flush=True)
    say(error)
    for steps in fuzzer.last:
        say(session.show(steps, fuzzer.scene.where))


def arguments(usage):
    parser = argparse.ArgumentParser(usage=usage)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10 ** 6)
    parser.add_argument("--corpus")
    parser.add_argument("--save")
    parser.add_argument("--replay")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--guided", action="store_true")
    return parser


def fuzz(scene, args):
    """Fuzz, or replay, on this scene. Return the exit status."""
    status = 1
    fuzzer = Fuzzer(scene, args)
    try:
        fuzzer.replay() if args.replay else fuzzer.run()
        print("ok 1 - sessions that are changed at random", flush=True)
        status = 0
    except (Failure, Closed) as error:
        report(fuzzer, error)
    finally:
        if args.save:
            fuzzer.save()
    say(f"{fuzzer.played} sessions, {fuzzer.cover.count()} places")
    return status


def main(make_scene, args):
    print("TAP version 13", flush=True)
    say(f"seed {args.seed}")
    try:
        scene = make_scene(args)
    except Failure as error:
        print(f"not ok 1 - the scene\n# {error}\n1..1", flush=True)
        return 1
    try:
        status = fuzz(scene, args)
    except Failure as error:
        print(f"not ok 1 - the fuzzer\n# {error}", flush=True)
        status = 1
    finally:
        scene.stop()
    print("1..1", flush=True)
    return status
