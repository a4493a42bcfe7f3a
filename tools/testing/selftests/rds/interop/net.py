# SPDX-License-Identifier: GPL-2.0
"""Addresses, routes and devices of the guest in which this runs"""
import ipaddress
import os
import pathlib
import subprocess
import time

SYSCTL = pathlib.Path("/proc/sys")
RDMA = pathlib.Path("/sys/class/infiniband")
ROCE_PORT = 4791


def run(*args):
    """Run a program, and return what it printed."""
    done = subprocess.run([str(arg) for arg in args], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, args))}: {done.stdout}")
    return done.stdout


def sysctl(name, value):
    (SYSCTL / name).write_text(f"{value}\n")


class Pair:
    """This guest's end of the wire to the other one. The tests use addresses
    of their own, which each guest reaches through the first address of the
    other. So these need not be on that wire.
    """

    DEVICE = "eth0"
    SPARE = "spare0"
    # The networks of these addresses, and how the other guest's first
    # addresses begin
    NETS = ["10.64.0.0/10", "fdc0::/16"]
    VIA = ["10.0.0.", "fd00::"]
    # Packets to be sent wait, however long. The default queue (fq_codel) drops
    # packets that have waited long. On slow guests this is a loss that no test
    # asked for, and RDMA over Ethernet is made for networks without loss.
    QUEUE = ["pfifo", "limit", 10000]

    def __init__(self, me, rdma="rxe"):
        self.me = me
        self.kind = rdma
        self.peer = "b" if me == "a" else "a"
        self.number = {"a": 1, "b": 2}

    def set_up(self):
        # Without this, its IPv6 addresses are gone when the wire is taken
        # down.
        sysctl(f"net/ipv6/conf/{self.DEVICE}/keep_addr_on_down", 1)
        run("ip", "link", "add", self.SPARE, "type", "dummy")
        run("ip", "link", "set", self.SPARE, "up")
        self.no_netem()
        self.add_routes()

    def add_routes(self):
        number = self.number[self.peer]
        run("ip", "route", "replace", self.NETS[0], "via",
            f"{self.VIA[0]}{number}")
        run("ip", "-6", "route", "replace", self.NETS[1], "via",
            f"{self.VIA[1]}{number}", "dev", self.DEVICE)

    def del_routes(self):
        run("ip", "route", "del", self.NETS[0])
        run("ip", "-6", "route", "del", self.NETS[1])

    def address(self, verb, address, device=None):
        nodad = ["nodad"] if ":" in address and verb == "add" else []
        length = 128 if ":" in address else 32
        run("ip", "address", verb, f"{address}/{length}", "dev",
            device or self.DEVICE, *nodad)

    def refuse_roce(self):
        """Drop all packets for an RDMA device over IPv6."""
        run("tc", "qdisc", "add", "dev", self.DEVICE, "clsact")
        run("tc", "filter", "add", "dev", self.DEVICE, "ingress",
            "protocol", "ipv6", "flower", "ip_proto", "udp",
            "dst_port", ROCE_PORT, "action", "drop")

    def admit_roce(self):
        run("tc", "qdisc", "del", "dev", self.DEVICE, "clsact")

    def rdma_knows(self, address):
        """Check whether an IPv6 address is among the first of the RDMA
        device."""
        wanted = ipaddress.ip_address(address).exploded
        gids = RDMA / f"{self.kind}0" / "ports/1/gids"
        return any((gids / str(index)).read_text().strip() == wanted
                   for index in range(100))

    def await_rdma_knows(self, address):
        deadline = time.monotonic() + 30
        while not self.rdma_knows(address):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.kind}0 does not get {address}")

    def link(self, state):
        run("ip", "link", "set", self.DEVICE, state)
        if state == "up":
            self.add_routes()

    def rdma(self, verb):
        """Create the RDMA device on the network device, or remove it."""
        if verb == "add":
            # It computes the checksums of packets, and is not loaded
            # automatically.
            run("modprobe", "crc32_generic")
            run("rdma", "link", "add", f"{self.kind}0", "type", self.kind,
                "netdev", self.DEVICE)
        else:
            run("rdma", "link", "del", f"{self.kind}0")

    def queue(self, *what):
        run("tc", "qdisc", "replace", "dev", self.DEVICE, "root", *what)

    def netem(self, *what):
        self.queue("netem", *what)

    def no_netem(self):
        self.queue(*self.QUEUE)
