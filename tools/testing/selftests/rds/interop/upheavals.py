# SPDX-License-Identifier: GPL-2.0
"""The faults of a run of hours, by the names that they have in plan.py. Most
are those of faults.py. The others are here.
"""
import functools
import pathlib
import random
import struct
import subprocess
import sys
import time

import faults
import net
import paths

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "wire"))
import kernel	# noqa: E402

RDS = pathlib.Path("net/rds")
CGROUPS = pathlib.Path("/sys/fs/cgroup")


class RdmaPair(net.Pair):
    """The wire itself, and the RDMA device on it. Its IPv6 addresses, which
    the device must know before a packet for one arrives, are in UNSAFE; see
    faults.RdmaAddressGone."""

    def __init__(self, me, beside, unsafe):
        super().__init__(me)
        self.beside = beside
        self.unsafe = unsafe

    def link(self, state):
        super().link(state)
        if state == "up":
            self.beside.add_routes()

    def rdma(self, verb):
        if verb != "add":
            super().rdma(verb)
            return
        self.refuse_roce()
        super().rdma(verb)
        for address in self.unsafe:
            self.await_rdma_knows(address)
        self.admit_roce()


class TcpPair(net.Pair):
    """A VLAN on the wire, so that what happens to TCP does not always happen
    to the RDMA device, which endures less."""

    DEVICE = "wire0"
    SPARE = "spare1"
    NETS = ["10.128.0.0/10", "fdc8::/16"]
    VIA = ["10.0.1.", "fd01::"]

    def set_up(self):
        number = self.number[self.me]
        net.run("ip", "link", "add", "link", net.Pair.DEVICE, "name",
                self.DEVICE, "type", "vlan", "id", 7)
        net.run("ip", "link", "set", self.DEVICE, "up")
        net.run("ip", "address", "add", f"{self.VIA[0]}{number}/24", "dev",
                self.DEVICE)
        net.run("ip", "address", "add", f"{self.VIA[1]}{number}/64", "dev",
                self.DEVICE, "nodad")
        super().set_up()


def read_sysctl(name):
    return (net.SYSCTL / RDS / name).read_text().strip()


def write_sysctl(name, value):
    net.sysctl(RDS / name, value)


class Resets(faults.KillPaths):
    """The same on a wire that is good, unless another fault has it."""

    def prepare(self):
        faults.Fault.prepare(self)
        paths.established([])

    def restore(self):
        faults.Fault.restore(self)


class Buffers(faults.Buffers):
    def prepare(self):
        faults.Fault.prepare(self)

    def restore(self):
        for name in "sndbuf", "rcvbuf":
            self.set(name, 0)


class MaxPaths(faults.Fault):
    """Another number of paths is offered, and all paths meet again."""

    def run(self, stop):
        paths.established([])
        # However short the fault is, it occurs.
        while not self.counts or not stop.wait(2):
            write_sysctl("tcp/max_paths", random.randint(1, 8))
            for path in paths.established(self.addresses):
                paths.abort(path)
            self.count("rewritten")

    def restore(self):
        write_sysctl("tcp/max_paths", 8)


class Sysctls(faults.Fault):
    """Random values are written, each within bounds that make sense."""

    BOUNDS = {
        "reconnect_min_delay_ms": (1, 50),
        "reconnect_max_delay_ms": (100, 3000),
        "max_unacked_packets": (1, 64),
        "max_unacked_bytes": (1000, 1 << 24),
        "rx_held_max": (1 << 16, 1 << 24),
        "tcp/user_timeout_ms": (3000, 15000),
        "ib/max_send_wr": (16, 512),
        "ib/max_recv_wr": (64, 1024),
        "ib/max_unsignaled_wr": (1, 32),
        "ib/flow_control": (0, 1),
    }

    def prepare(self):
        names = [name for name in self.BOUNDS
                 if (net.SYSCTL / RDS / name).exists()]
        self.old = {name: read_sysctl(name) for name in names}

    def run(self, stop):
        while not stop.wait(0.5):
            name = random.choice(list(self.old))
            write_sysctl(name, random.randint(*self.BOUNDS[name]))
            self.count("written")

    def restore(self):
        for name, value in self.old.items():
            write_sysctl(name, value)


class Hogs(faults.Fault):
    """Programs use all the time of the processors that they can get."""

    def run(self, stop):
        hogs = [subprocess.Popen(["sh", "-c", "while :; do :; done"])
                for _ in range(random.randint(1, 3))]
        self.counts["hogs"] = len(hogs)
        stop.wait()
        for hog in hogs:
            hog.kill()
            hog.wait()


class MemoryLimit(faults.Fault):
    """The programs that exchange messages may hardly have any memory. They are
    slowed down, and not killed."""

    PROCESSES = []
    GROUP = CGROUPS / "limited"
    HIGH = 2 << 20

    def move(self, to):
        for process in self.PROCESSES:
            try:
                (to / "cgroup.procs").write_text(str(process.pid))
                self.count("processes")
            except ProcessLookupError:
                pass

    def run(self, stop):
        (CGROUPS / "cgroup.subtree_control").write_text("+memory")
        self.GROUP.mkdir(exist_ok=True)
        (self.GROUP / "memory.high").write_text(str(self.HIGH))
        self.move(self.GROUP)
        stop.wait()
        (self.GROUP / "memory.high").write_text("max")
        self.move(CGROUPS)
        events = (self.GROUP / "memory.events").read_text()
        self.counts["slowed"] = int(dict(
            line.split() for line in events.splitlines())["high"])


class Namespaces(faults.Fault):
    """Namespaces are made, have messages of their own, and end."""

    NUMBER = struct.Struct("!I")
    COUNT = 40

    def exchange(self):
        """Send messages from a socket to another one and receive them."""
        source = kernel.RdsSocket("127.0.0.1", 4000)
        target = kernel.RdsSocket("127.0.0.1", 4001)
        for number in range(self.COUNT):
            error = source.send("127.0.0.1", 4001, self.NUMBER.pack(number),
                                wait=True)
            got = target.recv()
            wanted = self.NUMBER.pack(number), "127.0.0.1", 4000
            if error or got != wanted:
                raise RuntimeError(f"wanted {wanted}, got {got}, {error}")
        source.sock.close()
        target.sock.close()

    def run(self, stop):
        while not stop.is_set():
            space = kernel.Namespace("ended")
            try:
                net.run("ip", "-n", space.name, "link", "set", "lo", "up")
                with space.entered():
                    self.exchange()
            finally:
                space.delete()
            self.count("made")
            time.sleep(0.1)


def netem(what):
    return functools.partial(faults.Netem, what=what)


FAULTS = {
    "tcp loss": netem("loss"),
    "tcp corruption": netem("corruption"),
    "tcp duplication": netem("duplication"),
    "tcp reordering": netem("reordering"),
    "tcp delay": netem("delay"),
    "tcp link down": faults.LinkDown,
    "tcp resets": Resets,
    "tcp buffers": Buffers,
    "tcp address gone": faults.AddressGone,
    "tcp address moves": faults.AddressMoves,
    "tcp max_paths": MaxPaths,
    "loss": netem("some loss"),
    "delay": netem("delay"),
    "wire cut": faults.WireCut,
    "link down": faults.LinkAndDeviceGone,
    "rdma device gone": faults.DeviceGone,
    "rdma address gone": faults.RdmaAddressGone,
    "rdma route gone": faults.RouteGone,
    "sysctls": Sysctls,
    "processor hogs": Hogs,
    "memory limit": MemoryLimit,
    "namespaces": Namespaces,
}
