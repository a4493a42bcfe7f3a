# SPDX-License-Identifier: GPL-2.0
"""Sessions of a peer that fuzzes the kernel: what they are, how they are
changed at random, and how they are written to a file.

A session is a list of steps. Each is a tuple of a verb and its arguments:

    open PATH           make a connection for this path
    dial BYTES          make one with these private data (RDMA)
    write LINK BYTES    write to a connection, as a segment of its own
    drain LINK          read what the kernel has sent, and answer some of it
    fin LINK, reset LINK
    do WHAT             have a program on the kernel's host do something

Nothing here opens a socket. Every choice comes from the generator of random
numbers that is passed, so it can be made again."""

import re
import struct

import wire
from seeds import GENERATION, IDENT, PORT, THEIRS
from wire import Op

# Private data of a connection: two addresses, in the place of which those of
# the ends are put, the version, minor versions, type of service, a mark, the
# size of a fragment, ack, credits, and the epoch with capabilities
PRIVATE = struct.Struct("!4s4sBBHBBHQII")
PRIVATE_BITS = (8, 8, 16, 8, 8, 16, 64, 32, 32)
FROM = b"FROM"
DEST = b"DEST"
OURS = 0xa1		# the mark
STREAMS = 1 << 24	# in the epoch
NUMBERS = 1 << 25
WIDE = 1 << 27

WIDE_FRAGMENT = 16336	# bytes of payload, of a peer with the bit WIDE
WIDEST = 16384		# the same, of a message of one fragment

MAX_STEPS = 40
MAX_WRITE = 1 << 17
LINKS = 3

# What programs on the kernel's host do; see Programs of the fuzzer.
DEEDS = ("send", "send-large", "recv", "rdma", "atomic", "accept", "connect",
         "stream-send", "stream-recv", "stream-shut", "stream-close",
         "stream-map", "stream-put", "congest")

EDGES = (0, 1, 2, 3, 7, 8, 9, 15, 16, 47, 48, 49, 0x7f, 0x80, 0xff, 0x100,
         0xfff, 0x1000, 0x7fff, 0x8000, 0xffff, 0x10000, 0xfffff, 0x100000,
         0x100001, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff, 1 << 32,
         1 << 63, (1 << 64) - 2, (1 << 64) - 1)
PORTS = (0, 1, 2, THEIRS, PORT, PORT + 1, 65535)


def value(rng, old, bits):
    """Return another value of a field."""
    way = rng.randrange(5)
    if way == 0:
        new = old + rng.choice((-1, 1))
    elif way == 1:
        new = old ^ 1 << rng.randrange(bits)
    elif way == 2:
        new = rng.getrandbits(bits)
    else:
        new = rng.choice(EDGES)
    return new & (1 << bits) - 1


def change_bytes(rng, data, most=4):
    """Return other bytes: some changed, removed or inserted."""
    data = bytearray(data)
    for _ in range(rng.randint(1, most)):
        at = rng.randrange(len(data) + 1)
        way = rng.randrange(5)
        if way == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif way == 1 and at < len(data):
            data[at] = rng.choice((0, 1, 0x7f, 0x80, 0xff,
                                   rng.randrange(256)))
        elif way == 2:
            del data[at:at + rng.choice((1, 2, 4, 8, 100))]
        elif way == 3:
            data[at:at] = rng.randbytes(rng.choice((1, 2, 4, 8, 100)))
        elif data:
            del data[rng.randrange(len(data)):]
    return bytes(data[:MAX_WRITE])


def private(major=3, minor=1, minors=3, tos=0, mark=OURS, size=0, ack=0,
            credits=0, epoch=STREAMS | 1):
    return PRIVATE.pack(FROM, DEST, major, minor, minors, tos, mark, size, ack,
                        credits, epoch)


def is_wide(data):
    """Return whether a peer with this private data has wide fragments. The
    connection manager pads it."""
    data = data[:PRIVATE.size].ljust(PRIVATE.size, b"\0")
    *_, mark, _, _, _, epoch = PRIVATE.unpack(data)
    return mark == OURS and bool(epoch & WIDE)


def wide_size(size):
    """Return the bytes of payload of each fragment of a message, if the peer
    has wide ones."""
    if size <= wire.FRAGMENT:
        return wire.FRAGMENT
    return WIDEST if size <= WIDEST else WIDE_FRAGMENT


def change_private(rng, data):
    """Change a field of private data, or any of its bytes."""
    if len(data) != PRIVATE.size or not rng.randrange(4):
        return change_bytes(rng, data, 2)[:PRIVATE.size + 8]
    from_, dest, *fields = PRIVATE.unpack(data)
    at = rng.randrange(len(fields))
    fields[at] = value(rng, fields[at], PRIVATE_BITS[at])
    return PRIVATE.pack(from_, dest, *fields)


def any_stream(rng):
    return wire.stream(
        rng.choice(list(Op) + [0, 11, 255]), rng.choice((0, 1, 2, 4, 6, 7)),
        rng.choice((1, 2, IDENT)), rng.choice((0, 256, 512, 1000)),
        rng.choice((0, 300, 32768, 1 << 20)), rng.choice((0, 1, 2, 3)))


def any_operation(rng, memory):
    return wire.operation(
        rng.randrange(8), rng.randrange(6),
        rng.choice((memory[0], memory[0] ^ 1, 0)),
        memory[1] + rng.choice((0, 1, 8, 4095, 4096, 1 << 20)) & 0xffffffff,
        rng.choice((wire.DONE, wire.REFUSED, 2)))


def any_ext(rng, memory):
    """Return extension headers: those of one kind, or several at random."""
    way = rng.randrange(6)
    if way == 0:
        return any_stream(rng)
    if way == 1:
        return any_operation(rng, memory)
    if way == 2:
        return wire.used(memory[0], rng.choice(EDGES) & 0xffffffff,
                         rng.randrange(2))
    if way == 3:
        return wire.dest(memory[0], memory[1])
    parts = [
        wire.npaths(rng.choice((0, 1, 2, 4, 8, 9, 0x101, 0xffff))),
        wire.gen_num(rng.choice((0, 1, GENERATION, GENERATION + 1))),
        wire.sport_idx(),
        wire.features(rng.choice((0, 1, 0xffffff)), rng.randrange(16)),
        bytes([rng.randrange(17)]), rng.randbytes(3),
    ]
    rng.shuffle(parts)
    return b"".join(parts[:rng.randint(1, 4)])


def change_ext(rng, ext, memory):
    told = wire.parse_stream(ext)
    if told and rng.randrange(4):
        op, flags, reason, ident, consumed, credit = told
        fields = [op, flags, ident, consumed, credit, reason]
        bits = (8, 8, 32, 32, 32, 8)
    else:
        told = wire.parse_operation(ext) if rng.randrange(4) else None
        if not told:
            return rng.choice((any_ext(rng, memory),
                               change_bytes(rng, ext, 2)[:wire.EXT_SPACE]))
        kind, status, number, key, addr = told
        fields = [kind, number, key, addr, status]
        bits = (8, 32, 32, 32, 8)
    at = rng.randrange(len(fields))
    fields[at] = value(rng, fields[at], bits[at])
    return (wire.stream if len(fields) == 6 else wire.operation)(*fields)


def change_frame(rng, frame, memory):
    """Change one field of a frame."""
    way = rng.randrange(9)
    if way == 0:
        frame.seq = value(rng, frame.seq, 64)
    elif way == 1:
        frame.ack = value(rng, frame.ack, 64)
    elif way == 2:
        frame.length = value(rng, len(frame.payload), 32)
    elif way == 3:
        frame.sport = rng.choice(PORTS)
    elif way == 4:
        frame.dport = rng.choice(PORTS)
    elif way == 5:
        frame.flags = value(rng, frame.flags, 8)
    elif way == 6:
        frame.payload = change_bytes(rng, frame.payload)
        if rng.randrange(4):
            frame.length = len(frame.payload)
    elif way == 7:
        frame.credit = value(rng, frame.credit, 8)
        frame.padding = rng.randbytes(4)
        frame.csum = value(rng, frame.csum, 16)
    else:
        ext = change_ext(rng, frame.ext, memory)[:wire.EXT_SPACE]
        frame.ext = ext.ljust(wire.EXT_SPACE, b"\0")


def change_write(rng, data, memory):
    """Change what is written: a frame field by field, or any bytes."""
    if len(data) < wire.HEADER_BYTES or not rng.randrange(4):
        return change_bytes(rng, data)
    frame = wire.Frame.decode(data)
    frame.payload = data[wire.HEADER_BYTES:]
    for _ in range(rng.randint(1, 2)):
        change_frame(rng, frame, memory)
    return frame.encode()[:MAX_WRITE]


def any_step(rng, memory):
    """Return a step that is made up."""
    link = rng.randrange(LINKS)
    way = rng.randrange(8)
    if way < 3:
        return "do", rng.choice(DEEDS)
    if way == 3:
        return "drain", link
    if way == 4:
        return rng.choice(("fin", "reset")), link
    if way == 5:
        return "open", rng.choice((0, 0, 1, 7))
    payload = rng.randbytes(rng.choice((0, 1, 16, 32, 1000)))
    return "write", link, wire.Frame(
        rng.choice(PORTS), rng.choice(PORTS), payload, rng.choice((0, 1, 2, 3)),
        rng.choice((0, 0, 1, 2, 4)),
        any_ext(rng, memory)[:wire.EXT_SPACE]).encode()


def change_step(rng, step, memory):
    if step[0] == "write" and rng.randrange(6):
        return "write", step[1], change_write(rng, step[2], memory)
    if step[0] == "dial":
        return "dial", change_private(rng, step[1])
    if step[0] == "do":
        return "do", rng.choice(DEEDS)
    if step[0] == "open":
        return "open", rng.randrange(wire.PATHS)
    return (step[0], rng.randrange(LINKS)) + step[2:]


def split(rng, step):
    """Write the same bytes as two segments."""
    if step[0] != "write" or len(step[2]) < 2:
        return [step]
    at = rng.randrange(1, len(step[2]))
    return [("write", step[1], step[2][:at]),
            ("write", step[1], step[2][at:])]


def mutate(rng, steps, other, memory):
    """Return another session, made from STEPS and perhaps from OTHER."""
    steps = list(steps)
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        at = rng.randrange(len(steps)) if steps else 0
        way = rng.randrange(12)
        if not steps or way == 0:
            steps.insert(at, any_step(rng, memory))
        elif way == 1:
            del steps[at]
        elif way == 2:
            steps.insert(at, steps[at])
        elif way == 3:
            to = rng.randrange(len(steps))
            steps[at], steps[to] = steps[to], steps[at]
        elif way == 4:
            steps[at:at + 1] = split(rng, steps[at])
        elif way == 5 and other:
            start = rng.randrange(len(other))
            steps[at:at] = other[start:start + rng.randint(1, 8)]
        elif way == 6 and other:
            steps[at:] = other[rng.randrange(len(other)):]
        else:
            steps[at] = change_step(rng, steps[at], memory)
    return steps[:MAX_STEPS]


# Files. Keys and addresses of memory differ from run to run, so a file says
# which ones its sessions were made with.

NO_MEMORY = (0, 0)	# with none
ZEROS = re.compile(rb"\0{16,}")


def show_bytes(data):
    """Return bytes as a word: in hexadecimal, but many zeros are counted."""
    parts, at = [], 0
    for zeros in ZEROS.finditer(data):
        parts += [data[at:zeros.start()].hex(), f"z{len(zeros[0])}"]
        at = zeros.end()
    parts.append(data[at:].hex())
    return "+".join(filter(None, parts)) or "-"


def parse_part(part):
    return bytes(int(part[1:])) if part[0] == "z" else bytes.fromhex(part)


def parse_bytes(word):
    return b"" if word == "-" else b"".join(map(parse_part, word.split("+")))


def show(steps, memory):
    """Return a session as text."""
    lines = [f"session {memory[0]:08x} {memory[1]:08x}"]
    for step in steps:
        words = [show_bytes(word) if isinstance(word, bytes) else str(word)
                 for word in step]
        lines.append(" ".join(words))
    return "\n".join(lines) + "\n"


def parse_step(words):
    if words[0] == "do":
        return tuple(words)
    if words[0] == "dial":
        return "dial", parse_bytes(words[1])
    if words[0] == "write":
        return "write", int(words[1]), parse_bytes(words[2])
    return words[0], int(words[1])


def move(steps, old, new):
    """Return the steps with the key and address NEW in the place of OLD, which
    may be NO_MEMORY."""
    moved = []
    for step in steps:
        if step[0] == "write":
            data = step[2]
            for before, after in zip(old, new):
                if before and before != after:
                    data = data.replace(before.to_bytes(4, "big"),
                                        after.to_bytes(4, "big"))
            step = step[0], step[1], data
        moved.append(step)
    return moved


def parse(text, memory):
    """Return the sessions in TEXT, with the key and address of MEMORY in the
    place of those that they were made with. TEXT is a file of show(), or the
    output of a fuzzer, which has such lines behind "# " and others."""
    sessions, old = [], None
    verbs = ("open", "dial", "write", "drain", "fin", "reset", "do")
    for line in text.splitlines():
        words = line.removeprefix("# ").split()
        if words and words[0] == "session":
            old = tuple(int(word, 16) for word in words[1:])
            sessions.append([])
        elif old and words and words[0] in verbs:
            sessions[-1] += move([parse_step(words)], old, memory)
    return sessions


def load(name, memory):
    """Return the sessions of a file."""
    with open(name, encoding="ascii") as file:
        return parse(file.read(), memory)
