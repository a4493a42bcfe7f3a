#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Test that the referee of the run of hours can find something: plant one
mistake at a time in the journals of a round, and expect it to be reported. Needs
no guest.
"""
import json
import pathlib
import tempfile

import endurance
import journal
import plan
import referee

SEED = "test"
COUNT = 40
# At which message the life of b ends, is noted, and begins again
CUT, NOTED, RETURNED = 20, 25, 28
MS = 1000000
TESTS = []


def entry(kind, flow, seq, life=1, time=None, **other):
    fields = {"time": (seq if time is None else time) * 100 * MS,
              "hash": seq * 7 + flow + life, "seq": seq, "len": 64,
              "flow": flow, "life": life, "kind": kind, **other}
    return journal.Entry(**fields)


class Scene:
    """A round in which all is well, of which a test changes something"""

    def __init__(self, lines=("tcp",), ending=None):
        self.lines = list(lines)
        self.ending = ending
        self.dying = plan.ENDINGS.get(ending)
        # By part, end and life: entries
        self.journals = {}
        self.results = {}
        for name in (*lines, "loopa", "loopb"):
            if name in lines and ending:
                self.plant_return(name)
            else:
                self.plant(name)
        if ending:
            self.plant(f"loop{self.dying}.2")
            self.results.pop((f"loop{self.dying}", "a", 1))
            self.results.pop((f"loop{self.dying}", "b", 1))
        event = {"kind": "tcp loss", "start": 1, "end": 2, "counts": {}}
        self.logs = {(guest, 1): self.log([event]) for guest in "ab"}
        if ending:
            self.logs[self.dying, 2] = self.log([])
            self.logs["a", 1]["events"].append(
                {"kind": ending, "start": 30, "end": 35, "counts": {}})

    @staticmethod
    def log(events):
        return {"events": events, "errors": [], "began": 0, "memory": None}

    def plant(self, name):
        for end, sends, receives in (("a", 0, 1), ("b", 1, 0)):
            self.journals[name, end, 1] = [
                entry(kind, flow, seq) for seq in range(COUNT)
                for kind, flow in ((journal.SENT, sends),
                                   (journal.RECEIVED, receives))]
            self.results[name, end, 1] = self.result()

    def plant_return(self, name):
        """Guest b dies. Some of what it had sent and received last is not in
        its journal."""
        sent = [entry(journal.SENT, 0, seq) for seq in range(COUNT)]
        marks = [entry(journal.NOTED, 0, NOTED),
                 entry(journal.RETURNED, 0, RETURNED)]
        heard = [entry(journal.RECEIVED, 1, seq) for seq in range(CUT)]
        heard += [entry(journal.RECEIVED, 1, seq, 2, 30 + seq)
                  for seq in range(COUNT)]
        self.journals[name, "a", 1] = sent + marks + heard
        self.journals[name, "b", 1] = [
            entry(kind, flow, seq) for seq in range(CUT - 2)
            for kind, flow in ((journal.SENT, 1), (journal.RECEIVED, 0))]
        self.journals[name, "b", 2] = [
            entry(journal.SENT, 1, seq, 2) for seq in range(COUNT)]
        self.journals[name, "b", 2] += [
            entry(journal.RECEIVED, 0, seq) for seq in range(RETURNED, COUNT)]
        self.results[name, "a", 1] = self.result()
        self.results[name, "b", 2] = self.result()

    @staticmethod
    def result():
        group = {"name": "group", "error": "", "errors": 0, "return_ms": 500}
        group.update({name: 0 for name in referee.NAMES.values()})
        return {"gave_up": False, "stuck": 0, "groups": [group]}

    def received(self, name="tcp", end="b", life=1, flow=0):
        """Return the list, and where the receipts of a flow are in it."""
        entries = self.journals[name, end, life]
        return entries, [place for place, one in enumerate(entries)
                         if one.kind == journal.RECEIVED and one.flow == flow]

    def judge(self):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            for (name, end, life), entries in self.journals.items():
                (root / name).mkdir(exist_ok=True)
                journal.write(root / name / f"{end}.{life}.journal", entries)
            for (name, end, life), result in self.results.items():
                (root / name / f"{end}.{life}.result").write_text(
                    json.dumps(result))
            for (guest, life), log in self.logs.items():
                (root / f"{guest}.{life}.log").write_text(json.dumps(log))
            drawn = plan.Round(0, 120, [], self.ending)
            judged = referee.Round(root, SEED, drawn, self.lines)
            judged.judge()
            return judged


def case(name, mistake=None, count=1, says=None, **scene):
    """Register a test, which changes a Scene. One MISTAKE must then be counted
    so often, and no other one. A complaint must contain SAYS. Without both, no
    complaint is allowed."""
    def register(change):
        TESTS.append((name, change, mistake, count, says, scene))
        return change
    return register


REBOOT = {"ending": "reboot of b"}


@case("a good round")
@case("a good round over both transports", lines=("tcp", "ib"))
@case("a round in which b is booted again", **REBOOT)
@case("a round in which b reloads its modules",
      ending="modules reloaded in b")
def nothing(_):
    pass


@case("a message that is lost", "lost")
def lose(scene):
    entries, places = scene.received()
    del entries[places[7]]


@case("the last message is lost", "lost")
def lose_last(scene):
    entries, places = scene.received("loopb", "a", 1, 1)
    del entries[places[-1]]


@case("all messages of a flow are lost", "lost", COUNT)
def lose_all(scene):
    entries, places = scene.received()
    for place in reversed(places):
        del entries[place]


@case("a message that arrives twice", "doubled")
def double(scene):
    entries, places = scene.received()
    entries.append(entries[places[7]])


@case("two messages out of order", "reordered")
def reorder(scene):
    entries, places = scene.received()
    one, two = places[7:9]
    entries[one], entries[two] = entries[two], entries[one]


def corrupt(**changes):
    def change(scene):
        entries, places = scene.received()
        entries[places[7]] = entries[places[7]]._replace(**changes)
    return change


# The one that was sent is then also lost.
case("other contents", "corrupted", says="lost")(corrupt(hash=1))
case("another length", "corrupted", says="lost")(corrupt(len=65))
case("a number that was never sent", "corrupted",
     says="lost")(corrupt(seq=4000))
case("a life that there was not", "corrupted", says="lost")(corrupt(life=3))


@case("a message is lost before b dies", "lost", **REBOOT)
def lose_before(scene):
    entries, places = scene.received()
    del entries[places[7]]


@case("a message of b is lost before b dies", "lost", **REBOOT)
def lose_of_dead(scene):
    entries, places = scene.received("tcp", "a", 1, 1)
    del entries[places[7]]


@case("a message is lost after the return", "lost", **REBOOT)
def lose_after(scene):
    entries, places = scene.received(life=2)
    del entries[places[0]]


@case("a message of the second life is lost", "lost", **REBOOT)
def lose_of_second(scene):
    entries, places = scene.received("tcp", "a", 1, 1)
    del entries[places[-1]]


@case("a message of the first life comes after the second", "reordered",
      **REBOOT)
def late(scene):
    entries, places = scene.received("tcp", "a", 1, 1)
    entries.append(entries.pop(places[CUT - 1]))


@case("a message for the first life reaches the second", says="stale",
      **REBOOT)
@case("the same over an RDMA device", lines=("ib",), **REBOOT)
def stale(scene):
    entries, places = scene.received(scene.lines[0], life=2)
    entries.insert(places[0], entry(journal.RECEIVED, 0, NOTED - 1))


@case("a peer that does not come back", says="unreturned", **REBOOT)
def unreturned(scene):
    scene.journals["tcp", "a", 1] = [
        one for one in scene.journals["tcp", "a", 1]
        if one.kind != journal.RETURNED]


@case("a path that does not come back", says="nothing arrived after tcp loss")
def broken(scene):
    for name in "ab":
        for event in scene.logs[name, 1]["events"]:
            event["end"] = 100


@case("one that takes long", says="s until messages flowed")
def slow(scene):
    for (name, end, life), entries in list(scene.journals.items()):
        scene.journals[name, end, life] = [
            one if one.seq < 10 else one._replace(time=one.time + 10 ** 11)
            for one in entries]


@case("messages that are stuck", says="3 stuck")
def stuck(scene):
    scene.results["tcp", "a", 1]["stuck"] = 3


@case("an end that gave up", says="gave up")
def gave_up(scene):
    scene.results["tcp", "a", 1]["gave_up"] = True


@case("an error of a system call", says="No buffer")
def failed(scene):
    scene.results["tcp", "a", 1]["groups"][0].update(errors=1,
                                                     error="No buffer")


@case("a mistake that only an end has found", says="finds 1 lost")
def disagree(scene):
    scene.results["tcp", "a", 1]["groups"][0]["lost"] = 1


@case("no result", says="no result")
def no_result(scene):
    del scene.results["loopa", "a", 1]


@case("no journal", says="no message was sent")
def no_journal(scene):
    for end in "ab":
        del scene.journals["tcp", end, 1]
        del scene.results["tcp", end, 1]
        scene.journals["tcp", end, 1] = []


@case("no log", says="guest b, life 1: no log")
def no_log(scene):
    del scene.logs["b", 1]


@case("a fault that did not occur", says="sysctls did not occur")
def no_fault(scene):
    scene.logs["a", 1]["events"].append(
        {"kind": "sysctls", "start": 1, "end": 2, "counts": {}})


@case("an ending that did not occur", says="reboot of b did not occur",
      **REBOOT)
def no_ending(scene):
    scene.logs["a", 1]["events"].pop()


@case("an exception in a guest", says="guest a: OSError")
def exception(scene):
    scene.logs["a", 1]["errors"].append("OSError: no")


def judge_case(change, mistake, count, says, scene):
    """Return what is wrong with the judgment."""
    scene = Scene(**scene)
    change(scene)
    judged = scene.judge()
    found = {what: judged.total(what) for what in referee.MISTAKES
             if judged.total(what)}
    wanted = {mistake: count} if mistake else {}
    # What arrives damaged has not arrived.
    if mistake == "corrupted":
        wanted["lost"] = count
    if found != wanted:
        return f"counted {found}, not {wanted}"
    if bool(judged.complaints) != bool(mistake or says):
        return f"complaints: {judged.complaints}"
    if says and not any(says in text for text in judged.complaints):
        return f"no '{says}' in {judged.complaints}"
    return None


MEMORY = [
    ("memory that stays", False, [500000 + 900 * (at % 3)
                                  for at in range(30)]),
    ("memory that is used once", False, [400000] * 12 + [480000] * 18),
    ("memory that is used at first", False, [100000, 500000] + [510000] * 30),
    ("memory that goes away slowly", True, [500000 + 600 * at
                                            for at in range(30)]),
    ("memory that goes away with noise", True,
     [500000 + 2500 * at + 3000 * (at % 2) for at in range(12)]),
]


def main():
    failed = 0
    for number, (name, change, *wanted) in enumerate(TESTS, 1):
        wrong = judge_case(change, *wanted)
        failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {number} - {name}")
        if wrong:
            print(f"# {wrong}")
    for number, (name, wanted, series) in enumerate(MEMORY, len(TESTS) + 1):
        good = endurance.grows(series) == wanted
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} - {name}")
    print(f"1..{len(TESTS) + len(MEMORY)}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
