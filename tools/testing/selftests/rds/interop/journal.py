# SPDX-License-Identifier: GPL-2.0
"""Read and write the journals that flows leaves: see journal.h."""
import collections
import struct

ENTRY = struct.Struct("=QQIIHHc3x")

Entry = collections.namedtuple("Entry", "time hash seq len flow life kind")

SENT, RECEIVED, NOTED, RETURNED = b"S", b"R", b"N", b"H"


def read(file):
    """Return the entries. The last one may be cut off, if its writer died."""
    if not file.exists():
        return []
    data = file.read_bytes()
    data = data[:len(data) // ENTRY.size * ENTRY.size]
    return [Entry(*fields) for fields in ENTRY.iter_unpack(data)]


def write(file, entries):
    file.write_bytes(b"".join(ENTRY.pack(*entry) for entry in entries))
