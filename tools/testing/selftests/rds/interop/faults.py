# SPDX-License-Identifier: GPL-2.0
"""The faults that occur while messages flow. A fault begins when they do, in
one or both guests, and goes on until all have been sent. Then it restores what
it has changed. Its counts go into the results.
"""
import os
import pathlib
import random
import re
import sys
import time

import net
import paths

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "wire"))
from klog import KernelLog	# noqa: E402

LINK_DOWN = float(os.environ.get("RDS_LINK_DOWN", 3))
RESULTS = pathlib.Path(os.environ["RDS_RESULTS"])
SECONDS = float(os.environ.get("RDS_SECONDS", 3))


class Fault:
    """No fault."""

    # Seconds that something is away
    down = LINK_DOWN

    def __init__(self, pair, addresses, directory):
        self.pair = pair
        self.addresses = addresses
        self.dir = directory
        self.counts = {}

    def prepare(self):
        """Called before there is a connection."""

    def run(self, stop):
        """Called while messages flow; returns when STOP is set, or earlier."""

    def restore(self):
        """Called when all is over."""

    def report_gone(self):
        """Report that the other guest's RDS has ended, while this is so."""
        (self.dir / "gone").touch()
        deadline = time.monotonic() + 10
        while not (self.dir / "a.1.noted").exists():
            if time.monotonic() > deadline:
                raise RuntimeError("the end of the peer has not been noted")
            time.sleep(0.02)

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1


class Netem(Fault):
    """The wire is bad, from the first packet on."""

    WHAT = {
        "loss": ["loss", "5%"],
        "some loss": ["loss", "1%"],
        "corruption": ["corrupt", "2%"],
        "duplication": ["duplicate", "2%"],
        "reordering": ["delay", "10ms", "reorder", "25%", "50%"],
        "delay": ["delay", "20ms"],
    }

    def __init__(self, pair, addresses, directory, what):
        super().__init__(pair, addresses, directory)
        self.what = self.WHAT[what]

    def prepare(self):
        self.pair.netem(*self.what)

    def restore(self):
        self.pair.no_netem()


class LinkDown(Fault):
    """The wire is cut for a while."""

    def run(self, stop):
        time.sleep(0.3)
        self.pair.link("down")
        self.count("link down")
        time.sleep(self.down)
        self.pair.link("up")


class WireCut(Fault):
    """All packets are lost for a while, and no end is notified. (If the link
    of a soft-RoCE device goes down while a connection is made or ended, the
    device never makes another one.)
    """

    def run(self, stop):
        time.sleep(0.3)
        self.pair.netem("loss", "100%")
        self.count("cut")
        time.sleep(self.down)
        self.pair.no_netem()


class Distance(Fault):
    """The other guest is so far away that a path has data in flight when it is
    dropped."""

    def prepare(self):
        self.pair.netem("delay", "5ms", "3ms", "loss", "1%")

    def restore(self):
        self.pair.no_netem()


class KillPaths(Distance):
    """Every 200 ms a random TCP connection is aborted."""

    def prepare(self):
        super().prepare()
        # The first call makes the kernel load modules.
        paths.established([])

    def run(self, stop):
        while not stop.wait(0.2):
            living = paths.established(self.addresses)
            if not living:
                self.count("not there")
            elif paths.abort(random.choice(living)):
                self.count("killed")


class Buffers(Distance):
    """Every second the buffer sizes are set, which drops all paths. On a
    machine where a second is too short for paths to reconnect, no message
    would ever get through. So the fault ends after some time in any case.
    """

    SIZES = [65536, 131072, 1048576]
    TIMES = 5 * SECONDS

    def set(self, name, value):
        net.sysctl(f"net/rds/tcp/rds_tcp_{name}", value)

    def run(self, stop):
        while self.counts.get("rewritten", 0) < self.TIMES:
            if stop.wait(1):
                return
            size = random.choice(self.SIZES)
            self.set("sndbuf", size)
            self.set("rcvbuf", size)
            self.count("rewritten")

    def restore(self):
        super().restore()
        # There is no way back to the default, which lets TCP choose.
        self.set("sndbuf", 1048576)
        self.set("rcvbuf", 1048576)


class DeviceGone(Fault):
    """The RDMA device is removed and added again, as often as possible."""

    def run(self, stop):
        while True:
            time.sleep(0.3)
            self.pair.rdma("del")
            self.count("removed")
            time.sleep(0.3)
            self.pair.rdma("add")
            if stop.wait(1):
                return


class LinkAndDeviceGone(Fault):
    """The link goes down; when it is up again, the device is created again."""

    def run(self, stop):
        time.sleep(0.3)
        self.pair.link("down")
        self.count("link down")
        time.sleep(self.down)
        self.pair.link("up")
        self.pair.rdma("del")
        self.pair.rdma("add")


class AddressGone(Fault):
    """The addresses are removed, and added again."""

    def run(self, stop):
        time.sleep(0.2 if self.pair.me == "a" else 2)
        for address in self.addresses:
            self.pair.address("del", address)
        self.count("removed")
        time.sleep(1)
        self.add()

    def add(self):
        for address in self.addresses:
            self.pair.address("add", address)


class Unreachable(Fault):
    """There is no way to the other guest for a while. If the connection manager
    repeats a message then, the soft-RoCE of Linux 6.1 loses the queue pair for
    such messages: create the device again.
    """

    LOST = re.compile(r"qp#1 .*(Failed allocating skb|Host not reachable)")
    # The latter is a message for those who debug the device.
    SHOW = 'format "Host not reachable" +p'
    CONTROL = pathlib.Path("/proc/dynamic_debug/control")

    def prepare(self):
        super().prepare()
        if self.CONTROL.exists():
            self.CONTROL.write_text(self.SHOW)
        self.log = KernelLog()

    def revive(self):
        # Read all records: the next call looks at those that follow.
        records = list(self.log.records())
        if any(map(self.LOST.search, records)):
            self.pair.rdma("del")
            self.pair.rdma("add")
            self.count("device lost")


class RdmaAddressGone(AddressGone, Unreachable):
    """The addresses of an RDMA device are removed. The soft-RoCE of Linux 6.1
    is notified of an address after the network, and a packet for an IPv6
    address that the device does not have yet crashes the kernel. So all such
    packets are dropped until the device has the addresses.
    """

    def add(self):
        unsafe = [address for address in self.addresses if ":" in address]
        if unsafe:
            self.pair.refuse_roce()
        super().add()
        for address in unsafe:
            self.pair.await_rdma_knows(address)
        if unsafe:
            self.pair.admit_roce()
        self.revive()


class RouteGone(Unreachable):
    """There is no route to the other guest."""

    def run(self, stop):
        time.sleep(0.3)
        self.pair.del_routes()
        self.count("removed")
        time.sleep(self.down)
        self.pair.add_routes()
        self.revive()


class AddressMoves(Fault):
    """The addresses move to another device of the host."""

    def run(self, stop):
        time.sleep(0.2 if self.pair.me == "a" else 1.5)
        for address in self.addresses:
            self.pair.address("del", address)
            self.pair.address("add", address, self.pair.SPARE)
        self.count("moved")

    def restore(self):
        for address in self.addresses:
            self.pair.address("del", address, self.pair.SPARE)
            self.pair.address("add", address)


class Points(Fault):
    """Calls of our modules fail, one in so many that no system call makes: see
    net/rds/test/fail.h. Other modules do not.
    """

    FILE = pathlib.Path("/sys/kernel/debug/rds_fail")
    EVERY = os.environ.get("RDS_FAIL_EVERY")

    def failed(self):
        return sum(int(line.split()[2])
                   for line in self.FILE.read_text().splitlines())

    def run(self, stop):
        if not self.FILE.exists():
            return
        before = self.failed()
        self.FILE.write_text(f"0 {self.EVERY} {self.EVERY}")
        stop.wait()
        self.FILE.write_text("0 0")
        self.counts["failed"] = self.failed() - before
        (RESULTS / f"points.{self.pair.me}").write_text(self.FILE.read_text())


class Reboot(Fault):
    """The other guest is switched off and on, on request of this one."""

    def run(self, stop):
        time.sleep(0.7)
        request = RESULTS / "reboot-b"
        request.touch()
        while request.exists():
            time.sleep(0.05)
        self.report_gone()
        self.count("rebooted")
