# SPDX-License-Identifier: GPL-2.0
"""The sessions of honest peers from which the fuzzer makes its own
(session.py): every kind of frame that this protocol has, in an order in which
it is accepted."""

import wire
from lab import LEGACY
from peer import GENERATION
from wire import NO_MORE, NO_READ, TO_CLIENT, Frame, Op

PORT = 6300		# the kernel's
THEIRS = 77		# the peer's
IDENT = 0x5eed1000	# of a stream
MODERN = wire.npaths(8) + wire.gen_num(GENERATION) + wire.sport_idx()
ALL = MODERN + wire.features(bits=wire.STRICT | wire.MEMORY | wire.STREAMS)
CREDIT = 1 << 20


class Script:
    """Writes down what an honest peer sends."""

    def __init__(self):
        self.steps = []
        self.links = 0
        self.seqs = []

    def step(self, *step):
        self.steps.append(step)
        return self

    def do(self, *deeds):
        for what in deeds:
            self.step("do", what)
        return self

    def drain(self, link=0):
        return self.step("drain", link)

    def frame(self, link=0, **fields):
        return self.step("write", link, Frame(**fields).encode())

    def data(self, sport=THEIRS, dport=PORT, payload=b"", link=0, **fields):
        self.seqs[link] += 1
        return self.frame(link, sport=sport, dport=dport, payload=payload,
                          seq=self.seqs[link], **fields)

    def hello(self, exts=ALL, path=0, congested=()):
        """Connect, and do the handshake."""
        self.step("open", path)
        link = self.links
        self.links += 1
        self.seqs.append(0)
        self.step("write", link, wire.cong_frame(*congested).encode())
        if wire.EXT_FEATURES in wire.parse_ext(exts):
            self.frame(link, sport=wire.PORT_PROBE, dport=wire.PORT_PING,
                       ext=exts)
        else:
            self.data(wire.PORT_PROBE, wire.PORT_PING, link=link, ext=exts)
        return self.drain(link)

    def request(self, kind, key, addr, payload=b"", number=1):
        return self.frame(payload=payload, flags=wire.FLAG_RETRANSMITTED,
                          ext=wire.operation(kind, number, key, addr))

    def stream(self, op, payload=b"", flags=0, consumed=0, credit=CREDIT,
               reason=0, **fields):
        return self.data(payload=payload, ext=wire.stream(
            op, flags, fields.pop("ident", IDENT), consumed, credit, reason),
            **fields)


def messages(exts):
    script = Script().hello(exts)
    for size in (0, 1, 100, 5000):
        script.data(payload=bytes(size))
    script.data(dport=wire.PORT_PING).data(flags=wire.FLAG_ACK_REQUIRED)
    return script.do("recv", "send", "send").drain().data(ack=3).drain()


def paths():
    """Several paths: a message may take each of them."""
    script = Script().hello().drain()
    for link, path in ((1, 1), (2, 5)):
        script.step("open", path)
        script.links += 1
        script.seqs.append(0)
        script.step("write", link, wire.cong_frame().encode())
        script.data(9, wire.PORT_PING, link=link)
        script.data(link=link, payload=b"text").drain(link)
    return script.do("send", "send", "send", "recv").drain().drain(1).drain(2)


def restart():
    """The peer restarts; then it is another one still."""
    script = messages(ALL).step("reset", 0)
    script.hello(wire.npaths(8) + wire.gen_num(GENERATION + 1) +
                 wire.sport_idx() + wire.features(bits=7))
    script.data(link=1, payload=b"new").do("recv", "send").drain(1)
    return script.step("fin", 1).hello(LEGACY).data(link=2).drain(2)


def congestion(script):
    """As the next two, of peers over RDMA, too (seeds_ib.py): SCRIPT is empty,
    and says how frames are sent."""
    script.hello(congested=(THEIRS,))
    script.do("send-large", "send", "congest").drain()
    script.step("write", 0, wire.cong_frame(1, 2, 3).encode()).drain()
    for _ in range(4):
        script.data(payload=bytes(30000))
    return script.do("congest", "recv", "recv").drain()


def served(script):
    """A stream for which the peer asks."""
    script.hello().stream(Op.REQUEST, reason=4).do("accept")
    script.drain().stream(Op.RW, b"some bytes").stream(Op.RW, bytes(20000))
    script.do("stream-recv", "stream-send", "stream-recv").drain()
    script.stream(Op.CREDIT_REQUEST).stream(Op.CREDIT_UPDATE, consumed=300)
    script.do("stream-shut").stream(Op.SHUTDOWN, flags=NO_MORE, consumed=300)
    return script.drain().do("stream-recv", "stream-close").stream(
        Op.SHUTDOWN, flags=NO_MORE | NO_READ, consumed=300).drain()


def placement(script):
    script.hello().stream(Op.REQUEST, reason=4).do("accept")
    script.stream(Op.MAP, wire.mapping(0, 4096, 1))
    script.stream(Op.MAP, wire.mapping(8192, 100, 2)).drain()
    script.do("stream-put", "stream-map", "stream-put").drain()
    script.stream(Op.PUT, b"placed", consumed=0, credit=1)
    script.stream(Op.PUT, bytes(4096), consumed=4096, credit=1)
    script.stream(Op.MAP, wire.mapping(0, 0, 1))
    return script.do("stream-close").drain()


def large():
    """A message of many segments."""
    script = Script().hello()
    script.data(payload=bytes(100000))
    whole = script.steps.pop()[2]
    for at in range(0, len(whole), 30000):
        script.step("write", 0, whole[at:at + 30000])
    return script.do("recv", "send-large").drain().drain()


def memory(key, addr):
    script = Script().hello().data(payload=b"hello").do("recv")
    script.request(wire.WRITE, key, addr, bytes(5000), 1)
    script.request(wire.READ, key, addr + 8, wire.length(4096), 2)
    script.request(wire.FADD, key, addr, wire.operands(1), 3).drain()
    script.request(wire.CSWP, key, addr + 8, wire.operands(1, 2), 4)
    script.request(wire.MASKED_FADD, key, addr, wire.operands(1, 0, 15), 5)
    script.request(wire.MASKED_CSWP, key, addr,
                   wire.operands(1, 2, 255, 255), 6).drain()
    return script.data(ext=wire.used(key, 5000, True)).data(
        ext=wire.dest(key, addr)).do("recv").drain()


def operations():
    """The kernel's programs have operations done on memory of the peer."""
    script = Script().hello().data().do("recv", "rdma").drain()
    return script.do("rdma", "atomic").drain().do("atomic").drain()


def asked():
    """A stream for which the kernel asks; drain answers."""
    script = Script().hello().data().do("recv", "connect").drain()
    script.do("stream-send").drain().stream(Op.RW, b"text", flags=TO_CLIENT)
    return script.do("stream-recv", "stream-close").drain()


def refused():
    """Streams that are not to be."""
    script = Script().hello().stream(Op.REQUEST, dport=PORT + 7).drain()
    script.stream(Op.REQUEST).stream(Op.RST).stream(Op.REQUEST, ident=3)
    script.stream(Op.BUSY, flags=TO_CLIENT).stream(Op.REQUEST, ident=4)
    return script.do("accept").drain()


def sessions(where):
    """Return all of them; WHERE is the key and address of memory."""
    scripts = [messages(LEGACY), messages(MODERN), messages(ALL), paths(),
               restart(), congestion(Script()), large(), memory(*where),
               operations(), served(Script()), asked(), refused(),
               placement(Script())]
    return [script.steps for script in scripts]
