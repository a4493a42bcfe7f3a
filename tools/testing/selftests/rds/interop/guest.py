#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Run in both guests of a pair at once: go through the cases in order, and
exchange messages in each. Results go to $RDS_RESULTS, which both share.

Environment:
  RDS_TRANSPORT  tcp (default) or ib
  RDS_RDMA       the device of ib: rxe (default), which is soft-RoCE, or siw,
                 which is soft-iWARP
  RDS_SYSCTLS_A, RDS_SYSCTLS_B
                 of the transport, in that guest: NAME=VALUE with blanks between
  RDS_CASES      regular expression of the cases to run (default: all)
  RDS_MESSAGES   in each case (default 2000)
  RDS_SECONDS    that these are spread over (default 3)
  RDS_LARGEST    bytes of a message (default 1 MiB)
  RDS_LINK_DOWN  seconds that the link is down (default 3)
  RDS_LIMIT      give up a case after so long without progress (default 40)
  RDS_WHOLE      regular expression of the cases without messages that are too
                 short to carry their number (default: none)
  RDS_OURS       if set, both ends run our implementation: completions are
                 reported, and all messages acknowledged
  RDS_FAILOVER   if set, addresses also move from guest to guest at the end
  RDS_REACH      if set, a program by which both ends operate on each other's
                 memory at the end; or find that they cannot, over TCP with
                 other implementations and over soft-iWARP
  RDS_TRACE      our tracepoints to be recorded, with blanks between them
"""
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

import failover
import faults
import modules
import net

ME = os.environ["RDS_GUEST"]
BOOT = int(os.environ["RDS_BOOT"])
RESULTS = pathlib.Path(os.environ["RDS_RESULTS"])
FLOWS = os.environ["RDS_FLOWS"]
OURS = os.environ.get("RDS_OURS")
TRANSPORT = os.environ.get("RDS_TRANSPORT", "tcp")
RDMA = os.environ.get("RDS_RDMA", "rxe")
SYSCTLS = os.environ.get(f"RDS_SYSCTLS_{ME.upper()}", "").split()
MESSAGES = int(os.environ.get("RDS_MESSAGES", 2000))
LARGEST = int(os.environ.get("RDS_LARGEST", 1 << 20))
SECONDS = float(os.environ.get("RDS_SECONDS", 3))
LIMIT = int(os.environ.get("RDS_LIMIT", 40))
WHOLE = os.environ.get("RDS_WHOLE", "^$")

TRACING = pathlib.Path("/sys/kernel/tracing")


def trace_on():
    if os.environ["RDS_MODULES"] == "ours":
        for event in os.environ.get("RDS_TRACE", "").split():
            (TRACING / "events/rds" / event / "enable").write_text("1")


def trace_store(file):
    """Write what was recorded since the last call."""
    text = (TRACING / "trace").read_text()
    (TRACING / "trace").write_text("")
    if "#P:" in text and re.search("^[^#]", text, re.M):
        file.write_text(text)


class Group:
    """Two addresses: which guest has the lower one, and which sends first."""

    def __init__(self, family, lower, starter):
        self.family = family
        self.lower = lower
        self.starter = starter
        self.name = f"IPv{family} {lower} lower"
        if starter != "both":
            self.name += f" {starter} starts"

    def address(self, case, number, guest):
        low = 1 if guest == self.lower else 2
        if self.family == 4:
            return f"10.{64 + case}.{number}.{low}"
        return f"fdc0:{case}:{number}::{low}"


# The modules, in the order in which they are loaded
MODULES = ["rds", {"tcp": "rds_tcp", "ib": "rds_rdma"}[TRANSPORT]]

# On an iWARP device only IPv4 addresses are served.
FAMILIES = [4] if TRANSPORT == "ib" and RDMA == "siw" else [4, 6]
TWO = [Group(4, "a", "both"), Group(6, "b", "both")]
ALL = [Group(family, lower, starter) for family in (4, 6)
       for lower in "ab" for starter in ("a", "b", "both")]


class Case:
    """One kind of fault, the guests in which it occurs, and the fault in the
    others. If RETURNS is set, guest b returns: its modules are loaded again,
    or it is booted again.
    """

    def __init__(self, name, fault=faults.Fault, where="ab",
                 elsewhere=faults.Fault, groups=None, returns=None):
        self.name = name
        self.fault = fault
        self.where = where
        self.elsewhere = elsewhere
        self.groups = [group for group in groups or TWO
                       if group.family in FAMILIES]
        self.returns = returns


def netem(what):
    return functools.partial(faults.Netem, what=what)


TCP_CASES = [
    Case("contact", groups=ALL),
    Case("loss", netem("loss")),
    Case("corruption", netem("corruption")),
    Case("duplication", netem("duplication")),
    Case("reordering", netem("reordering")),
    Case("delay", netem("delay")),
    Case("link-down", faults.LinkDown, "b"),
    Case("paths-killed-a", faults.KillPaths, "a", faults.Distance),
    Case("paths-killed-b", faults.KillPaths, "b", faults.Distance),
    Case("buffers", faults.Buffers),
    Case("address-gone", faults.AddressGone),
    Case("address-moves", faults.AddressMoves),
    Case("modules-reloaded", returns="modules"),
    Case("rebooted", faults.Reboot, "a", returns="machine"),
]

# Soft-RoCE sends again everything from the lost packet on, half a second
# later.
IB_CASES = [
    Case("contact", groups=ALL),
    Case("loss", netem("some loss")),
    Case("delay", netem("delay")),
    Case("wire-cut", faults.WireCut, "b"),
    Case("link-down", faults.LinkAndDeviceGone, "a"),
    Case("device-gone", faults.DeviceGone, "a"),
    Case("address-gone", faults.RdmaAddressGone),
    Case("route-gone", faults.RouteGone, "a"),
    Case("modules-reloaded", returns="modules"),
    Case("rebooted", faults.Reboot, "a", returns="machine"),
]

CASES = {"tcp": TCP_CASES, "ib": IB_CASES}[TRANSPORT]
if faults.Points.EVERY:
    CASES = [Case("points", faults.Points)]


class Run:
    """This guest's part in one case"""

    def __init__(self, pair, case):
        self.pair = pair
        self.case = case
        self.index = CASES.index(case) + 1
        self.dir = RESULTS / case.name
        self.dir.mkdir(exist_ok=True)
        self.addresses = [self.address(number, ME)
                          for number in range(len(case.groups))]
        fault = case.fault if ME in case.where else case.elsewhere
        self.fault = fault(pair, self.addresses, self.dir)

    def address(self, number, guest):
        return self.case.groups[number].address(self.index, number, guest)

    def start_flows(self, life):
        command = [FLOWS, "--me", ME, "--dir", self.dir, "--life", life,
                   "--messages", MESSAGES, "--seconds", SECONDS,
                   "--largest", LARGEST, "--limit", LIMIT]
        if len(self.case.groups) > len(TWO):
            command += ["--sockets", 2]
        if TRANSPORT == "ib":
            command += ["--ib"]
        if OURS:
            command += ["--lends", "--acked"]
        if self.case.returns or re.search(WHOLE, self.case.name):
            command += ["--whole"]
        if self.case.returns and ME == "a":
            command += ["--returns"]
        for number, group in enumerate(self.case.groups):
            words = [group.name, self.address(number, ME),
                     self.address(number, self.pair.peer), group.starter]
            command += ["--group", ",".join(words)]
        return subprocess.Popen([str(word) for word in command])

    def said(self, guest, what, life=1):
        return (self.dir / f"{guest}.{life}.{what}").exists()

    def await_both(self, what, process, life):
        """Wait until both ends have come so far; return False if this end has
        ended before."""
        lives = {ME: life, self.pair.peer:
                 2 if self.case.returns and ME == "a" and what == "sent"
                 else 1}
        while process.poll() is None:
            if all(self.said(guest, what, lives[guest]) for guest in lives):
                return True
            time.sleep(0.05)
        return False

    def follow(self, process, life):
        """Let the fault occur while messages flow."""
        if life > 1 or not self.await_both("flows", process, life):
            process.wait()
            return process
        stop = threading.Event()
        trouble = threading.Thread(target=self.fault.run, args=[stop])
        trouble.start()
        if self.case.returns == "modules" and ME == "b":
            process = self.reload(process)
        else:
            self.await_both("sent", process, life)
        stop.set()
        trouble.join()
        process.wait()
        return process

    def reload(self, process):
        """Unload the modules while the peer sends, load them, and return."""
        time.sleep(0.7)
        process.kill()
        process.wait()
        modules.unload([MODULES[1], "rds_loop", "rds"])
        self.fault.report_gone()
        load()
        self.fault.count("reloaded")
        return self.start_flows(2)

    def run(self, life):
        started = time.monotonic()
        for address in self.addresses:
            self.pair.address("add", address)
        self.fault.prepare()
        process = self.follow(self.start_flows(life), life)
        self.fault.restore()
        trace_store(self.dir / f"{ME}.{life}.trace")
        self.note(process.returncode, time.monotonic() - started)

    def note(self, status, seconds):
        print(f"{self.case.name}: {seconds:.1f} s, status {status}, "
              f"{self.fault.counts or ''}", flush=True)
        counts = json.dumps(self.fault.counts)
        (self.dir / f"{ME}.faults").write_text(counts)


def load():
    modules.load(MODULES)
    for setting in SYSCTLS:
        name, value = setting.split("=")
        net.sysctl(f"net/rds/{TRANSPORT}/{name}", value)
    trace_on()


def current(case=None):
    """Return the case that b is in, because b may be switched off during
    one."""
    file = RESULTS / "current"
    if case:
        file.write_text(case.name)
    return file.read_text()


def reach(pair):
    """Each end writes and reads the other's memory, if it can."""
    how = "unmapped" if RDMA == "siw" else "works"
    if TRANSPORT == "tcp" and not OURS:
        how = "fails" if os.environ["RDS_MODULES"] == "ours" else "meets"
    mine, other = ("10.100.0.1", "10.100.0.2")[::1 if ME == "a" else -1]
    pair.address("add", mine)
    done = subprocess.run([os.environ["RDS_REACH"], ME, how, TRANSPORT, mine,
                           other], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8")
    (RESULTS / f"reach.{ME}").write_text(
        f"{done.returncode} {done.stdout.strip()}")
    print(f"reach: status {done.returncode}, {done.stdout.strip()}",
          flush=True)


def record_cases(cases):
    """Record which cases are to be judged, whatever happens to them."""
    names = [case.name for case in cases]
    if os.environ.get("RDS_REACH"):
        names.append("reach")
    if os.environ.get("RDS_FAILOVER"):
        names.append(failover.NAME)
    (RESULTS / "cases").write_text(json.dumps(names))


def main():
    wanted = re.compile(os.environ.get("RDS_CASES", "."))
    cases = [case for case in CASES if wanted.search(case.name)]
    if ME == "a" and BOOT == 1:
        record_cases(cases)
    if BOOT > 1:
        while cases[0].name != current():
            cases.pop(0)
    pair = net.Pair(ME, RDMA)
    pair.set_up()
    if TRANSPORT == "ib":
        pair.rdma("add")
    load()
    for case in cases:
        again = BOOT > 1 and case.name == current()
        if ME == "b":
            current(case)
        Run(pair, case).run(2 if again else 1)
    if os.environ.get("RDS_REACH"):
        reach(pair)
    if os.environ.get("RDS_FAILOVER"):
        failover.run(pair, RESULTS)
        trace_store(RESULTS / failover.NAME / f"{ME}.trace")


if __name__ == "__main__":
    sys.exit(main())
