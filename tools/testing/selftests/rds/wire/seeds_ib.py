# SPDX-License-Identifier: GPL-2.0
"""The sessions of honest peers over an RDMA device from which the fuzzer of
../ibpeer makes its own. Messages and frames of streams are the same as over TCP
(seeds.py). But the handshake is in the private data, and a header may have a
checksum."""

import struct

import seeds
import session
import wire
from seeds import NO_MORE, PORT, THEIRS

LEGACY = session.private(mark=0, epoch=0)


def seal(data):
    """Return the frame with the checksum of its header."""
    frame = wire.Frame.decode(data)
    frame.csum = 0
    words = struct.unpack("!24H", frame.header())
    total = sum(words)
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    frame.csum = ~total & 0xffff
    frame.payload = data[wire.HEADER_BYTES:]
    frame.length = struct.unpack_from("!I", data, 16)[0]
    return frame.encode()


class Script(seeds.Script):
    def hello(self, private=session.private(), congested=None):
        self.step("dial", private)
        link = self.links
        self.links += 1
        self.seqs.append(0)
        if congested is not None:
            self.step("write", link, wire.cong_frame(*congested).encode())
        return self.drain(link)

    def credit(self, number, link=0):
        """An ack alone, with credits."""
        return self.frame(link, credit=number, ack=number)


def messages(private, credits=0):
    script = Script().hello(private)
    if credits:
        script.credit(credits)
    for size in (0, 1, 100, 5000, 20000):
        script.data(payload=bytes(size), credit=min(credits, 2))
    script.data(dport=wire.PORT_PING).data(flags=wire.FLAG_ACK_REQUIRED)
    script.do("recv", "send", "send").drain().data(ack=3, credit=credits)
    return script.drain()


def sealed():
    script = messages(session.private())
    script.steps = [step[:2] + (seal(step[2]),) if step[0] == "write" else step
                    for step in script.steps]
    return script


def numbered():
    """Each SEND has its number: the header of a frame has that of the first of
    its SENDs, from which remote.py counts on."""
    script = messages(session.private(
        credits=8, epoch=session.STREAMS | session.NUMBERS | 1), 8)
    steps, number = [], 1
    for step in script.steps:
        if step[0] == "write":
            frame = wire.Frame.decode(step[2])
            frame.padding = number.to_bytes(4, "big")
            frame.payload = step[2][wire.HEADER_BYTES:]
            step = step[:2] + (frame.encode(),)
            number += max(1, -(-len(frame.payload) // wire.FRAGMENT))
        steps.append(step)
    script.steps = steps
    return script


def again():
    """The connection ends, and what was not acknowledged is sent again; then
    the peer has restarted."""
    script = messages(session.private()).step("fin", 0)
    script.hello(session.private(ack=2)).data(link=1, payload=b"again")
    script.frame(1, sport=THEIRS, dport=PORT, seq=3,
                 flags=wire.FLAG_RETRANSMITTED)
    script.do("recv", "send").drain(1).step("reset", 1)
    script.hello(session.private(epoch=session.STREAMS | 2))
    return script.data(link=2, payload=b"new").do("recv").drain(2)


def duel():
    """Two connections at once."""
    script = Script().hello().data().hello().data(link=1, payload=b"second")
    return script.do("send", "recv").drain().drain(1).data().drain()


def congestion():
    script = Script().hello(congested=(THEIRS,))
    script.do("send-large", "send", "congest").drain()
    script.step("write", 0, wire.cong_frame(1, 2, 3).encode()).drain()
    for _ in range(3):
        script.data(payload=bytes(30000))
    return script.do("congest", "recv", "recv").drain()


def large():
    """Messages of many fragments, both ways."""
    script = Script().hello().data(payload=bytes(100000)).credit(20)
    script.do("recv", "send", "send-large").drain().drain()
    return script.data(ack=2).drain()


def memory(key, addr):
    """What a message says of the operation before it, and of memory."""
    script = Script().hello().do("send").drain()
    script.data(ext=wire.used(key, 5000, True))
    script.data(ext=wire.used(key, 8, False)).data(ext=wire.dest(key, addr))
    return script.do("recv", "rdma", "atomic").drain().data().drain()


def served():
    """A stream for which the peer asks."""
    script = Script().hello().stream(wire.Op.REQUEST, reason=4).do("accept")
    script.drain().stream(wire.Op.RW, b"some bytes")
    script.stream(wire.Op.RW, bytes(20000))
    script.do("stream-recv", "stream-send", "stream-recv").drain()
    script.stream(wire.Op.CREDIT_REQUEST)
    script.stream(wire.Op.CREDIT_UPDATE, consumed=300).do("stream-shut")
    script.stream(wire.Op.SHUTDOWN, flags=NO_MORE, consumed=300).drain()
    return script.do("stream-recv", "stream-close").drain()


def placement():
    script = Script().hello().stream(wire.Op.REQUEST, reason=4).do("accept")
    script.stream(wire.Op.MAP, wire.mapping(0, 4096, 1)).drain()
    script.do("stream-put", "stream-map", "stream-put").drain()
    script.stream(wire.Op.PUT, b"placed", consumed=0, credit=1)
    script.stream(wire.Op.PUT, bytes(4096), consumed=4096, credit=1)
    return script.do("stream-close").drain()


def sessions(where):
    """Return all of them; WHERE is the key and address of memory."""
    scripts = [messages(LEGACY), messages(session.private()),
               messages(session.private(credits=8), 8), sealed(), numbered(),
               again(), duel(), congestion(), large(), memory(*where), served(),
               placement()]
    return [script.steps for script in scripts]
