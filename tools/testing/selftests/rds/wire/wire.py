# SPDX-License-Identifier: GPL-2.0
"""The RDS wire format over TCP: header, extension headers, congestion map.
Nothing here opens a socket, and nothing enforces a rule: a frame may be as
wrong as a test needs it to be."""

import dataclasses
import enum
import struct

TCP_PORT = 16385
PATHS = 8
MAX_MESSAGE = 1 << 20
FRAGMENT = 4096		# bytes of payload in a SEND (RDMA)
MAP_BYTES = 8192

PORT_PING = 0		# to it: a ping; from it: a pong, or a reply
PORT_PROBE = 1		# probes come from this port

FLAG_CONG_BITMAP = 0x01
FLAG_ACK_REQUIRED = 0x02
FLAG_RETRANSMITTED = 0x04

EXT_NONE = 0
EXT_VERSION = 1
EXT_RDMA = 2
EXT_RDMA_DEST = 3
EXT_RDMA_BYTES = 4
EXT_NPATHS = 5
EXT_GEN_NUM = 6
EXT_CAP_BITS = 7
EXT_SPORT_IDX = 8
EXT_STREAM = 13
EXT_MEMORY = 14
EXT_FEATURES = 15

STRICT = 0x01		# a feature: each sequence number is used once
MEMORY = 0x02		# another: operations on memory
STREAMS = 0x04		# another: streams

# Kinds of frames about an operation on memory
RESPONSE, READ, WRITE, FADD, CSWP, MASKED_FADD, MASKED_CSWP = range(7)
DONE, REFUSED = 0, 1
ALL = (1 << 64) - 1


class Op(enum.IntEnum):
    """What a frame of a stream is for."""

    REQUEST = 1
    RESPONSE = 2
    RST = 3
    SHUTDOWN = 4
    RW = 5
    CREDIT_UPDATE = 6
    CREDIT_REQUEST = 7
    BUSY = 8
    MAP = 9
    PUT = 10


# Flags of such a frame: the server has sent it; SHUTDOWN: no bytes follow,
# nothing is read any more
TO_CLIENT, NO_MORE, NO_READ = 0x01, 0x02, 0x04
# Reasons in an RST that answers a REQUEST
NO_STREAMS, NO_LISTENER = 2, 3
FRAME_COST = 256	# credit that an RW costs beside its bytes

# Bytes behind the type; a type that is not listed here is a bare type byte.
EXT_SIZE = {
    EXT_VERSION: 4, EXT_RDMA: 4, EXT_RDMA_DEST: 8, EXT_RDMA_BYTES: 8,
    EXT_NPATHS: 2, EXT_GEN_NUM: 4, EXT_CAP_BITS: 4, EXT_SPORT_IDX: 1,
    EXT_STREAM: 15, EXT_MEMORY: 15, EXT_FEATURES: 5,
}
EXT_SPACE = 16
TAGS = 0x7f		# bits of NPATHS that have the tag of a barrier

HEADER = struct.Struct("!QQIHHBB4sH16s")
HEADER_BYTES = HEADER.size


def npaths(number):
    return bytes([EXT_NPATHS]) + struct.pack("!H", number)


def tag(ext):
    """Return the tag of a barrier in a handshake frame, or 0."""
    return parse_ext(ext).get(EXT_NPATHS, b"\0")[0] & TAGS


def with_tag(exts, number):
    """Return the extension headers of a handshake, which begin with NPATHS,
    with the tag of a barrier."""
    return bytes([exts[0], exts[1] | number]) + exts[2:]


def gen_num(number):
    return bytes([EXT_GEN_NUM]) + struct.pack("!I", number)


def sport_idx():
    return bytes([EXT_SPORT_IDX, 0])


def features(epoch=0, bits=STRICT):
    """Return the extension header of the features: a zero byte, at which a
    parser that does not know the type stops; 24 bits of the epoch, and 8 bits
    of features."""
    return bytes([EXT_FEATURES, 0]) + struct.pack("!I", epoch << 8 | bits)


def operation(kind, number, key=0, addr=0, status=DONE):
    """Return the extension header of a frame about an operation: a request or
    a response."""
    return struct.pack("!BBBIIIx", EXT_MEMORY, kind, status, number, key, addr)


def parse_operation(area):
    """Return (kind, status, number, key, address); None if it is no such
    frame."""
    if area[0] != EXT_MEMORY:
        return None
    return struct.unpack("!BBIII", area[1:15])


def stream(op, flags=0, ident=0, consumed=0, credit=0, reason=0):
    """Return the extension header of a frame of a stream."""
    return struct.pack("!BBBBIII", EXT_STREAM, op, flags, reason, ident,
                       consumed, credit)


def mapping(offset, size, key):
    """Return the payload of a MAP."""
    return struct.pack("!QII", offset, size, key)


def parse_stream(area):
    """Return (op, flags, reason, identifier, credit consumed, credit for what
    is not consumed); None if it is no such frame."""
    if area[0] != EXT_STREAM:
        return None
    return struct.unpack("!BBBIII", area[1:16])


def length(size):
    """Return what follows the header of a read request."""
    return struct.pack("!I", size)


def operands(add, compare=0, add_mask=0, compare_mask=ALL):
    """Return what follows the header of a request for an atomic operation."""
    return struct.pack("!QQQQ", add, compare, add_mask, compare_mask)


def used(key, size, wrote):
    """Return the extension headers by which a message describes the operation
    before it."""
    return bytes([EXT_RDMA]) + struct.pack("!I", key) + \
        bytes([EXT_RDMA_BYTES]) + \
        struct.pack("!IBxxx", size, 1 if wrote else 2)


def dest(key, offset):
    """Return the extension header by which a message announces memory to its
    receiver."""
    return bytes([EXT_RDMA_DEST]) + struct.pack("!II", key, offset)


def parse_ext(area):
    """Return the extension headers in AREA, a dictionary of payloads by
    type."""
    found = {}
    at = 0
    while at < len(area) and area[at] != EXT_NONE:
        kind = area[at]
        end = at + 1 + EXT_SIZE.get(kind, 0)
        if kind >= EXT_SPACE or end > len(area):
            break
        found[kind] = bytes(area[at + 1:end])
        at = end
    return found


@dataclasses.dataclass
class Frame:
    """A frame: its header and payload. LENGTH, if given, is the payload's size
    as the header has it, true or not."""

    sport: int = 0
    dport: int = 0
    payload: bytes = b""
    seq: int = 0
    flags: int = 0
    ext: bytes = b""
    ack: int = 0
    credit: int = 0
    padding: bytes = bytes(4)
    csum: int = 0
    length: int = None

    def header(self):
        length = len(self.payload) if self.length is None else self.length
        return HEADER.pack(self.seq, self.ack, length, self.sport, self.dport,
                           self.flags, self.credit, self.padding, self.csum,
                           self.ext)

    def encode(self):
        return self.header() + self.payload

    @classmethod
    def decode(cls, data):
        """Decode the header in DATA, which must have all of it, without
        payload."""
        (seq, ack, length, sport, dport, flags, credit, padding, csum,
         ext) = HEADER.unpack_from(data)
        return cls(sport, dport, b"", seq, flags, ext, ack, credit, padding,
                   csum, length)

    def is_map(self):
        return self.flags == FLAG_CONG_BITMAP

    def is_probe(self):
        return (self.sport, self.dport) == (PORT_PROBE, PORT_PING)

    def is_reply(self):
        return (self.sport, self.dport) == (PORT_PING, PORT_PROBE)

    def is_operation(self):
        return not self.seq and bool(self.ext) and self.ext[0] == EXT_MEMORY


def cong_map(*ports):
    """Return the bits of a congestion map in which PORTS are congested."""
    bits = bytearray(MAP_BYTES)
    for port in ports:
        bits[port // 8] |= 1 << (port % 8)
    return bytes(bits)


def congested(bits):
    """Return the set of ports that are congested in a map."""
    if not any(bits):
        return set()
    return {8 * at + bit for at, byte in enumerate(bits) if byte
            for bit in range(8) if byte >> bit & 1}


def cong_frame(*ports):
    return Frame(flags=FLAG_CONG_BITMAP, payload=cong_map(*ports))
