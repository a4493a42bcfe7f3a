#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""tables.py [TREE]

Print the tables of states of the kernel code as macros for the models, so that
the two cannot differ. The program compiles net/rds/core/path_state.c, offer.c
and net/rds/stream/state.c, calls their functions with all values, and prints
what they return:

    path_applies(state, event)      whether an event applies to a path
    path_next(state, event)         the state after it; the same if it does not
    offer_next(state, event)        the state of the offer of a path
    offer_displaces(multipath, lower, knows, path, offer)
                                    whether it displaces what the path has
    offer_wins(multipath, lower, knows, path, offer)
                                    whether our attempt wins a duel
    stream_next(state, event)       the state of a stream

The names of states and events are those of the code.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# What the files need of the kernel's headers
STUBS = """
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
typedef uint8_t u8;
typedef uint32_t u32;
#define EXPORT_SYMBOL_RDS_KUNIT(name) extern int rds_not_exported
#define EXPORT_SYMBOL_GPL(name) extern int rds_not_exported
#define max(a, b) ((a) > (b) ? (a) : (b))
#include "path_state.c"
#include "offer.c"
#include "state.c"
"""

# Calls the functions with all values
MAIN = """
int main(void)
{
	for (int s = 0; s < RDS_PATH_STATES; s++)
		for (int e = 0; e < RDS_EVENTS; e++) {
			enum rds_path_state to = s;
			bool ok = rds_path_next_state(s, e, &to);

			printf("path_applies %d %d %d\\n", s, e, ok);
			printf("path_next %d %d %d\\n", s, e, to);
		}
	for (int s = 0; s < RDS_OFFER_STATES; s++)
		for (int e = 0; e < RDS_OFFER_EVENTS; e++)
			printf("offer_next %d %d %d\\n", s, e,
			       rds_offer_next(s, e));
	for (int i = 0; i < 8; i++)
		for (int s = 0; s < RDS_PATH_STATES; s++)
			for (int o = 0; o < RDS_OFFER_STATES; o++) {
				struct rds_offer_view view = {
					i & 1, i & 2, i & 4, s, o
				};

				printf("offer_displaces %d %d %d %d %d %d\\n",
				       view.multipath, view.lower,
				       view.knows_duels, s, o,
				       rds_offer_displaces(&view) !=
				       RDS_DROP_NONE);
				printf("offer_wins %d %d %d %d %d %d\\n",
				       view.multipath, view.lower,
				       view.knows_duels, s, o,
				       rds_offer_wins_duel(&view));
			}
	for (int s = 0; s < RDS_STREAM_STATES; s++)
		for (int e = 0; e < RDS_STREAM_EVENTS; e++)
			printf("stream_next %d %d %d\\n", s, e,
			       rds_stream_next(s, e));
	return 0;
}
"""

ENUMS = ("rds_path_state", "rds_path_event", "rds_offer_state",
         "rds_offer_event", "rds_stream_state", "rds_stream_event")


def enum_text(text, enum):
    """Return the definition of an enum."""
    return re.search(rf"^enum {enum} {{.*?^}};", text, re.M | re.S).group(0)


def enum_names(text, enum):
    """Return the names of an enum, in order."""
    body = enum_text(text, enum).split("{")[1]
    return re.findall(r"\b(RDS_\w+)", body)


def outcomes(net, path_header):
    """Compile the code and return, for each function, its outcomes: a dict
    from the tuple of its arguments to the value."""
    tables = {}
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        for file in ("core/path_state.c", "core/path_state.h", "core/offer.c",
                     "core/offer.h", "stream/state.c", "stream/state.h"):
            shutil.copy(net / file, work)
        for file in ("linux/minmax.h", "linux/types.h", "compat.h"):
            (work / file).parent.mkdir(exist_ok=True)
            (work / file).touch()
        (work / "net/rds").mkdir(parents=True)
        (work / "net/rds/path.h").write_text("\n".join(
            enum_text(path_header, enum)
            for enum in ("rds_drop_reason", "rds_offer_event")))
        (work / "main.c").write_text(STUBS + MAIN)
        subprocess.run(["gcc", "-Wall", "-Werror", "-o", work / "main",
                        "-I", work, work / "main.c"], check=True)
        said = subprocess.run([work / "main"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
    for line in said.splitlines():
        name, *numbers = line.split()
        *args, value = map(int, numbers)
        tables.setdefault(name, {})[tuple(args)] = value
    return tables


def state_macro(name, table):
    """Return a macro of (state, event), with the cases that change the state
    only, and nested conditions: a model needs no memory for it."""
    text = "(s)"
    for (state, event), value in reversed(sorted(table.items())):
        if value != state:
            text = (f"((s) == {state} && (e) == {event} -> {value} : \\\n"
                    f"\t{text})")
    return f"#define {name}(s, e) {text}"


def truth_macro(name, params, table):
    """Return a macro that is the list of cases in which it is true."""
    cases = [" && ".join(f"({param}) == {value}"
                         for param, value in zip(params, args))
             for args, value in sorted(table.items()) if value]
    text = " || \\\n\t".join(f"({case})" for case in cases) or "false"
    return f"#define {name}({', '.join(params)}) ( \\\n\t{text})"


def main():
    tree = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                        pathlib.Path(__file__).resolve().parents[3])
    net = tree / "net/rds"
    path_header = (tree / "include/net/rds/path.h").read_text()
    headers = path_header + "".join(
        (net / file).read_text() for file in
        ("core/path_state.h", "core/offer.h", "stream/state.h"))
    tables = outcomes(net, path_header)
    print("/* From the code of the kernel, by tables.py */")
    for enum in ENUMS:
        for value, name in enumerate(enum_names(headers, enum)):
            print(f"#define {name} {value}")
    print(truth_macro("path_applies", ("s", "e"), tables["path_applies"]))
    for name in ("path_next", "offer_next", "stream_next"):
        print(state_macro(name, tables[name]))
    for name in ("offer_displaces", "offer_wins"):
        print(truth_macro(name, ("multi", "lower", "knows", "path", "offer"),
                          tables[name]))


if __name__ == "__main__":
    main()
