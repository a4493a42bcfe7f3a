# SPDX-License-Identifier: GPL-2.0
"""One of two hosts with streams between them: its programs, its modules, and
its end of the wire. Guest a has one of its own, and orders the other guest to
use that one's.
"""
import json
import os
import pathlib
import random
import select
import subprocess
import sys
import time

import modules
import net
import paths

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "wire"))
import kernel	# noqa: E402

RESULTS = pathlib.Path(os.environ["RDS_RESULTS"])
BOOT = int(os.environ["RDS_BOOT"])
STREAMS = os.environ["RDS_STREAMS"]
TRANSPORT = os.environ.get("RDS_TRANSPORT", "tcp")
PORT = 5000
# In the order in which they are loaded
MODULES = ["rds", {"tcp": "rds_tcp", "ib": "rds_rdma"}[TRANSPORT],
           "rds_stream"]
# Guest a has the lower IPv4 address, and guest b the lower IPv6 address: over
# TCP, the end with the lower address makes the connections.
ADDRESSES = {"a": ["10.90.0.1", "fdc0:90::2"], "b": ["10.90.0.2", "fdc0:90::1"]}
# Seconds that a program may take to reply, and the other guest to obey: it may
# have to boot first.
PATIENCE, LONG_PATIENCE = 60, 200


class Program:
    """A program of streams that runs. It is ready when this is."""

    def __init__(self, *words):
        self.words = [str(word) for word in words]
        self.process = subprocess.Popen(
            [STREAMS, *self.words], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.buffer = b""
        self.await_line("ready")

    def line(self):
        while b"\n" not in self.buffer:
            if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
                raise RuntimeError(f"no reply within {PATIENCE} s: "
                                   f"{self.words}")
            some = os.read(self.process.stdout.fileno(), 65536)
            if not some:
                raise RuntimeError(f"{self.words}: has ended")
            self.buffer += some
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode()

    def await_line(self, wanted):
        line = self.line()
        if line != wanted:
            raise RuntimeError(f"{self.words}: {line}")

    def tell(self, command):
        """Have it obey, and return the lines that it prints."""
        self.process.stdin.write(f"{command}\n".encode())
        self.process.stdin.flush()
        lines = []
        while (line := self.line()) != ".":
            lines.append(line)
        return lines

    def report(self):
        streams = [json.loads(line) for line in self.tell("report")]
        return {stream["number"]: stream for stream in streams}

    def kill(self):
        """Kill it, and return how long it took to end, in seconds."""
        began = time.monotonic()
        self.process.kill()
        self.process.wait()
        return time.monotonic() - began


class Host:
    """This guest"""

    def __init__(self, me):
        self.me = me
        self.pair = net.Pair(me)
        self.server = None

    def set_up(self):
        """Set the wire up. No packet of soft-RoCE over IPv6 may arrive before
        the device knows its addresses."""
        self.pair.set_up()
        if TRANSPORT == "ib":
            self.pair.refuse_roce()
        for address in ADDRESSES[self.me]:
            self.pair.address("add", address)
        if TRANSPORT == "ib":
            self.pair.rdma("add")
            self.settle_rdma()
        self.load()
        # The first calls make the kernel load modules.
        paths.established([])
        self.distance()
        self.mend()

    def settle_rdma(self):
        self.pair.await_rdma_knows(ADDRESSES[self.me][1])
        self.pair.admit_roce()

    @staticmethod
    def load():
        modules.load(MODULES)

    @staticmethod
    def unload(*names):
        """Unload modules; by default all of RDS."""
        modules.unload(names or [*MODULES[:0:-1], "rds_loop", "rds"])

    @staticmethod
    def in_use(module):
        """Check that a module cannot be unloaded."""
        try:
            net.run("rmmod", module)
        except RuntimeError:
            return True
        return False

    def serve(self):
        """Start a server. The one before is killed."""
        if self.server:
            self.kill()
        self.server = Program("serve", PORT, *ADDRESSES[self.me])

    def kill(self):
        self.server.kill()
        self.server = None

    def report(self):
        """Report each stream of the server. JSON makes words of numbers."""
        return {str(number): stream
                for number, stream in self.server.report().items()}

    def cut(self):
        """Send nothing any more."""
        self.pair.netem("loss", "100%")

    def mend(self):
        self.pair.no_netem()

    def distance(self):
        """Be so far away that a path has data in flight when it is dropped."""
        self.pair.netem("delay", "5ms", "3ms", "loss", "1%")

    def device(self, verb):
        """Remove the RDMA device, or add it again."""
        if verb == "add":
            self.pair.refuse_roce()
        self.pair.rdma(verb)
        if verb == "add":
            self.settle_rdma()

    def kill_path(self):
        """Abort a TCP connection; return whether there was one."""
        living = paths.established(ADDRESSES[self.me])
        return bool(living) and paths.abort(random.choice(living))

    @staticmethod
    def sysctl(name, value):
        net.sysctl(f"net/rds/{name}", value)

    @staticmethod
    def now():
        return time.monotonic()

    @staticmethod
    def counter(name):
        return kernel.counters().get(name, 0)


class Far:
    """The other guest, as this one orders it to do what its Host can: by
    files in a directory that both have."""

    def __init__(self):
        self.number = 0

    def __getattr__(self, name):
        return lambda *args: self.order(name, args)

    def order(self, name, args):
        self.number += 1
        publish(f"order.{self.number}", [name, *args])
        answer = await_file(f"answer.{self.number}")
        (RESULTS / f"order.{self.number}").unlink()
        # The last answer stays: from it, a guest that boots knows what is next.
        (RESULTS / f"answer.{self.number - 1}").unlink(missing_ok=True)
        if "error" in answer:
            raise RuntimeError(f"guest b: {name}: {answer['error']}")
        return answer["value"]


def publish(name, value):
    """Write a file that becomes visible as a whole."""
    new = RESULTS / f"{name}.new"
    new.write_text(json.dumps(value))
    new.rename(RESULTS / name)


def await_file(name, patience=LONG_PATIENCE):
    deadline = time.monotonic() + patience
    while not (RESULTS / name).exists():
        if time.monotonic() > deadline:
            raise RuntimeError(f"no {name} within {patience} s")
        time.sleep(0.02)
    return json.loads((RESULTS / name).read_text())


def boots():
    """Count how often guest b has been up."""
    return len(list(RESULTS.glob("up.*[0-9]")))


def obey():
    """Do what guest a orders, until it orders nothing more. After a reboot,
    go on with the next order."""
    host = Host("b")
    host.set_up()
    publish(f"up.{BOOT}", {})
    number = max((int(answer.suffix[1:]) for answer in
                  RESULTS.glob("answer.*[0-9]")), default=0) + 1
    while True:
        name, *args = await_file(f"order.{number}", 3600)
        if name == "end":
            publish(f"answer.{number}", {"value": None})
            return
        try:
            answer = {"value": getattr(host, name)(*args)}
        except Exception as error:	# guest a reports it
            answer = {"error": f"{type(error).__name__}: {error}"}
        publish(f"answer.{number}", answer)
        number += 1
