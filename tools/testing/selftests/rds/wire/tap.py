# SPDX-License-Identifier: GPL-2.0
"""Tests and their results, in TAP."""

import signal
import time
import traceback

TESTS = []
LONG = set()		# names of those that only the long form runs
TIMEOUT = 60


class Failure(Exception):
    """The fault that a test has found."""


class Skip(Exception):
    """The reason why a test cannot run here."""


def test(name, timeout=TIMEOUT, long=False):
    """Mark a function as a test; it is called with the lab."""
    def add(function):
        TESTS.append((name, function, timeout))
        return function
    if long:
        LONG.add(name)
    return add


def expect(condition, text):
    if not condition:
        raise Failure(text)


def same(what, wanted, got):
    if wanted != got:
        raise Failure(f"{what}: wanted {shown(wanted)}, got {shown(got)}")


def shown(value):
    if isinstance(value, (bytes, bytearray)):
        value = f"{len(value)} bytes {bytes(value[:64]).hex(' ', 4)}"
    text = str(value)
    return text if len(text) < 400 else text[:400] + "..."


def within(seconds, what, condition):
    """Wait until CONDITION, a function, returns true, at most so long."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Failure(f"{what}: not within {seconds} s")
        time.sleep(0.05)


def say(text):
    for line in str(text).splitlines():
        print(f"# {line}", flush=True)


def on_alarm(_signal, _frame):
    raise Failure("took too long")


def run_one(name, function, timeout, lab):
    """Run a test. Return its line of TAP without the number: "ok", "not ok",
    or "ok" with the reason why it was skipped."""
    start = time.monotonic()
    signal.alarm(timeout)
    try:
        try:
            function(lab)
        finally:
            signal.alarm(timeout)
            lab.end_test()
    except Skip as why:
        return f"ok {{}} - {name} # SKIP {why}"
    except Exception as error:	# any error is this test's failure
        say(error if isinstance(error, Failure) else
            traceback.format_exc())
        if isinstance(error, Failure):
            for line in traceback.extract_tb(error.__traceback__):
                say(f"  {line.name}, line {line.lineno}")
        return f"not ok {{}} - {name}"
    finally:
        signal.alarm(0)
        took = time.monotonic() - start
        if took > 5:
            say(f"{name}: {took:.1f} s")
    return f"ok {{}} - {name}"


def run_all(lab, chosen, seconds=0):
    """Run the tests that CHOSEN selects, and again until SECONDS have passed.
    Return the exit status."""
    tests = [test for test in TESTS if chosen(test[0])]
    start = time.monotonic()
    number = failed = 0
    signal.signal(signal.SIGALRM, on_alarm)
    print("TAP version 13", flush=True)
    while tests and (not number or time.monotonic() - start < seconds):
        for test_ in tests:
            number += 1
            line = run_one(*test_, lab).format(number)
            failed += line.startswith("not")
            print(line, flush=True)
    print(f"1..{number}", flush=True)
    return 1 if failed or not number else 0
