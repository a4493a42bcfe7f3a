#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Report which lines of net/rds have run, and compare with the list of those
that no test reaches, Documentation/coverage.rst.

  coverage.py TOP          only check that the list names existing lines
  coverage.py TOP DIR      report DIR/rds.info, a tracefile of lcov; DIR/lines
                           gets every line that has not run

The list has a section for each file, titled with its name. An entry names the
function, its lines and the reason:

  * ``function``: ``line``, ``line``: reason

A line is written as in the file, without the white space around it. Several
lines of a function that are the same are one. A function with no lines stands
for all of them.
"""

import collections
import pathlib
import re
import sys

WANTED = {'lines': 92, 'branches': 80}
LIST = 'Documentation/coverage.rst'

HEAD = re.compile(r'^(?=[A-Za-z_]).*?\b(\w+)\(')
TITLE = re.compile(r'^(net/rds/\S+\.[ch])$')
ENTRY = re.compile(r'^\* ``(?P<name>\w+)``(?P<lines>(?:[:,] ``.+?``(?=[:,]))*):'
                   r' [^`\s]')


def functions(path):
    """Return the name of the function that each line of a file is in. The first
    line of its head counts as well: it stands for the call."""
    inside, name, found = False, '', ['']
    for line in path.read_text(encoding='utf-8').split('\n'):
        head = None if inside or line.endswith(';') else HEAD.match(line)
        if head:
            name = head.group(1)
        inside = inside or line == '{'
        found.append(name if inside or head else '')
        inside = inside and not line.startswith('}')
    return found


class Source:
    """The lines of a file, from 1, and their functions."""

    def __init__(self, path):
        text = path.read_text(encoding='utf-8').split('\n')
        self.lines = [''] + [line.strip() for line in text]
        self.functions = functions(path)

    def key(self, number):
        return self.functions[number], self.lines[number]

    def keys(self):
        return {self.key(number) for number in range(1, len(self.lines))}


def entries(top):
    """Yield (number, file, function, lines) of the list."""
    path, number, text = None, 0, ''
    listed = (top / LIST).read_text(encoding='utf-8').split('\n')
    for at, line in enumerate(listed + [''], 1):
        title = TITLE.match(line)
        if text and (not line.startswith('  ') or title):
            entry = ENTRY.match(text)
            if not entry or not path:
                sys.exit(f'{LIST}:{number}: cannot be read: {text}')
            lines = re.findall(r'``(.+?)``', entry.group('lines'))
            yield number, path, entry.group('name'), lines
            text = ''
        if title:
            path = title.group(1)
        elif line.startswith('* ``'):
            number, text = at, line
        elif text:
            text += ' ' + line.strip()


def read_list(top):
    """Return {file: {(function, line)}}, and the number of faults."""
    listed, faults, sources = collections.defaultdict(set), 0, {}
    for number, path, name, lines in entries(top):
        if not (top / path).is_file():
            print(f'{LIST}:{number}: there is no {path}')
            faults += 1
            continue
        if path not in sources:
            sources[path] = Source(top / path)
        known = sources[path].keys()
        wanted = ([(name, line) for line in lines] or
                  [key for key in known if key[0] == name])
        for key in wanted:
            if key not in known:
                print(f'{LIST}:{number}: {name}() of {path} has no line '
                      f'"{key[1]}"')
                faults += 1
        if not wanted:
            print(f'{LIST}:{number}: {path} has no function {name}()')
            faults += 1
        listed[path].update(wanted)
    return listed, faults


class Counts:
    """What has run of a file, summed up over the objects that contain it."""

    def __init__(self):
        self.lines = collections.Counter()
        self.branches = collections.Counter()

    def sums(self):
        return {'lines': (sum(map(bool, self.lines.values())),
                          len(self.lines)),
                'branches': (sum(map(bool, self.branches.values())),
                             len(self.branches))}


def read_info(path, top):
    """Return {file: Counts}."""
    files = collections.defaultdict(Counts)
    counts = None
    for line in path.read_text(encoding='utf-8').split('\n'):
        kind, _, value = line.partition(':')
        if kind == 'SF':
            counts = files[str(pathlib.Path(value).relative_to(top))]
        elif kind == 'DA':
            number, times = value.split(',')[:2]
            counts.lines[int(number)] += int(times)
        elif kind == 'BRDA':
            *branch, times = value.split(',')
            counts.branches[tuple(branch)] += times not in ('-', '0')
    return files


def percent(ran, all_of):
    return 100 * ran / all_of if all_of else 100


def show_table(files):
    """Print a row per file and their sum; return the sum's shares."""
    total = {kind: [0, 0] for kind in WANTED}
    print(f'{"file":40} {"lines":>6} {"ran %":>6} {"branches":>8} '
          f'{"ran %":>6}')
    for path in sorted(files):
        sums = files[path].sums()
        for kind, pair in sums.items():
            total[kind] = [a + b for a, b in zip(total[kind], pair)]
        print_row(path, sums)
    print_row('all', total)
    return {kind: percent(*pair) for kind, pair in total.items()}


def print_row(name, sums):
    print(f'{name:40} {sums["lines"][1]:6} {percent(*sums["lines"]):6.1f} '
          f'{sums["branches"][1]:8} {percent(*sums["branches"]):6.1f}')


def show_lines(top, files, listed, out):
    """Write every line that has not run to a file, and print those that are
    not listed. Return their number."""
    unlisted = 0
    with open(out, 'w', encoding='utf-8') as report:
        for path in sorted(files):
            source = Source(top / path)
            for number, times in sorted(files[path].lines.items()):
                if times:
                    continue
                key = source.key(number)
                text = f'{path}:{number}: {key[0]}: {key[1]}'
                known = key in listed[path]
                print(text, '(listed)' if known else '', file=report)
                if not known:
                    print(text)
                    unlisted += 1
    return unlisted


def main():
    top = pathlib.Path(sys.argv[1])
    listed, faults = read_list(top)
    if len(sys.argv) == 2:
        return faults > 0
    where = pathlib.Path(sys.argv[2])
    files = read_info(where / 'rds.info', top)
    if not files:
        sys.exit('no file of net/rds has run')
    unlisted = show_lines(top, files, listed, where / 'lines')
    shares = show_table(files)
    print(f'{unlisted} lines have not run and are not listed')
    for kind, wanted in WANTED.items():
        if shares[kind] < wanted:
            print(f'{shares[kind]:.1f} % of the {kind} ran, wanted {wanted} %')
            faults += 1
    return faults > 0 or unlisted > 0


sys.exit(main())
