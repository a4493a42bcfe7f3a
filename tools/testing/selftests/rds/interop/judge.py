#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Judge the results of guest.py: print a line of TAP for each case that a pairing
was to go through, whether it did or not.

usage: judge.py --transport tcp|ib NAME=DIR... [--control NAME=DIR...]
       judge.py --transport tcp|ib NAME=DIR... --lossy REGEX

NAME is the RDS of guests a and b, "ours" or that of a kernel, as in ours-6.1.
With the suffix "+credits" both guests were to use flow control by credits, as
they always do with "+siw", over iWARP; with "+credit" guest a only. A control
run, of two guests with a kernel's own RDS, is not judged: it shows how much is
lost without our implementation.

Between two guests with ours every message arrives once and in order, whatever
happens, as long as both ends live. With another implementation at one end this
is so if no path is dropped. If one is, the other implementation loses messages
by itself: ours must neither duplicate nor reorder any, and no more may be lost
than in the control run. Over InfiniBand other implementations drop a
connection after two lost packets: their counters show whether one was dropped.

With --lossy, nothing is judged. For each kernel whose RDS was at one end when
something was lost, a line gives a regular expression of these cases: the
control runs that are needed. REGEX are the cases for which there can be any.
"""
import argparse
import itertools
import json
import pathlib
import re

import failover

FAULTS = ["lost", "duplicated", "reordered", "corrupt"]
CASES = ["contact", "loss", "corruption", "duplication", "reordering", "delay",
         "link-down", "paths-killed-a", "paths-killed-b", "buffers",
         "wire-cut", "device-gone", "address-gone", "address-moves",
         "route-gone",
         "modules-reloaded", "rebooted", "points"]

# Cases in which paths are dropped on purpose, or may be dropped by others
DROPS = {
    "tcp": {"paths-killed-a", "paths-killed-b", "buffers", "address-gone",
            "address-moves", "modules-reloaded", "rebooted", "points"},
    "ib": {"loss", "wire-cut", "link-down", "device-gone", "address-gone",
           "route-gone", "modules-reloaded", "rebooted", "points"},
}
# Cases in which no paths are dropped but those that are killed one by one
QUIET = {
    "tcp": {"loss", "corruption", "duplication", "reordering", "delay",
            "paths-killed-a", "paths-killed-b"},
    "ib": {"delay"},
}
RETURNS = {"modules-reloaded", "rebooted"}
# In these cases, each guest named must have caused the fault.
INJECTED = {"wire-cut": "b", "paths-killed-a": "a", "paths-killed-b": "b",
            "buffers": "ab", "device-gone": "a", "address-gone": "ab",
            "address-moves": "ab", "route-gone": "a",
            "modules-reloaded": "b", "rebooted": "a", "points": "ab"}
LINK_DOWN = {"tcp": "b", "ib": "a"}

# RDS that drops what was queued for an earlier life of the peer, because the
# peer identifies itself
IDENTIFIES = {"tcp": {"ours", "newest"}, "ib": set()}

# Milliseconds until messages flow again when the peer has returned: if the
# peer is the end that connects, and if we first have to detect that it was
# gone, for which TCP takes 10 s. A guest that has just booted may need some
# time for itself. Over InfiniBand a connection is made when the one before is
# over, and an attempt without a response takes 5 s.
SOON = {"tcp": 6000, "ib": 13000}
LATER = 13000


def load(file):
    return json.loads(file.read_text()) if file.exists() else None


class Outcome:
    """One case of one pairing"""

    def __init__(self, directory, pairing, case):
        self.case = case
        pair, _, self.special = pairing.partition("+")
        self.rds = dict(zip("ab", pair.split("-")))
        folder = directory / case
        self.ran = folder.is_dir()
        life = {"a": 1, "b": 2 if case in RETURNS else 1}
        self.results = {guest: load(folder / f"{guest}.{life[guest]}.result")
                        for guest in "ab"}
        self.injected = {guest: load(folder / f"{guest}.faults") or {}
                         for guest in "ab"}

    def complete(self):
        return all(self.results.values())

    def groups(self, guest):
        return self.results[guest]["groups"]

    def sum(self, guest, what):
        return sum(group[what] for group in self.groups(guest))

    def total(self, what):
        return sum(self.sum(guest, what) for guest in "ab")

    def other(self):
        """Return the kernel whose RDS is not ours, if there is one."""
        others = set(self.rds.values()) - {"ours"}
        return others.pop() if others else None

    def dropped(self):
        """Return how many paths were dropped, as both ends count it."""
        return sum(self.results[guest]["counters"].get("conn_reset", 0)
                   for guest in "ab")

    def column(self):
        """Describe what went wrong towards each guest."""
        words = []
        for guest in "ab":
            wrong = [f"{self.sum(guest, what)} {what}" for what in FAULTS
                     if self.sum(guest, what)]
            words.append(f"to {guest} ({self.rds[guest]}) "
                         f"{self.sum(guest, 'received')} received, "
                         f"{', '.join(wrong) or 'nothing wrong'}")
        stale = self.sum("b", "stale_received")
        if self.case in RETURNS:
            words.append(f"{stale} from before the return")
        stuck = sum(result["stuck"] for result in self.results.values())
        if stuck:
            words.append(f"{stuck} stuck")
        return f"{'; '.join(words)}; {self.dropped()} paths dropped"

    def times(self):
        """Describe when messages flowed first, or again, at the latest."""
        name = "return_ms" if self.case in RETURNS else "first_ms"
        taken = [group[name] for guest in "ab" for group in self.groups(guest)]
        if None in taken:
            return "not all flowed"
        return f"flowed after {max(taken)} ms at the latest"


class Judge:
    def __init__(self, outcome, control, transport):
        self.outcome = outcome
        self.transport = transport
        self.control = control
        self.strict = set(outcome.rds.values()) == {"ours"}
        self.may_drop = outcome.case in DROPS[transport]
        self.complaints = []

    def ask(self, fine, complaint):
        if not fine:
            self.complaints.append(complaint)

    def injection(self):
        guests = INJECTED.get(self.outcome.case, "")
        if self.outcome.case == "link-down":
            guests = LINK_DOWN[self.transport]
        for guest in guests:
            if self.outcome.case == "points" and \
               self.outcome.rds[guest] != "ours":
                continue
            done = self.outcome.injected[guest]
            self.ask(any(done.values()),
                     f"guest {guest} did not cause the fault")
            # The stock RDS waits for up to a second before it dials again, in
            # which five paths are to be killed.
            if "killed" in self.outcome.case:
                self.ask(done.get("killed", 0) >=
                         max(1, done.get("not there", 0)),
                         "paths were missing more often than killed")

    def ends(self):
        """Check that no end stalled or had an error."""
        others_fault = not self.strict and self.may_drop
        for guest, result in self.outcome.results.items():
            ours = self.outcome.rds[guest] == "ours"
            self.ask(not result["gave_up"], f"guest {guest} gave up")
            self.ask(not result["stuck"] or (others_fault and not ours),
                     f"{result['stuck']} messages stuck in guest {guest}")
            for group in result["groups"]:
                self.ask(not group["errors"], f"guest {guest}, "
                         f"{group['name']}: {group['error']}")

    def exact(self, guest, mistakes):
        for what in mistakes:
            for group in self.outcome.groups(guest):
                self.ask(not group[what], f"to {guest}, {group['name']}: "
                         f"{group[what]} {what}")

    def flushed(self):
        """Check that the messages for the life that ended were dropped, and
        counted."""
        self.exact("b", ["stale_received"])
        dropped = self.outcome.results["a"]["counters"].get(
            "send_drop_restarted", 0)
        self.ask(dropped or self.outcome.rds["a"] != "ours" or
                 self.outcome.case != "rebooted",
                 "guest a has not counted what it dropped")

    def return_times(self):
        """Check that messages between guest a, which survived, and the other
        flow again in time."""
        for guest in "ab":
            if self.outcome.rds[guest] != "ours":
                continue
            for group in self.outcome.groups(guest):
                soon = SOON[self.transport]
                limit = soon if "b lower" in group["name"] else LATER
                taken = group["return_ms"]
                self.ask(taken is not None and taken <= limit,
                         f"to {guest}, {group['name']}: flows only "
                         f"{taken} ms after the return")

    def others_view(self):
        """Check that the other implementation counts no dropped path when none
        was killed, and not many more than were killed: when both ends connect,
        it drops paths again by itself (two such ends, in 24 runs: one to three
        for each that was killed, and once six).
        """
        outcome = self.outcome
        killed = sum(outcome.injected[guest].get("killed", 0)
                     for guest in "ab")
        for guest in "ab":
            if outcome.rds[guest] == "ours" or outcome.case not in QUIET[self.transport]:
                continue
            resets = outcome.results[guest]["counters"].get("conn_reset", 0)
            self.ask(resets <= 8 * killed, f"guest {guest} counts {resets} "
                     f"dropped paths, of which {killed} were killed")

    def dropped(self):
        """Check whether a path was dropped. Over TCP, this is not always
        counted."""
        return self.transport == "tcp" or self.outcome.dropped()

    def not_above_control(self):
        lost = self.outcome.total("lost")
        if not self.control:
            self.ask(not lost, f"{lost} lost, and there is no control run")
            return
        allowed = self.control.total("lost")
        self.ask(lost <= allowed, f"{lost} lost, in the control run {allowed}")

    def credits(self):
        """Check that each end of ours received credits, and sent its own."""
        for guest in "ab":
            if self.outcome.rds[guest] != "ours":
                continue
            counters = self.outcome.results[guest]["counters"]
            for what in "ib_rx_credit_updates", "ib_tx_credit_updates":
                self.ask(counters.get(what), f"guest {guest} has no {what}")

    def credit(self):
        """Check that guest b received guest a's credits, and sent none."""
        counters = {guest: self.outcome.results[guest]["counters"]
                    for guest in "ab"}
        self.ask(counters["a"].get("ib_tx_credit_updates") and
                 counters["b"].get("ib_rx_credit_updates"),
                 "guest b received no credits")
        self.ask(not counters["b"].get("ib_tx_credit_updates"),
                 "guest b sent credits")

    def judge(self):
        outcome = self.outcome
        self.ask(outcome.complete(),
                 "no results" if outcome.ran else "it did not run")
        if not outcome.complete():
            return
        self.injection()
        self.ends()
        if self.strict or not self.may_drop or not self.dropped():
            for guest in "ab":
                self.exact(guest, FAULTS)
        else:
            for guest in "ab":
                if outcome.rds[guest] == "ours":
                    self.exact(guest, FAULTS[1:])
            self.not_above_control()
        if "ours" in outcome.rds.values():
            self.others_view()
        if outcome.special in {"credits", "siw"}:
            self.credits()
        if outcome.special == "credit":
            self.credit()
        if outcome.case in RETURNS:
            self.exact("a", ["stale_holes"])
            self.return_times()
            if IDENTIFIES[self.transport].issuperset(outcome.rds.values()):
                self.flushed()


class Tap:
    def __init__(self):
        self.number = 0
        self.failed = 0

    def line(self, name, complaints):
        self.number += 1
        self.failed += bool(complaints)
        print(f"{'not ok' if complaints else 'ok'} {self.number} - {name}")
        for complaint in complaints:
            self.say(complaint)

    @staticmethod
    def say(text):
        print(f"# {text}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transport", choices=DROPS, required=True)
    parser.add_argument("runs", nargs="+", metavar="NAME=DIR")
    parser.add_argument("--control", nargs="*", default=[],
                        metavar="NAME=DIR")
    parser.add_argument("--lossy", metavar="REGEX")
    return parser.parse_args()


def parse(words):
    """Parse NAME=DIR..."""
    return {name: pathlib.Path(directory) for name, _, directory in
            (word.partition("=") for word in words)}


def control_for(controls, outcome):
    """Return the control run of the same kernel."""
    name = f"{outcome.other()}-{outcome.other()}"
    if name not in controls:
        return None
    control = Outcome(controls[name], name, outcome.case)
    return control if control.complete() else None


def outcomes(name, directory):
    """Return the cases of a pairing that were run, in order."""
    found = [Outcome(directory, name, case) for case in CASES]
    return [outcome for outcome in found if outcome.ran]


def print_lossy(runs, wanted):
    cases = {}
    for outcome in itertools.chain(*itertools.starmap(outcomes, runs.items())):
        if outcome.complete() and outcome.other() and \
           wanted.search(outcome.case) and outcome.total("lost"):
            cases.setdefault(outcome.other(), []).append(outcome.case)
    for kernel, names in cases.items():
        print(kernel, "|".join(f"^{name}$" for name in dict.fromkeys(names)))


def judge_reach(tap, name, directory):
    """Check what both ends report about operations on each other's memory."""
    files = {guest: directory / f"reach.{guest}" for guest in "ab"}
    words = {guest: file.read_text() if file.exists() else "nothing"
             for guest, file in files.items()}
    tap.line(f"{name}: reach", [f"guest {guest}: {word}"
                                for guest, word in words.items()
                                if not word.startswith("0 ")])


def show(tap, name, outcome):
    if outcome.complete():
        tap.say(f"  {name}: {outcome.column()}; {outcome.times()}")


def judge_failover(tap, name, directory):
    complaints, column = failover.judge(directory)
    tap.line(f"{name}: {failover.NAME}", complaints)
    tap.say(f"  {name}: {column}")


def judge_case(tap, name, outcome, control, transport):
    judge = Judge(outcome, control, transport)
    judge.judge()
    tap.line(f"{name}: {outcome.case}", judge.complaints)
    show(tap, name, outcome)
    if control:
        show(tap, "control", control)


def judge_pairing(tap, name, directory, controls, transport):
    wanted = load(directory / "cases")
    if wanted is None:
        tap.line(f"{name}: cases", ["no guest has begun with them"])
        return
    for case in wanted:
        if case == "reach":
            judge_reach(tap, name, directory)
        elif case == failover.NAME:
            judge_failover(tap, name, directory)
        else:
            outcome = Outcome(directory, name, case)
            judge_case(tap, name, outcome, control_for(controls, outcome),
                       transport)


def main():
    args = arguments()
    runs = parse(args.runs)
    if args.lossy:
        print_lossy(runs, re.compile(args.lossy))
        return 0
    tap = Tap()
    for name, directory in runs.items():
        judge_pairing(tap, name, directory, parse(args.control),
                      args.transport)
    print(f"1..{tap.number}")
    return 1 if tap.failed or not tap.number else 0


if __name__ == "__main__":
    raise SystemExit(main())
