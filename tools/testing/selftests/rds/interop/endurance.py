#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Run endure.py in two guests for hours, and judge what they leave, round by
round, while they go on. At the end print a table. The exit status is 0 if
nothing was lost, doubled, reordered or corrupted, all paths came back, no
kernel complained, and no guest used more and more memory.
"""
import argparse
import collections
import itertools
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

import plan
import referee

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[4]
# Seconds in which a round has to end, beside its own
PATIENCE = 900
# Rounds with complaints of which the files are kept
KEPT = 10
# Memory: the samples that a series needs, those at its beginning that do not
# count, and KiB by which it may grow
SAMPLES, WARM_UP, GROWTH = 8, 2, 8192
# The columns of the table
MEMORY = ["MemAvailable", "Slab", "SUnreclaim", "RDS"]


def grows(series):
    """Check whether the numbers rise more than a little, and all the time."""
    series = series[WARM_UP:]
    third = len(series) // 3
    if len(series) + WARM_UP < SAMPLES:
        return False
    low, middle, high = (statistics.median(part) for part in
                         (series[:third], series[third:-third],
                          series[-third:]))
    rise = high - low
    return rise > GROWTH and rise / 4 < middle - low < rise * 3 / 4


class Summary:
    """The sums over all rounds"""

    def __init__(self):
        self.rounds = 0
        self.counts = collections.defaultdict(collections.Counter)
        self.faults = collections.Counter()
        self.recoveries = {}
        self.lost_devices = 0
        self.complaints = []
        # Of each guest: (hour, sample)
        self.memory = {"a": [], "b": []}

    def add(self, judged, hour):
        self.rounds += 1
        for name, counts in judged.counts.items():
            self.counts[name].update(counts)
        self.faults.update(judged.faults)
        self.lost_devices += judged.lost_devices
        for kind, taken in judged.recoveries.items():
            self.recoveries[kind] = max(taken, self.recoveries.get(kind, 0))
        for guest, sample in judged.memory.items():
            if sample:
                self.memory[guest].append((hour, sample))
        self.complaints += [f"round {judged.round.number}: {complaint}"
                            for complaint in judged.complaints]

    def judge_memory(self):
        """Complain about each boot of a guest in which memory went away."""
        for guest, samples in self.memory.items():
            boots = itertools.groupby((sample for _, sample in samples),
                                      lambda sample: sample["boot"])
            for boot, members in boots:
                members = list(members)
                used = {"memory": [-one["MemAvailable"] for one in members],
                        "slabs": [one["SUnreclaim"] for one in members]}
                self.complaints += [
                    f"guest {guest}, boot {boot}: uses more and more {what}"
                    for what, series in used.items() if grows(series)]

    def message_lines(self):
        columns = ["messages", *referee.MISTAKES, "stale"]
        yield f"{'':28}" + "".join(f"{name:>11}" for name in columns)
        total = collections.Counter()
        for name, counts in sorted(self.counts.items()):
            total.update(counts)
            yield f"{name:28}" + "".join(f"{counts[column]:11}"
                                         for column in columns)
        yield f"{'all':28}" + "".join(f"{total[column]:11}"
                                      for column in columns)

    def fault_lines(self):
        yield f"{'fault':28}{'times':>11}{'longest recovery':>22}"
        names = [kind.name for kind in plan.KINDS] + list(plan.ENDINGS)
        for name in names:
            taken = self.recoveries.get(name)
            text = "-" if taken is None else f"{taken:.2f} s"
            yield f"{name:28}{self.faults[name]:11}{text:>22}"
        yield f"{'device lost':28}{self.lost_devices:11}"

    def memory_lines(self):
        """Print the first and the last sample of each hour and boot."""
        yield f"{'memory in KiB':28}" + "".join(f"{name:>22}"
                                                for name in MEMORY)
        for guest, samples in self.memory.items():
            def key(pair):
                return pair[0], pair[1]["boot"]
            for (hour, boot), members in itertools.groupby(samples, key):
                ends = [sample for _, sample in members]
                yield (f"{f'guest {guest}, hour {hour}, boot {boot}':28}" +
                       "".join(f"{ends[0][name]:>11}{ends[-1][name]:>11}"
                               for name in MEMORY))

    def table(self):
        return "\n".join([*self.message_lines(), "", *self.fault_lines(), "",
                          *self.memory_lines()])


class Host:
    """The run of the guests, as the host sees it"""

    def __init__(self, args):
        self.args = args
        self.lines = args.lines.split(",")
        self.kinds = plan.choose(re.compile(args.kinds), self.lines)
        self.endings = [ending for ending in plan.ENDINGS
                        if re.search(args.endings, ending)]
        self.summary = Summary()
        self.next = 0
        self.out = args.out
        self.token = f"token.{time.time_ns()}"
        self.began = self.moved = time.monotonic()
        self.guests = None

    def command(self):
        args = self.args
        guest = ["/usr/bin/python3", HERE / "endure.py"]
        env = {"RDS_FLOWS": args.programs / "flows", "RDS_TOKEN": self.token,
               "RDS_SEED": args.seed, "RDS_LINES": args.lines,
               "RDS_HOURS": args.hours, "RDS_SECONDS": args.seconds,
               "RDS_KINDS": args.kinds, "RDS_ENDINGS": args.endings,
               "RDS_RATE": args.rate}
        words = [TOP / "scripts/vm/run", "--pair", "--reboot-b", "--modules",
                 "rds", "--smp", 1, "--mem", args.mem, "--kernel",
                 args.kernel_a, "--kernel-b", args.kernel_b, "--timeout",
                 int(args.hours * 3600) + 3 * PATIENCE, "--results",
                 self.out / "rest"]
        for name, value in env.items():
            words += ["--env", f"{name}={value}"]
        return [str(word) for word in [*words, "--", *guest, "---", *guest]]

    def start(self):
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir(parents=True)
        with open(self.out / "log", "w", encoding="utf-8") as log:
            self.guests = subprocess.Popen(self.command(), stdout=log,
                                           stderr=subprocess.STDOUT,
                                           stdin=subprocess.DEVNULL)

    def share(self):
        """Return the directory into which the guests write, when it is
        there."""
        found = list((TOP / "build/vm").glob(f"run.*/results/{self.token}"))
        return found[0].parent if found else None

    def judge(self, directory):
        """Judge a round, and remove it; keep some that went wrong."""
        drawn = plan.draw(self.args.seed, self.next, self.args.seconds,
                          self.kinds, self.endings)
        judged = referee.Round(directory, self.args.seed, drawn, self.lines)
        judged.judge()
        hour = int((time.monotonic() - self.began) / 3600) + 1
        self.summary.add(judged, hour)
        self.report(judged)
        bad = self.out / "bad"
        if judged.complaints and len(list(bad.glob("*"))) < KEPT:
            shutil.copytree(directory, bad / directory.name)
        shutil.rmtree(directory)

    def report(self, judged):
        spent = (time.monotonic() - self.began) / 60
        wrong = [f"{judged.total(what)} {what}" for what in referee.MISTAKES
                 if judged.total(what)]
        print(f"{spent:6.1f} min: round {judged.round.number}, "
              f"{judged.total('messages')} messages, "
              f"{sum(judged.faults.values())} faults"
              f"{', ' + judged.round.ending if judged.round.ending else ''}: "
              f"{', '.join(wrong) or 'nothing wrong with messages'}",
              flush=True)
        for complaint in judged.complaints:
            print(f"# {complaint}", flush=True)

    def judge_new(self, share):
        """Judge the rounds that both guests have ended. Return whether no more
        will come."""
        while True:
            directory = share / f"{self.next:05}"
            if not all((directory / f"{guest}.done").exists()
                       for guest in "ab"):
                return (share / "end").exists() and not directory.exists()
            self.judge(directory)
            self.next += 1
            self.moved = time.monotonic()

    def follow(self):
        """Judge while the guests run."""
        while self.guests.poll() is None:
            time.sleep(1)
            share = self.share()
            if share and self.judge_new(share):
                (share / "judged").touch()
            if time.monotonic() > self.moved + self.args.seconds + PATIENCE:
                self.summary.complaints.append("no round ends any more")
                self.stop()

    def stop(self):
        if self.guests and self.guests.poll() is None:
            self.guests.terminate()
            self.guests.wait()

    def judge_rest(self):
        """Judge what is left when the guests have ended."""
        rest = self.out / "rest"
        status = self.guests.returncode
        if status:
            self.summary.complaints.append(
                f"the guests ended with status {status}: see {self.out}/log")
        if rest.exists() and not self.judge_new(rest):
            self.summary.complaints.append(f"round {self.next} did not end")
        if not self.summary.rounds:
            self.summary.complaints.append("no round was judged")
        self.summary.judge_memory()

    def verdict(self):
        """Print the table and what went wrong; return the exit status."""
        summary = self.summary
        spent = (time.monotonic() - self.began) / 3600
        bad = summary.complaints
        text = (f"\n{spent:.2f} hours, {summary.rounds} rounds, "
                f"RDS_SEED={self.args.seed}, {self.args.kernel_a} and "
                f"{self.args.kernel_b}\n\n{summary.table()}\n\n" +
                "".join(f"# {complaint}\n" for complaint in bad) +
                (f"FAILED: {len(bad)} complaints" if bad else "passed"))
        print(text)
        (self.out / "table").write_text(text + "\n")
        (self.out / "summary").write_text(json.dumps(
            {"memory": summary.memory, "recoveries": summary.recoveries}))
        return 1 if bad else 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, required=True)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--kernel-a", default="stock-6.1")
    parser.add_argument("--kernel-b", default="stock-6.1")
    parser.add_argument("--mem", type=int, default=1024)
    parser.add_argument("--lines", default="tcp,ib")
    parser.add_argument("--kinds", default=".")
    parser.add_argument("--endings", default=".")
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--rate", type=float, default=100)
    return parser.parse_args()


def main():
    host = Host(arguments())
    print(f"RDS_SEED={host.args.seed}", flush=True)
    host.start()
    try:
        host.follow()
        host.judge_rest()
    finally:
        host.stop()
    return host.verdict()


if __name__ == "__main__":
    sys.exit(main())
