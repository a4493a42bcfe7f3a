# SPDX-License-Identifier: GPL-2.0
"""Judge the rounds of endure.py by the journals of both ends, outside the
guests: see journal.h.

What must be so: a message that one living end has sent to another arrives once,
in order, and as it was sent. If an end dies, only what it had, or what was on
its way to it, may be missing, and nothing out of the middle. What was sent to
a life that has ended does not reach the next one, over TCP. Over RDMA devices
the peer does not identify itself, and it may.
"""
import collections
import json

import journal
import plan

MISTAKES = ["lost", "doubled", "reordered", "corrupted"]
# What flows calls them, judging by itself
NAMES = dict(zip(MISTAKES, ["lost", "duplicated", "reordered", "corrupt"]))
# A flow's number counts the directions of up to 16 sockets of each group.
FLOWS_OF_GROUP = 32
# Seconds within which messages must flow again
RECOVERY = 60


class Flow:
    """One direction between two sockets. SENT and RECEIVED have the entries of
    each life of either end. DEAD names the ends that have lost their first
    one: "sender", "receiver"."""

    def __init__(self, sent, received, marks, dead):
        self.sent = {(entry.life, entry.seq): entry
                     for entries in sent.values() for entry in entries}
        self.received = received
        self.marks = marks
        self.dead = dead
        self.counts = collections.Counter()

    def same(self, entry):
        """Check that it was sent, and so. The last entries of an end that died
        are missing."""
        sent = self.sent.get((entry.life, entry.seq))
        if sent:
            return (sent.len, sent.hash) == (entry.len, entry.hash)
        return entry.life == 1 and "sender" in self.dead

    def arrivals(self, life):
        """Go through what one life of the receiver has received, and return
        the set of it."""
        seen, last = set(), (0, -1)
        for entry in self.received.get(life, []):
            name = (entry.life, entry.seq)
            if not self.same(entry):
                self.counts["corrupted"] += 1
            elif name in seen:
                self.counts["doubled"] += 1
            else:
                if name < last:
                    self.counts["reordered"] += 1
                seen.add(name)
                last = max(last, name)
        self.counts["messages"] += len(seen)
        return seen

    def gaps(self, seen, life, first=0):
        """Count what is missing before the last that has arrived."""
        numbers = {seq for of, seq in seen if of == life and seq >= first}
        if numbers:
            self.counts["lost"] += max(numbers) + 1 - first - len(numbers)

    def missing(self, seen, life, first=0):
        """Count what has been sent and has not arrived."""
        self.counts["lost"] += sum(
            1 for of, seq in self.sent
            if of == life and seq >= first and (of, seq) not in seen)

    def judge(self):
        seen = self.arrivals(1)
        if self.dead == {"sender", "receiver"}:
            self.gaps(seen, 1)
        elif "sender" in self.dead:
            self.gaps(seen, 1)
            self.missing(seen, 2)
        elif "receiver" in self.dead:
            self.gaps(seen, 1)
            self.judge_return(self.arrivals(2))
        else:
            self.missing(seen, 1)
        return self.counts

    def judge_return(self, seen):
        """Judge what the receiver has received in its second life."""
        noted = self.marks.get(journal.NOTED)
        returned = self.marks.get(journal.RETURNED)
        if noted is None or returned is None:
            self.counts["unreturned"] += 1
            return
        self.counts["stale"] += sum(1 for _, seq in seen if seq < noted)
        self.missing(seen, 1, returned)


def by_flow(entries, kinds):
    found = collections.defaultdict(list)
    for entry in entries:
        if entry.kind in kinds:
            found[entry.flow].append(entry)
    return found


class Part:
    """The messages of one transport, or within one guest, in one round"""

    def __init__(self, directory, dead):
        self.dir = directory
        self.name = directory.name.partition(".")[0]
        # The ends of which the first life has ended
        self.dead = set(dead)
        self.complaints = []
        self.journals = {(end, life): journal.read(
            directory / f"{end}.{life}.journal")
                         for end in "ab" for life in (1, 2)}

    def lives(self, end, kinds, flow):
        found = {}
        for life in (1, 2):
            entries = by_flow(self.journals[end, life], kinds)[flow]
            if entries:
                found[life] = entries
        return found

    def flows(self):
        return sorted({entry.flow for entries in self.journals.values()
                       for entry in entries})

    def flow(self, number):
        source, target = ("a", "b") if number % 2 == 0 else ("b", "a")
        dead = {role for role, end in (("sender", source),
                                       ("receiver", target))
                if end in self.dead}
        marks = {}
        for entry in self.journals[source, 1]:
            if entry.flow == number and entry.kind in (journal.NOTED,
                                                       journal.RETURNED):
                marks[entry.kind] = entry.seq
        return Flow(self.lives(source, journal.SENT, number),
                    self.lives(target, journal.RECEIVED, number), marks, dead)

    def judge(self):
        counts = collections.Counter()
        numbers = self.flows()
        if not numbers:
            self.complaints.append(f"{self.dir.name}: no message was sent")
        for number in numbers:
            found = self.flow(number).judge()
            wrong = {what: count for what, count in found.items()
                     if count and self.is_wrong(what)}
            if wrong:
                self.complaints.append(f"{self.dir.name}, flow {number}: "
                                       f"{wrong}")
            counts.update(found)
        self.compare(counts)
        return counts

    def is_wrong(self, what):
        return what in MISTAKES or what == "unreturned" or \
            (what == "stale" and self.name == "tcp")

    def result(self, end):
        life = 2 if end in self.dead else 1
        file = self.dir / f"{end}.{life}.result"
        return json.loads(file.read_text()) if file.exists() else None

    def compare(self, counts):
        """Check how the ends themselves have found it."""
        if self.dead == {"a", "b"}:
            return
        for end in "ab":
            result = self.result(end)
            if not result:
                self.complaints.append(f"{self.dir.name}, end {end}: no "
                                       "result")
                continue
            if result["gave_up"] or result["stuck"]:
                self.complaints.append(
                    f"{self.dir.name}, end {end}: {result['stuck']} stuck"
                    f"{', gave up' if result['gave_up'] else ''}")
            self.compare_groups(end, result["groups"], counts)

    def compare_groups(self, end, groups, counts):
        for group in groups:
            if group["errors"]:
                self.complaints.append(f"{group['name']}, end {end}: "
                                       f"{group['error']}")
            for mistake, name in NAMES.items():
                if group[name] and not counts[mistake]:
                    self.complaints.append(f"{group['name']}, end {end}: "
                                           f"finds {group[name]} {name}")

    def arrivals(self, end, life):
        """Return the times at which one life of an end has received, by
        group."""
        times = collections.defaultdict(list)
        for entry in self.journals[end, life]:
            if entry.kind == journal.RECEIVED:
                times[entry.flow // FLOWS_OF_GROUP].append(entry.time / 1e9)
        return times

    def returned(self):
        """Return after how many seconds the slowest group flowed again, or
        None if one did not."""
        taken = [group["return_ms"] for end in "ab" if self.result(end)
                 for group in self.result(end)["groups"]]
        return None if not taken or None in taken else max(taken) / 1000


def recovery(event, others, arrivals, began):
    """Return how long after the end of the event something arrived, or None.
    If another event goes on longer, the wait after its end is what counts:
    then return 0."""
    end = event["end"]
    first = next((time - began for time in arrivals if time - began >= end),
                 None)
    for other in others:
        if other is not event and other["end"] > end and \
           (first is None or other["start"] < first):
            return 0
    return None if first is None else first - end


class Round:
    """All that both guests have left of one round"""

    def __init__(self, directory, seed, drawn, lines):
        self.dir = directory
        self.seed = seed
        self.round = drawn
        self.lines = lines
        self.dying = plan.ENDINGS.get(drawn.ending)
        self.counts = {}
        self.faults = collections.Counter()
        self.recoveries = {}
        self.lost_devices = 0
        self.complaints = []
        self.memory = {}
        self.parts = {}

    def log(self, guest, life):
        file = self.dir / f"{guest}.{life}.log"
        return json.loads(file.read_text()) if file.exists() else None

    def last_life(self, guest):
        return 2 if guest == self.dying else 1

    def dead(self, name):
        """Return the ends of this part that lost their first life."""
        if name in self.lines:
            return self.dying or ""
        return "ab" if name == f"loop{self.dying}" else ""

    def judge_parts(self):
        names = [*self.lines, "loopa", "loopb"]
        if self.dying:
            names.append(f"loop{self.dying}.2")
        for name in names:
            part = Part(self.dir / name, self.dead(name))
            self.parts[name] = part
            self.counts.setdefault(part.name, collections.Counter())
            self.counts[part.name].update(part.judge())
            self.complaints += part.complaints

    def note_recovery(self, kind, taken):
        if taken is None:
            self.complaints.append(f"nothing arrived after {kind}")
            return
        if taken > RECOVERY:
            self.complaints.append(f"{taken:.0f} s until messages flowed "
                                   f"after {kind}")
        self.recoveries[kind] = max(taken, self.recoveries.get(kind, 0))

    def measure(self, guest, log):
        """Measure how soon messages flowed to a guest after each fault."""
        lines = {kind.name: kind.line for kind in plan.KINDS}
        until = plan.death(self.seed, self.round.number) if self.dying else None
        for name in self.lines:
            arrivals = self.parts[name].arrivals(guest, 1)
            events = [event for event in log["events"]
                      if lines.get(event["kind"]) in (name, "all")]
            for event in events:
                for times in arrivals.values():
                    taken = recovery(event, events, times, log["began"])
                    # The end of a life may come first.
                    if until and (taken is None or
                                  event["end"] + taken > until):
                        continue
                    self.note_recovery(event["kind"], taken)

    @staticmethod
    def new(guest, event):
        """Check whether it has not been counted in the other guest."""
        both = {kind.name for kind in plan.KINDS if kind.where == "both"}
        return guest == "a" or event["kind"] not in both

    def judge_log(self, guest, life):
        log = self.log(guest, life)
        if not log or log["began"] is None:
            self.complaints.append(f"guest {guest}, life {life}: no log")
            return
        for error in log["errors"]:
            self.complaints.append(f"guest {guest}: {error}")
        for event in log["events"]:
            self.faults[event["kind"]] += self.new(guest, event)
            self.lost_devices += event["counts"].get("device lost", 0)
            if not event["counts"] and event["kind"] not in plan.ENDINGS and \
               not event["kind"].endswith(plan.UNCOUNTED):
                self.complaints.append(f"guest {guest}: {event['kind']} did "
                                       "not occur")
        if life == 1:
            self.measure(guest, log)
        if life == self.last_life(guest):
            self.memory[guest] = log.get("memory")

    def judge_ending(self):
        for name in self.lines:
            self.note_recovery(self.round.ending, self.parts[name].returned())
        if not self.faults[self.round.ending]:
            self.complaints.append(f"{self.round.ending} did not occur")

    def judge(self):
        self.judge_parts()
        for guest in "ab":
            for life in range(1, self.last_life(guest) + 1):
                self.judge_log(guest, life)
        if self.dying:
            self.judge_ending()

    def total(self, what):
        return sum(counts[what] for counts in self.counts.values())
