# SPDX-License-Identifier: GPL-2.0
"""The sessions of honest peers over an RDMA device from which the fuzzer of
../ibpeer makes its own. Messages and frames of streams are the same as over TCP
(seeds.py). But the handshake is in the private data, and a header may have a
checksum."""

import struct

import seeds
import session
import wire
from seeds import PORT, THEIRS

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


def numbered(more, size):
    """Each SEND has its number: the header of a frame has that of the first of
    its SENDs, from which remote.py counts on. SIZE gives the bytes of payload
    in each of them, MORE the capabilities for that."""
    script = messages(session.private(
        credits=8, epoch=session.STREAMS | session.NUMBERS | more | 1), 8)
    steps, number = [], 1
    for step in script.steps:
        if step[0] == "write":
            frame = wire.Frame.decode(step[2])
            frame.padding = number.to_bytes(4, "big")
            frame.payload = step[2][wire.HEADER_BYTES:]
            step = step[:2] + (frame.encode(),)
            part = wire.FRAGMENT if frame.is_map() else size(len(frame.payload))
            number += max(1, -(-len(frame.payload) // part))
        steps.append(step)
    script.steps = steps
    return script


def wide():
    """Large messages both ways, and a map."""
    script = Script().hello(session.private(
        epoch=session.STREAMS | session.WIDE | 1), congested=())
    for size in (4096, 4097, 20000, 40000):
        script.data(payload=bytes(size))
    return script.do("recv", "send", "send-large").drain().data(ack=2).drain()


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


def sessions(where):
    """Return all of them; WHERE is the key and address of memory."""
    scripts = [messages(LEGACY), messages(session.private()),
               messages(session.private(credits=8), 8), sealed(),
               numbered(0, lambda _: wire.FRAGMENT),
               numbered(session.WIDE, session.wide_size),
               wide(), again(), duel(), seeds.congestion(Script()), large(),
               memory(*where), seeds.served(Script()),
               seeds.placement(Script())]
    return [script.steps for script in scripts]
