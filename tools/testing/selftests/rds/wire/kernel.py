# SPDX-License-Identifier: GPL-2.0
"""The kernel under test, as its own programs see it: RDS sockets, what
RDS_INFO tells, memory, sysctls, and the namespace that the other side of the
wire lives in."""

import contextlib
import ctypes
import errno
import ipaddress
import os
import socket
import struct
import subprocess

PF_RDS = 21
SOL_RDS = 276
INFO_COUNTERS = 10000
INFO_CONNECTIONS = 10011	# of both families
INFO_TCP_SOCKETS = 10016
SO_SNDBUFFORCE = 32
SO_RCVBUFFORCE = 33
CLONE_NEWNET = 0x40000000

libc = ctypes.CDLL(None, use_errno=True)


def is_ours():
    """Do the modules under test come from this project?"""
    return os.environ.get("RDS_MODULES", "ours") == "ours"


def run(*words):
    """Run a program that must succeed; what it said."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def check(status):
    if status < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return status


class Namespace:
    """A network namespace, to open sockets in."""

    def __init__(self, name):
        self.name = name
        self.home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        run("ip", "netns", "add", name)
        self.fd = os.open(f"/run/netns/{name}", os.O_RDONLY)

    @contextlib.contextmanager
    def entered(self):
        """What the calling thread opens meanwhile belongs to it."""
        check(libc.setns(self.fd, CLONE_NEWNET))
        try:
            yield
        finally:
            check(libc.setns(self.home, CLONE_NEWNET))

    def delete(self):
        os.close(self.fd)
        os.close(self.home)
        run("ip", "netns", "del", self.name)


def sockaddr(address, port):
    """As the kernel's calls want it."""
    address = ipaddress.ip_address(address)
    if address.version == 4:
        return struct.pack("=H", socket.AF_INET) + \
            struct.pack("!H", port) + address.packed + bytes(8)
    return struct.pack("=H", socket.AF_INET6) + \
        struct.pack("!HI", port, 0) + address.packed + bytes(4)


class RdsSocket:
    """An RDS socket bound to an address of this host. Python has no idea of
    IPv6 addresses on sockets of this family: the calls are the C library's."""

    def __init__(self, address, port, rcvbuf=None, sndbuf=None):
        self.address = address
        self.port = port
        self.sock = socket.socket(PF_RDS, socket.SOCK_SEQPACKET)
        self.room = ctypes.create_string_buffer(1 << 20)
        limit = struct.pack("ll", 10, 0)
        for option, value in ((SO_RCVBUFFORCE, rcvbuf),
                              (SO_SNDBUFFORCE, sndbuf),
                              (socket.SO_RCVTIMEO, limit),
                              (socket.SO_SNDTIMEO, limit)):
            if value:
                self.sock.setsockopt(socket.SOL_SOCKET, option, value)
        name = sockaddr(address, port)
        check(libc.bind(self.sock.fileno(), name, len(name)))

    def recv(self, flags=0):
        """(payload, sender's address, sender's port)"""
        name = ctypes.create_string_buffer(28)
        size = ctypes.c_int(len(name))
        got = check(libc.recvfrom(self.sock.fileno(), self.room,
                                  len(self.room), flags, name,
                                  ctypes.byref(size)))
        family, port = struct.unpack("=H", name[:2])[0], name[2:4]
        packed = name[4:8] if family == socket.AF_INET else name[8:24]
        return (self.room[:got], str(ipaddress.ip_address(packed)),
                int.from_bytes(port, "big"))

    def silent(self):
        """Is there nothing to receive?"""
        try:
            self.recv(socket.MSG_DONTWAIT | socket.MSG_PEEK)
        except BlockingIOError:
            return True
        return False

    def send(self, address, port, payload=b"", wait=False):
        """The errno, 0 if it was sent."""
        name = sockaddr(address, port)
        sent = libc.sendto(self.sock.fileno(), payload, len(payload),
                           0 if wait else socket.MSG_DONTWAIT, name, len(name))
        return 0 if sent >= 0 else ctypes.get_errno()

    def close(self):
        self.sock.close()


def info(option):
    """(size of a record, all the records)"""
    with socket.socket(PF_RDS, socket.SOCK_SEQPACKET) as sock:
        size = 4096
        while True:
            room = ctypes.create_string_buffer(size)
            length = ctypes.c_int(size)
            record = libc.getsockopt(sock.fileno(), SOL_RDS, option, room,
                                     ctypes.byref(length))
            if record >= 0:
                return record, room.raw[:length.value]
            if ctypes.get_errno() != errno.ENOSPC:
                check(record)
            size = length.value + 8192


def records(option, layout):
    """Each record unpacked; LAYOUT may leave out its tail."""
    layout = struct.Struct(layout)
    size, data = info(option)
    return [layout.unpack_from(data, at)
            for at in range(0, len(data), size)]


def counters():
    return {name.rstrip(b"\0").decode(): value
            for name, value in records(INFO_COUNTERS, "=32sQ")}


def connections():
    """Addresses of the peers of all connections there are."""
    return [str(plain(remote)) for _, _, _, remote
            in records(INFO_CONNECTIONS, "=QQ16s16s")]


def tcp_sockets(peer):
    """(peer's port, ours, bytes that the header lacks, and the payload) of
    each connection to PEER."""
    return [(int.from_bytes(remote_port, "big"),
             int.from_bytes(local_port, "big"), header, payload)
            for _, local_port, remote, remote_port, header, payload
            in records(INFO_TCP_SOCKETS, "=16s2s16s2sQQ")
            if str(plain(remote)) == peer]


def plain(packed):
    address = ipaddress.IPv6Address(packed)
    return address.ipv4_mapped or address


def memory():
    """(kB of slab, kB available)"""
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
        file.write("3\n")
    with open("/proc/meminfo", encoding="ascii") as file:
        fields = dict(line.split(":") for line in file)
    return tuple(int(fields[name].split()[0])
                 for name in ("Slab", "MemAvailable"))


def sysctl(name, value=None):
    """What it was; set it, if there is a value."""
    with open(f"/proc/sys/{name}", "r", encoding="ascii") as file:
        old = file.read().strip()
    if value is not None:
        with open(f"/proc/sys/{name}", "w", encoding="ascii") as file:
            file.write(f"{value}\n")
    return old
