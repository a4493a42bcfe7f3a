#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Run in both guests of a pair at once: streams that carry data all the time, and
what befalls their hosts meanwhile. Streams go on with every byte right, or end
with the right error at both ends, in time. Guest a has the tests, and prints
results in TAP; guest b obeys.

Environment:
  RDS_STREAMS    the program streams
  RDS_TRANSPORT  tcp (default) or ib, which is soft-RoCE
  RDS_STREAM_CASES
                 regular expression of the tests to run (default: all)
  RDS_COUNT      streams of each address family (default 2)
  RDS_FLAPS      how often a fault that passes is repeated (default 2)
  RDS_CUT        seconds that the wire is cut (default 2)
  RDS_SECONDS    run the tests again until so much time has passed (default:
                 once)
"""
import os
import re
import sys
import time

import streams_host as hosts
from tap import Failure, expect, run_all, say, test, within

ME = os.environ["RDS_GUEST"]
COUNT = int(os.environ.get("RDS_COUNT", 2))
FLAPS = int(os.environ.get("RDS_FLAPS", 2))
CUT = float(os.environ.get("RDS_CUT", 2))
PAIRS = [f"{near},{far}" for near, far in zip(hosts.ADDRESSES["a"],
                                              hosts.ADDRESSES["b"])]
TCP = hosts.TRANSPORT == "tcp"
# A test may take so long: a guest that boots is slow on a busy host.
TIMEOUT = 300
# Bytes that each end of a stream must get and send for the stream to flow
ENOUGH = 50000
# Seconds until streams flow, or have ended. A path may have to be connected
# again.
PATIENCE = 40
# Seconds until both ends know that a program has gone; and that a host was
# booted again, once it is back. TCP takes 10 s to detect that the peer was gone.
# Over InfiniBand this takes up to 20 s, and an attempt to connect without a
# response takes 5 s more.
SOON, LATER = 5, 13 if TCP else 25
# The limits that streams set for themselves, in seconds, and how much later
# they may end on a busy host
TIME_LIMIT, SLACK = 3, 10
# How halves of a stream end when the peer is closed, or has forgotten the
# stream. The call that does not get the error of the stream finds it shut.
CLOSED = {"in": {"finished", "ECONNRESET"}, "out": {"EPIPE", "ECONNRESET"}}
# The writer of a server may find the stream ended when it shuts it down.
SERVER_CLOSED = {**CLOSED, "out": {"finished", "ENOTCONN", *CLOSED["out"]}}


class Lab:
    """Both hosts, and the streams between them"""

    def __init__(self):
        self.near = hosts.Host("a")
        self.far = hosts.Far()
        self.drivers = []
        self.next = 0

    def drive(self):
        """Open streams, and have them flow."""
        driver = hosts.Program("drive", hosts.PORT, self.next, COUNT, *PAIRS)
        self.next += COUNT * len(PAIRS)
        self.drivers.append(driver)
        # The server may still have to accept the last ones.
        within(PATIENCE, "all streams at the server",
               lambda: set(map(str, driver.report())) <= set(self.far.report()))
        self.flow(driver, "at first")
        return driver

    def serve_and_drive(self):
        self.far.serve()
        return self.drive()

    def ends(self, driver):
        """Report the streams of the driver, as each end sees them."""
        near, far = driver.report(), self.far.report()
        both = {"a": near, "b": {number: far[str(number)] for number in near}}
        for guest, streams in both.items():
            for number, stream in streams.items():
                expect(not stream["wrong"],
                       f"guest {guest}, stream {number}: a wrong byte")
        return both

    def counts(self, driver):
        """Return the bytes of each half. All must be open."""
        counts = {}
        for guest, streams in self.ends(driver).items():
            for number, stream in streams.items():
                for half in ("in", "out"):
                    name = f"guest {guest}, stream {number} {half}"
                    how = stream[half]["how"]
                    expect(how == "open", f"{name}: ended by {how}")
                    counts[name] = stream[half]["bytes"]
        return counts

    @staticmethod
    def near_open(driver):
        """Check that no stream of the driver has ended."""
        for number, stream in driver.report().items():
            for half in ("in", "out"):
                how = stream[half]["how"]
                expect(how == "open", f"stream {number} {half}: ended by {how}")

    def flow(self, driver, when):
        """Wait until each stream has carried data in both directions."""
        begin = counts = self.counts(driver)
        deadline = time.monotonic() + PATIENCE
        while any(counts[name] < begin[name] + ENOUGH for name in begin):
            if time.monotonic() > deadline:
                still = [f"{name}: {counts[name] - begin[name]}"
                         for name in begin
                         if counts[name] < begin[name] + ENOUGH]
                raise Failure(f"{when}: no flow within {PATIENCE} s: {still}")
            time.sleep(0.05)
            counts = self.counts(driver)
        say(f"{when}: {sum(begin.values())} bytes in all, then "
            f"{sum(counts.values())}")

    def still(self, driver, seconds):
        """Check that nothing flows for so long, and that no stream ends."""
        time.sleep(0.3)
        begin = self.counts(driver)
        time.sleep(seconds)
        now = self.counts(driver)
        for name in begin:
            expect("out" in name or begin[name] == now[name],
                   f"{name}: flows, in spite of the fault")

    def finish(self, driver):
        """End the streams in order. Each end must have got what the other one
        has sent."""
        driver.tell("finish")
        within(PATIENCE, "the end of all streams", lambda: all(
            stream[half]["how"] != "open" for streams in
            self.ends(driver).values() for stream in streams.values()
            for half in ("in", "out")))
        ends = self.ends(driver)
        for number, near in ends["a"].items():
            far = ends["b"][number]
            halves = [near["in"], far["out"], near["out"], far["in"]]
            expect({half["how"] for half in halves} == {"finished"} and
                   near["in"]["bytes"] == far["out"]["bytes"] and
                   near["out"]["bytes"] == far["in"]["bytes"],
                   f"stream {number}: {near}, at the other end {far}")

    def ended(self, report, numbers, allowed, needed=None):
        """Wait until all streams have ended, each half in a way that is
        allowed, and one of them as needed. Return when each has, by the clock
        of that guest."""
        def all_ended():
            streams = report()
            return all(streams[number][half]["how"] != "open"
                       for number in numbers for half in ("in", "out"))
        within(PATIENCE, "the end of all streams", all_ended)
        streams = report()
        for number in numbers:
            stream = streams[number]
            hows = {half: stream[half]["how"] for half in ("in", "out")}
            expect(not stream["wrong"], f"stream {number}: a wrong byte")
            expect(all(hows[half] in allowed[half] for half in hows) and
                   (not needed or needed in hows.values()),
                   f"stream {number} ended by {hows}")
        return [streams[number][half]["ms"] / 1000 for number in numbers
                for half in ("in", "out")]

    def near_ended(self, driver, allowed, needed=None):
        return self.ended(driver.report, driver.report(), allowed, needed)

    def far_ended(self, driver):
        """Wait until the streams of a driver, which may be dead, have ended at
        the other end."""
        numbers = range(int(driver.words[2]), int(driver.words[2]) +
                        COUNT * len(PAIRS))
        return self.ended(self.far.report, [str(number) for number in numbers],
                          SERVER_CLOSED)

    def new_streams(self):
        """After a fault, new streams must work."""
        self.finish(self.serve_and_drive())

    def end_test(self):
        for driver in self.drivers:
            driver.kill()
        self.drivers = []
        self.near.mend()
        self.far.mend()


def took(what, since, times, limit):
    """Check how long after SINCE the last one of TIMES was."""
    say(f"{what}: after {min(times) - since:.2f} to {max(times) - since:.2f} s")
    expect(max(times) - since <= limit, f"{what}: later than {limit} s")


def reset(error):
    """Return the ways to end for a stream with that error."""
    return {"in": {"finished", error}, "out": {"EPIPE", error}}


# The link does not go down: the emulated wire of a guest stops when the other
# guest's link is down, and with it all of the guest. If the link of a soft-RoCE
# device goes down while a connection is made or ended, the device never makes
# another one.
@test("streams go on after the wire was cut", TIMEOUT)
def wire_cut(lab):
    driver = lab.serve_and_drive()
    for _ in range(FLAPS):
        lab.near.cut()
        lab.far.cut()
        lab.still(driver, CUT)
        lab.near.mend()
        lab.far.mend()
        lab.flow(driver, "after the fault")
    lab.finish(driver)


def kill_paths(lab):
    """Abort paths while data is in flight."""
    for host in (lab.near, lab.far):
        host.distance()
    for turn in range(5 * FLAPS):
        time.sleep(0.2)
        host = (lab.near, lab.far)[turn % 2]
        within(PATIENCE, "a path to kill", host.kill_path)
    for host in (lab.near, lab.far):
        host.mend()


def remove_device(lab):
    for _ in range(FLAPS):
        lab.near.device("del")
        time.sleep(0.3)
        lab.near.device("add")
        time.sleep(1)


@test("streams go on after their paths were reset", TIMEOUT)
def paths_reset(lab):
    driver = lab.serve_and_drive()
    before = lab.near.counter("conn_reset")
    if TCP:
        kill_paths(lab)
    else:
        remove_device(lab)
    dropped = lab.near.counter("conn_reset") - before
    say(f"{dropped} paths dropped")
    expect(dropped >= FLAPS, "the paths were not reset")
    lab.flow(driver, "after the fault")
    lab.finish(driver)


@test("a server is killed", TIMEOUT)
def server_killed(lab):
    driver = lab.serve_and_drive()
    since = time.monotonic()
    lab.far.kill()
    took("streams end", since, lab.near_ended(driver, CLOSED), SOON)
    lab.new_streams()


@test("a client is killed", TIMEOUT)
def client_killed(lab):
    driver = lab.serve_and_drive()
    since = lab.far.now()
    lasted = driver.kill()
    expect(lasted <= SOON, f"its end took {lasted:.1f} s")
    took("streams end", since, lab.far_ended(driver), SOON)
    lab.finish(lab.drive())


@test("a host is switched off and on", TIMEOUT)
def rebooted(lab):
    driver = lab.serve_and_drive()
    boots = hosts.boots()
    request = hosts.RESULTS / "reboot-b"
    request.touch()
    within(PATIENCE, "the end of guest b", lambda: not request.exists())
    time.sleep(1)
    lab.near_open(driver)
    within(hosts.LONG_PATIENCE, "the boot of guest b",
           lambda: hosts.boots() > boots)
    took("streams end", time.monotonic(),
         lab.near_ended(driver, reset("ECONNRESET"), "ECONNRESET"), LATER)
    lab.new_streams()


@test("the modules are loaded again, and the peer is not told", TIMEOUT)
def reloaded(lab):
    driver = lab.serve_and_drive()
    expect(lab.far.in_use("rds_stream"), "its module is not in use")
    lab.far.sysctl("stream/close_stall_ms", 1000)
    lab.far.cut()
    lab.far.kill()
    lab.far.unload()
    lab.far.load()
    since = time.monotonic()
    lab.far.mend()
    took("streams end", since,
         lab.near_ended(driver, reset("ECONNRESET"), "ECONNRESET"), LATER)
    lab.new_streams()


@test("a host is cut off for good", TIMEOUT)
def cut_off(lab):
    lab.far.serve()
    drivers = [lab.drive() for _ in range(3)]
    lab.near.sysctl("stream/close_stall_ms", 1000)
    stalled = lab.near.counter("stream_closed_stalled")
    # Not before: on a busy host, the peer may be that late at any time.
    drivers[0].tell(f"timeout {TIME_LIMIT}")
    drivers[1].tell("keepalive")
    before = time.monotonic()
    lab.near.cut()
    since = time.monotonic()
    lab.far.cut()
    for driver, what in zip(drivers, ("TCP_USER_TIMEOUT", "SO_KEEPALIVE")):
        ends = lab.near_ended(driver, reset("ETIMEDOUT"), "ETIMEDOUT")
        took(what, since, ends, TIME_LIMIT + SLACK)
        expect(min(ends) - before > TIME_LIMIT / 2, f"{what}: too early")
    time.sleep(max(0, since + 2 * TIME_LIMIT - time.monotonic()))
    lab.near_open(drivers[2])
    lasted = drivers[2].kill()
    expect(lasted <= SOON, f"its end took {lasted:.1f} s")
    closed = COUNT * len(PAIRS)
    within(1 + SLACK, "close_stall_ms", lambda:
           lab.near.counter("stream_closed_stalled") == stalled + closed)
    for driver in drivers:
        driver.kill()
    lab.near.unload("rds_stream")
    lab.near.mend()
    lab.far.mend()
    since = lab.far.now()
    for driver in drivers:
        took("the other end", since, lab.far_ended(driver), LATER)
    lab.near.load()
    lab.new_streams()


def main():
    if ME == "b":
        hosts.obey()
        return 0
    cases = re.compile(os.environ.get("RDS_STREAM_CASES", "."))
    lab = Lab()
    lab.near.set_up()
    status = run_all(lab, cases.search, int(os.environ.get("RDS_SECONDS", 0)))
    lab.far.order("end", [])
    return status


if __name__ == "__main__":
    sys.exit(main())
