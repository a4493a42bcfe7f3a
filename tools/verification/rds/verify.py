#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""verify.py [--long] [--jobs N] [MODEL...]

Search the models in this directory by spin, the short searches or with --long
the long ones, and print the results as TAP. A model lists its searches in its
first comment, one per line:

     * search: check clean safety
     * search: check clean ltl NAME -DPEERS=2
     * search: check finds end-state safety -DFAULT_X -- what the fault is
     * search: soak clean safety -DPEERS=3 depth=2000000

"check" is a short search, "soak" a long one. A "clean" search has to end
without an error. A "finds" search has a fault put in, and has to find an error
of this kind: assertion, end-state or cycle. A search that does not cover all
states fails, unless it has found what it should.

Words with -D go to spin, words with pan: to the compiler of the search. The
models include tables.pml, which tables.py makes from the code.
"""

import argparse
import concurrent.futures
import dataclasses
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
DEPTH = 100000
MEGABYTES = {"check": 1500, "soak": 12000}
# Seconds that one search may take
LIMIT = {"check": 120, "soak": 3600}
ERRORS = {
    "assertion": "assertion violated",
    "end-state": "invalid end state",
    "cycle": "acceptance cycle",
}
INCOMPLETE = ("max search depth too small", "Search not completed",
              "reached -DMEMLIM bound", "out of memory")


class Failed(Exception):
    """A search has not had the result that it should have."""


@dataclasses.dataclass
class Search:
    """A line of a model."""
    model: pathlib.Path
    stage: str		# "check" or "soak"
    wanted: str		# "clean", or the kind of error
    formula: str	# the name of an ltl formula; "" for safety
    defines: list
    compiler: list
    depth: int
    words: str		# what the fault is

    def name(self):
        what = f"formula {self.formula}" if self.formula else "safety"
        if self.wanted != "clean":
            what = f"finds that {self.words}"
        changes = " ".join(word for word in self.defines
                           if not word.startswith("-DFAULT"))
        return f"{self.model.stem}: {what}" + (changes and f" ({changes})")


def parse(model, line):
    text, _, words = line.partition(" -- ")
    stage, wanted, *rest = text.split()
    if wanted == "finds":
        wanted = rest.pop(0)
        if wanted not in ERRORS or not words:
            raise ValueError(f"{model.name}: {line}")
    kind = rest.pop(0)
    formula = rest.pop(0) if kind == "ltl" else ""
    defines, compiler, depth = [], [], DEPTH
    for word in rest:
        if word.startswith("-D"):
            defines.append(word)
        elif word.startswith("pan:"):
            compiler.append(word[4:])
        elif word.startswith("depth="):
            depth = int(word[6:])
        else:
            raise ValueError(f"{model.name}: {line}")
    return Search(model, stage, wanted, formula, defines, compiler, depth,
                  words.strip())


def searches(model):
    found = re.findall(r"^ \* search: (.*)$", model.read_text(), re.M)
    if not found:
        raise ValueError(f"{model.name} has no searches")
    return [parse(model, line) for line in found]


def run(words, work, seconds):
    try:
        done = subprocess.run(words, cwd=work, text=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=seconds,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{words[0]} takes more than {seconds} s") from error
    return done.returncode, done.stdout


def must(words, work):
    status, said = run(words, work, 120)
    if status:
        raise Failed(f"{' '.join(words)}: {said}")


def build(search, work):
    """Make the program that searches."""
    megabytes = MEGABYTES[search.stage]
    must(["spin", "-a", *search.defines, str(search.model)], work)
    kind = ["-DNFAIR=4"] if search.formula else ["-DSAFETY", "-DNOCLAIM"]
    must(["gcc", "-w", "-O1" if search.stage == "check" else "-O2",
          f"-DMEMLIM={megabytes}", *kind, *search.compiler, "-o", "pan",
          "pan.c"], work)


def judge(search, said):
    """Return what the search has covered, in words."""
    found = [kind for kind, words in ERRORS.items()
             if re.search(rf"^pan:\d+: {words}", said, re.M)]
    if search.wanted == "clean":
        if found:
            raise Failed(f"there is an error: {found[0]}")
        for words in INCOMPLETE:
            if words in said:
                raise Failed(f"not all states were searched: {words}")
        if "errors: 0" not in said:
            raise Failed(said)
    elif found != [search.wanted]:
        raise Failed(f"wanted {search.wanted}, found {found or 'nothing'}")
    states = re.search(r"(\d+) states, stored", said)
    depth = re.search(r"depth reached (\d+)", said)
    if not states or not depth or int(states.group(1)) < 2:
        raise Failed(said)
    return f"{states.group(1)} states, depth {depth.group(1)}"


def trail(search, work):
    """Return the last steps to an error."""
    if not list(work.glob("*.trail")):
        return ""
    _, steps = run(["spin", "-t", "-k", next(work.glob("*.trail")).name, "-p",
                    "-g", *search.defines, str(search.model)], work, 60)
    return "\n".join(steps.splitlines()[-60:])


def perform(search, tables):
    """Return (passed, what it has covered or why not, seconds)."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        (work / "tables.pml").write_text(tables)
        # spin looks for included files where it runs.
        (work / search.model.name).write_text(search.model.read_text())
        search.model = work / search.model.name
        said = ""
        try:
            build(search, work)
            words = ["./pan", f"-m{search.depth}",
                     "-w20" if search.stage == "check" else "-w24"]
            if search.formula:
                words += ["-a", "-f", "-N", search.formula]
            _, said = run(words, work, LIMIT[search.stage])
            covered = judge(search, said)
            return True, covered, time.monotonic() - start
        except Failed as error:
            return (False, f"{error}\n{said}\n{trail(search, work)}",
                    time.monotonic() - start)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("model", nargs="*")
    args = parser.parse_args()
    models = sorted(HERE.glob("*.pml"))
    if args.model:
        models = [HERE / f"{name}.pml" for name in args.model]
    stage = "soak" if args.long else "check"
    todo = [search for model in models for search in searches(model)
            if search.stage == stage]
    tables = subprocess.run([HERE / "tables.py"], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    print("TAP version 13", f"1..{len(todo)}", sep="\n", flush=True)
    passed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = pool.map(lambda search: perform(search, tables), todo)
        for number, (search, result) in enumerate(zip(todo, results), 1):
            ok, words, seconds = result
            passed += ok
            print("ok" if ok else "not ok", number, "-", search.name())
            for line in words.splitlines():
                print("#", line)
            print(f"# {seconds:.1f} s", flush=True)
    return passed != len(todo)


sys.exit(main())
