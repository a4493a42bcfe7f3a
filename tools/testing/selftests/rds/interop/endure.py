#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Run in both guests of a pair at once: exchange messages for hours, round after
round, over all transports, while random faults occur (see plan.py). What was
sent and received goes to $RDS_RESULTS, where endurance.py on the host reads,
judges and removes it.

Environment, beside that of scripts/vm/run; endurance.py sets all of it:
  RDS_FLOWS    the program that exchanges messages
  RDS_TOKEN    a file of this name is created in $RDS_RESULTS
  RDS_SEED     of the plan
  RDS_LINES    transports between the guests, with commas between: tcp, ib
  RDS_HOURS    no round begins later
  RDS_SECONDS  of a round
  RDS_KINDS    regular expression of the kinds of faults
  RDS_ENDINGS  regular expression of the ways in which a guest's RDS ends
  RDS_RATE     messages each second of each transport and loopback
"""
import collections
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import threading
import time
import traceback

import modules
import net
import plan
import upheavals

ME = os.environ["RDS_GUEST"]
PEER = "b" if ME == "a" else "a"
BOOT = int(os.environ["RDS_BOOT"])
RESULTS = pathlib.Path(os.environ["RDS_RESULTS"])
SEED = os.environ["RDS_SEED"]
LINES = os.environ["RDS_LINES"].split(",")
SECONDS = int(os.environ["RDS_SECONDS"])
RATE = float(os.environ["RDS_RATE"])
KINDS = plan.choose(re.compile(os.environ["RDS_KINDS"]), LINES)
ENDINGS = [ending for ending in plan.ENDINGS
           if re.search(os.environ["RDS_ENDINGS"], ending)]
TRANSPORTS = {"tcp": "rds_tcp", "ib": "rds_rdma"}
MODULES = ["rds", *(TRANSPORTS[line] for line in LINES)]
# Bytes of a message. Some of 1 MiB would take most of the time.
LARGEST = 65536
# Seconds without any progress
LIMIT = 90
PATIENCE = 300

Part = collections.namedtuple("Part", "name me groups option directory")


def addresses(line, end):
    """Return the addresses of an end. That with the lower IPv4 address has the
    higher IPv6 address."""
    number = "ab".index(end) + 1
    net4, net6 = {"tcp": ("10.128.0", "fdc8:1:"), "ib": ("10.64.0", "fdc0:1:"),
                  "loopa": ("10.192.1", "fdd0:1:"),
                  "loopb": ("10.192.2", "fdd0:2:")}[line]
    return [f"{net4}.{number}", f"{net6}:{3 - number}"]


def groups(line, me):
    there = "b" if me == "a" else "a"
    pairs = zip(addresses(line, me), addresses(line, there))
    return [f"{line} IPv{4 if '.' in local else 6},{local},{remote},both"
            for local, remote in pairs]


def wait_for(done, what, seconds=PATIENCE):
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            raise RuntimeError(f"no {what} in {seconds} s")
        time.sleep(0.05)


class Scene:
    """This guest's devices, addresses and modules"""

    def __init__(self):
        self.mine = {line: addresses(line, ME) for line in LINES}
        tcp = upheavals.TcpPair(ME)
        unsafe = [address for address in self.mine.get("ib", [])
                  if ":" in address]
        self.pairs = {"tcp": tcp,
                      "ib": upheavals.RdmaPair(ME, tcp, unsafe)}

    def set_up(self):
        self.pairs["ib"].set_up()
        self.pairs["tcp"].set_up()
        for end in "ab":
            for address in addresses(f"loop{ME}", end):
                self.pairs["tcp"].address("add", address, "lo")
        if "ib" in LINES:
            self.set_up_rdma()
        for address in self.mine.get("tcp", []):
            self.pairs["tcp"].address("add", address)
        modules.load(MODULES)

    def set_up_rdma(self):
        """The other end may send already: see upheavals.RdmaPair."""
        pair = self.pairs["ib"]
        pair.refuse_roce()
        for address in self.mine["ib"]:
            pair.address("add", address)
        pair.admit_roce()
        pair.rdma("add")

    def fault(self, event, directory):
        """Return the fault; one of both transports is one of the wire."""
        line = "ib" if event.kind.line == "all" else event.kind.line
        fault = upheavals.FAULTS[event.kind.name](
            self.pairs[line], self.mine.get(line, []), directory)
        fault.down = event.seconds
        return fault


class Round:
    """This guest's part in one round"""

    def __init__(self, scene, number, life):
        self.scene = scene
        self.life = life
        self.round = plan.draw(SEED, number, SECONDS, KINDS, ENDINGS)
        self.dying = plan.ENDINGS.get(self.round.ending)
        self.dir = RESULTS / f"{number:05}"
        self.processes = {}
        self.log = {"events": [], "errors": [], "began": None}
        self.lock = threading.Lock()

    def part(self, line, me=ME, suffix=""):
        directory = self.dir / (line + suffix)
        directory.mkdir(exist_ok=True, parents=True)
        option = ("--" + line,) if line in LINES else ()
        return Part(line, me, tuple(groups(line, me)), option, directory)

    def parts(self):
        """Return the ends of this guest: one to the other guest for each
        transport, and both ends of the messages within the guest."""
        suffix = ".2" if self.life > 1 else ""
        loop = "loop" + ME
        return [*(self.part(line) for line in LINES),
                self.part(loop, "a", suffix), self.part(loop, "b", suffix)]

    def start(self, part):
        to_peer = part.name in LINES
        life = self.life if to_peer else 1
        # With an ending, as many are sent before and after it. An end with
        # two lives, or with a peer that has, sends half of its messages in
        # each, but for the life that ends.
        seconds = SECONDS / 2 if self.dying else SECONDS
        halves = to_peer and (life > 1 or self.dying == PEER)
        messages = RATE * (SECONDS if halves else seconds)
        command = [os.environ["RDS_FLOWS"], "--me", part.me, "--dir",
                   part.directory, "--life", life, "--messages",
                   int(messages), "--seconds", seconds, "--largest", LARGEST,
                   "--limit", LIMIT, "--sockets", 2, "--lends", "--acked",
                   "--whole", "--journal", *part.option]
        if to_peer and self.dying == PEER:
            command += ["--returns"]
        for group in part.groups:
            command += ["--group", group]
        self.processes[part] = subprocess.Popen([str(word)
                                                 for word in command])

    def start_all(self):
        for part in self.parts():
            self.start(part)
        upheavals.MemoryLimit.PROCESSES = list(self.processes.values())

    def flow(self):
        """Check whether messages flow everywhere."""
        for part in self.processes:
            if not all((part.directory / f"{end}.1.flows").exists()
                       for end in "ab"):
                return False
        return True

    def ended(self):
        return all(process.poll() is not None
                   for process in self.processes.values())

    def now(self):
        return time.monotonic() - self.log["began"]

    def save(self):
        with self.lock:
            file = self.dir / f"{ME}.{self.life}.log"
            file.with_suffix(".new").write_text(json.dumps(self.log))
            file.with_suffix(".new").rename(file)

    def note(self, kind, start, counts):
        self.log["events"].append({"kind": kind, "start": start,
                                   "end": self.now(), "counts": counts})
        self.save()

    def note_error(self):
        text = traceback.format_exc()
        print(text, flush=True)
        self.log["errors"].append(text.strip().splitlines()[-1])
        self.save()

    def cause(self, event):
        """Let a fault begin and end."""
        time.sleep(max(0, event.start - self.now()))
        begun = self.now()
        fault = self.scene.fault(event, self.dir)
        stop = threading.Event()
        timer = threading.Timer(event.seconds, stop.set)
        timer.start()
        try:
            fault.prepare()
            fault.run(stop)
            stop.wait()
        finally:
            timer.cancel()
            fault.restore()
        self.note(event.kind.name, begun, fault.counts)

    def try_to(self, what, *args):
        try:
            what(*args)
        except Exception:	# any: the referee has to be told
            self.note_error()

    def report_gone(self):
        """Tell the other ends, while this end's RDS is away."""
        lines = [self.dir / line for line in LINES]
        for line in lines:
            (line / "gone").touch()
        survivor = "b" if self.dying == "a" else "a"
        wait_for(lambda: all((line / f"{survivor}.1.noted").exists()
                             for line in lines), "note of the end", 60)

    def reload(self):
        begun = self.now()
        for process in self.processes.values():
            process.kill()
            process.wait()
        modules.unload([*MODULES[:0:-1], "rds_loop", "rds"])
        self.report_gone()
        modules.load(MODULES)
        self.processes.clear()
        self.note(self.round.ending, begun, {})
        self.life = 2
        self.log = {"events": [], "errors": [], "began": self.log["began"]}
        self.start_all()

    def reboot(self):
        """Switch the other guest off and on."""
        begun = self.now()
        request = RESULTS / "reboot-b"
        request.touch()
        wait_for(lambda: not request.exists(), "end of guest b")
        self.report_gone()
        self.note(self.round.ending, begun, {})

    def end(self):
        time.sleep(max(0, plan.death(SEED, self.round.number) - self.now()))
        if self.round.ending == "reboot of b":
            if ME == "a":
                self.reboot()
        elif self.dying == ME:
            self.reload()

    def upset(self):
        """Let all happen that is planned, from when all flow."""
        wait_for(lambda: self.flow() or self.ended(), "flow of messages")
        self.log["began"] = time.monotonic()
        self.save()
        if self.life > 1:
            return
        threads = [threading.Thread(target=self.try_to,
                                    args=[self.cause, event])
                   for event in self.round.events if ME in event.guests]
        for thread in threads:
            thread.start()
        if self.dying == ME:
            for thread in threads:
                thread.join()
        if self.dying:
            self.end()
        for thread in threads:
            thread.join()

    def run(self):
        random.seed(f"{SEED}/{self.round.number}/{ME}")
        self.dir.mkdir(exist_ok=True)
        self.start_all()
        self.try_to(self.upset)
        for part, process in self.processes.items():
            if process.wait():
                self.log["errors"].append(f"{part.name}, end {part.me}: "
                                          f"status {process.returncode}")
        self.log["memory"] = memory()
        self.save()
        (self.dir / f"{ME}.done").touch()


def memory():
    """Return KiB, by name, without what the kernel would give up. A boot of its
    own begins a series of its own."""
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")
    time.sleep(0.5)
    text = pathlib.Path("/proc/meminfo").read_text()
    names = "MemAvailable", "Slab", "SUnreclaim", "Percpu", "VmallocUsed"
    sample = {name: int(re.search(rf"^{name}: +(\d+)", text, re.M)[1])
              for name in names}
    slabs = pathlib.Path("/proc/slabinfo").read_text()
    sample["RDS"] = sum(int(count) * int(size) for count, size in re.findall(
        r"^rds\S* +\d+ +(\d+) +(\d+)", slabs, re.M)) // 1024
    sample["boot"] = BOOT
    return sample


def await_start(number, deadline):
    """Return whether there is such a round. Guest a decides."""
    directory = RESULTS / f"{number:05}"
    over = RESULTS / "end"
    if ME == "a":
        if time.monotonic() > deadline:
            over.touch()
            return False
        directory.mkdir()
        (directory / "go").touch()
        return True
    wait_for((lambda: (directory / "go").exists() or over.exists()),
             "start of a round", 1200)
    return not over.exists()


def main():
    deadline = time.monotonic() + float(os.environ["RDS_HOURS"]) * 3600
    scene = Scene()
    scene.set_up()
    number, life = 0, 1
    current = RESULTS / "current"
    if BOOT > 1:
        number, life = int(current.read_text()), 2
    elif ME == "a":
        (RESULTS / os.environ["RDS_TOKEN"]).touch()
    while life > 1 or await_start(number, deadline):
        if ME == "b":
            current.write_text(str(number))
        Round(scene, number, life).run()
        number, life = number + 1, 1
    # The results are gone when the guests are.
    wait_for((RESULTS / "judged").exists, "judgment", 600)


if __name__ == "__main__":
    sys.exit(main())
