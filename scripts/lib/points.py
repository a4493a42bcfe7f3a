#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Report which calls of the modules have been made to fail (see
net/rds/test/fail.h): a table by file, and the calls that never were.

  points.py SRC TABLE...   report TABLEs of guests; SRC has the modules
"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

SECTION = 'rds_points'
OURS = re.compile(r'(include/)?net/rds/.*')


def names_of(module):
    """Return the names of the points of a module."""
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(['objcopy', '-O', 'binary',
                        f'--only-section={SECTION}', module, out.name],
                       check=True)
        names = pathlib.Path(out.name).read_bytes().split(b'\0')
    found = [OURS.search(name.decode()) for name in names]
    return {name.group() for name in found if name}


class Point:
    """How often a point has been reached and has failed, in all guests."""

    def __init__(self):
        self.reached = 0
        self.failed = 0


def read_tables(points, tables):
    """Add what guests have counted. Points of tests are left out."""
    for table in tables:
        for line in pathlib.Path(table).read_text(encoding='utf-8').split('\n'):
            words = line.split(maxsplit=3)
            if words and words[3] in points:
                points[words[3]].reached += int(words[1])
                points[words[3]].failed += int(words[2])


def place(name):
    """Return the file and the line of a point."""
    path, _, line = name.split()[0].rpartition(':')
    return path, int(line)


def show_table(points):
    """Print a row per file, and their sum."""
    rows = collections.defaultdict(lambda: [0, 0, 0, 0])
    for name, point in points.items():
        for row in rows[place(name)[0]], rows['all']:
            row[0] += 1
            row[1] += point.reached > 0
            row[2] += point.failed > 0
            row[3] += point.failed
    print(f'{"file":40} {"points":>8} {"reached":>8} {"failed":>8} '
          f'{"failures":>8}')
    for path in sorted(rows, key=lambda path: (path == 'all', path)):
        print(f'{path:40}', *(f'{number:8}' for number in rows[path]))


def show_others(points):
    """Print the points that have not failed."""
    for name in sorted(points, key=place):
        if not points[name].failed:
            reached = 'reached' if points[name].reached else 'not reached'
            print(f'{name}: {reached}')


def main():
    points = collections.defaultdict(Point)
    for module in pathlib.Path(sys.argv[1]).glob('net/rds/*/*.ko'):
        if 'test' not in module.parts:
            for name in names_of(module):
                points[name] = Point()
    read_tables(points, sys.argv[2:])
    show_others(points)
    show_table(points)
    return not any(point.failed for point in points.values())


if __name__ == '__main__':
    sys.exit(main())
