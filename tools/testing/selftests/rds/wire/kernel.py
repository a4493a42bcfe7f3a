# SPDX-License-Identifier: GPL-2.0
"""The kernel under test, as its own programs see it: RDS sockets, the lists of
RDS_INFO, memory, sysctls, and the namespace of the other end of the wire."""

import contextlib
import ctypes
import errno
import glob
import ipaddress
import mmap
import os
import select
import socket
import struct
import subprocess
import sys
import termios

PF_RDS = 21
SOL_RDS = 276
INFO_COUNTERS = 10000
INFO_CONNECTIONS = 10011	# of both families
INFO_TCP_SOCKETS = 10016
SO_SNDBUFFORCE = 32
SO_RCVBUFFORCE = 33
CLONE_NEWNET = 0x40000000

GET_MR = 2
FREE_MR = 3
RECVERR = 5
SO_RDS_TRANSPORT = 8
TRANS_IB = 0
STREAM_REFUSED = 20
STREAM_IOMAP_SIZE = 21
CMSG_STREAM_WRITE = 20
SIOCRDSIOMAP = 0x89e2
SIOCRDSIOUNMAP = 0x89e3

CMSG_RDMA_ARGS = 1
CMSG_RDMA_MAP = 3
CMSG_RDMA_STATUS = 4
CMSG_FADD = 6
CMSG_CSWP = 7
CMSG_MASKED_FADD = 8
CMSG_MASKED_CSWP = 9

# Flags of memory regions, and of operations on a peer's memory
READWRITE = 0x01
FENCE = 0x02
USE_ONCE = 0x08
NOTIFY_ME = 0x20
SILENT = 0x40

# Why connect() was refused
NOT_REFUSED, NO_RDS, NO_STREAMS, NO_LISTENER = range(4)

# Status with which an operation completes
SUCCESS, REMOTE_ERROR, CANCELED, DROPPED, OTHER_ERROR = range(5)

libc = ctypes.CDLL(None, use_errno=True)


def is_ours():
    """Check whether the modules under test come from this project."""
    return os.environ.get("RDS_MODULES", "ours") == "ours"


def finds_leaks():
    """Check whether this kernel searches for lost memory. Such a kernel has
    KASAN, too."""
    return os.path.exists("/sys/kernel/debug/kmemleak")


def run(*words):
    """Run a program that must succeed, and return its output."""
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
    """A network namespace in which sockets can be opened."""

    def __init__(self, name):
        self.name = name
        self.home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        run("ip", "netns", "add", name)
        self.fd = os.open(f"/run/netns/{name}", os.O_RDONLY)

    @contextlib.contextmanager
    def entered(self):
        """Create what the calling thread opens meanwhile in this namespace."""
        check(libc.setns(self.fd, CLONE_NEWNET))
        try:
            yield
        finally:
            check(libc.setns(self.home, CLONE_NEWNET))

    def delete(self):
        os.close(self.fd)
        os.close(self.home)
        run("ip", "netns", "del", self.name)


class MemoryCgroup:
    """A memory cgroup in which sockets can be opened."""

    def __init__(self, name):
        self.root = self.mounted()
        if not self.root:
            self.root = "/run/rds-cgroup"
            os.makedirs(self.root, exist_ok=True)
            run("mount", "-t", "cgroup2", "none", self.root)
        self.path = f"{self.root}/{name}"
        self.write(self.root, "cgroup.subtree_control", "+memory")
        os.mkdir(self.path)

    @staticmethod
    def mounted():
        with open("/proc/mounts", encoding="ascii") as file:
            for line in file:
                if line.split()[2] == "cgroup2":
                    return line.split()[1]
        return None

    @staticmethod
    def write(where, name, value):
        with open(f"{where}/{name}", "w", encoding="ascii") as file:
            file.write(f"{value}\n")

    @contextlib.contextmanager
    def entered(self):
        """Charge what this process opens meanwhile to the cgroup."""
        self.write(self.path, "cgroup.procs", os.getpid())
        try:
            yield
        finally:
            self.write(self.root, "cgroup.procs", os.getpid())

    def used(self):
        """Return the number of bytes that are charged to the cgroup."""
        with open(f"{self.path}/memory.current", encoding="ascii") as file:
            return int(file.read())

    def delete(self):
        os.rmdir(self.path)


def sockaddr(address, port):
    """Return the address and port as a struct sockaddr."""
    address = ipaddress.ip_address(address)
    if address.version == 4:
        return struct.pack("=H", socket.AF_INET) + \
            struct.pack("!H", port) + address.packed + bytes(8)
    return struct.pack("=H", socket.AF_INET6) + \
        struct.pack("!HI", port, 0) + address.packed + bytes(4)


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class Msghdr(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("name_size", ctypes.c_uint),
                ("iov", ctypes.POINTER(Iovec)), ("iov_count", ctypes.c_size_t),
                ("control", ctypes.c_void_p),
                ("control_size", ctypes.c_size_t), ("flags", ctypes.c_int)]


def control_message(kind, data):
    return struct.pack("=Qii", 16 + len(data), SOL_RDS, kind) + \
        data.ljust(-len(data) // 8 * -8, b"\0")


class Memory:
    """SIZE bytes of this process that begin OFFSET bytes behind the beginning
    of a page, with spare bytes before and after them."""

    def __init__(self, size, offset=0):
        self.size = size
        self.offset = mmap.PAGESIZE + offset
        # Zeroed pages that hold nothing else
        self.map = mmap.mmap(-1, self.offset + size + mmap.PAGESIZE,
                             mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        first = ctypes.c_char.from_buffer(self.map)
        self.address = ctypes.addressof(first) + self.offset

    def __getitem__(self, where):
        return bytes(self.view()[where])

    def __setitem__(self, where, data):
        self.view()[where] = data

    def view(self):
        return memoryview(self.map)[self.offset:self.offset + self.size]

    def word(self, at, value=None):
        """Return eight bytes in the byte order of this host; if there is a
        VALUE, set them to it."""
        old = int.from_bytes(self[at:at + 8], sys.byteorder)
        if value is not None:
            self[at:at + 8] = value.to_bytes(8, sys.byteorder)
        return old

    def around(self):
        """Return the bytes before and after it, which must never change."""
        return self.map[:self.offset] + self.map[self.offset + self.size:]


def pinned():
    """Return the number of pages of user memory that have a long-term pin."""
    # Each CPU keeps a counter of its own until it is asked for it.
    with open("/proc/sys/vm/stat_refresh", encoding="ascii") as file:
        file.read()
    with open("/proc/vmstat", encoding="ascii") as file:
        fields = dict(line.split() for line in file)
    return int(fields["nr_foll_pin_acquired"]) - \
        int(fields["nr_foll_pin_released"])


class RdsSocket:
    """An RDS socket bound to an address of this host. Python does not handle
    IPv6 addresses on sockets of this family, so the calls are those of the C
    library."""

    def __init__(self, address, port, rcvbuf=None, sndbuf=None,
                 transport=None):
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
        if transport is not None:
            self.sock.setsockopt(SOL_RDS, SO_RDS_TRANSPORT, transport)
        name = sockaddr(address, port)
        check(libc.bind(self.sock.fileno(), name, len(name)))

    def recv(self, flags=0):
        """Return (payload, sender's address, sender's port)."""
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
        """Check whether nothing can be received."""
        try:
            self.recv(socket.MSG_DONTWAIT | socket.MSG_PEEK)
        except BlockingIOError:
            return True
        return False

    def send(self, address, port, payload=b"", wait=False):
        """Send a message; return the errno, or 0 if it was sent."""
        name = sockaddr(address, port)
        sent = libc.sendto(self.sock.fileno(), payload, len(payload),
                           0 if wait else socket.MSG_DONTWAIT, name, len(name))
        return 0 if sent >= 0 else ctypes.get_errno()

    def unsent(self):
        """Return the number of bytes of payload that are still unsent."""
        room = ctypes.c_int()
        check(libc.ioctl(self.sock.fileno(), termios.TIOCOUTQ,
                         ctypes.byref(room)))
        return room.value

    # Memory

    def option(self, name, data):
        """Set an option; return the errno, or 0."""
        status = libc.setsockopt(self.sock.fileno(), SOL_RDS, name, data,
                                 len(data))
        return ctypes.get_errno() if status < 0 else 0

    def register(self, memory, flags=READWRITE):
        """Register memory for access by peers. Return (key, address at which
        peers see its beginning)."""
        cookie = ctypes.c_uint64()
        error = self.option(GET_MR, struct.pack(
            "=QQQQ", memory.address, memory.size, ctypes.addressof(cookie),
            flags))
        if error:
            raise OSError(error, os.strerror(error))
        return cookie.value & 0xffffffff, cookie.value >> 32

    def free(self, key):
        """Free a memory region; return the errno, or 0."""
        return self.option(FREE_MR, struct.pack("=QQ", key, 0))

    def send_with(self, address, port, payload, *controls):
        """Send a message with control messages; return the errno, or 0."""
        name = sockaddr(address, port)
        room = ctypes.create_string_buffer(payload, len(payload) + 1)
        control = ctypes.create_string_buffer(b"".join(controls))
        iov = Iovec(ctypes.addressof(room), len(payload))
        message = Msghdr(name, len(name), ctypes.pointer(iov), 1,
                         ctypes.addressof(control), len(control) - 1, 0)
        sent = libc.sendmsg(self.sock.fileno(), ctypes.byref(message), 0)
        return 0 if sent >= 0 else ctypes.get_errno()

    def rdma(self, address, port, payload, where, memory, flags=NOTIFY_ME,
             token=0):
        """Read from a peer's memory to MEMORY, or write MEMORY to it if FLAGS
        has READWRITE. WHERE is (key, address at which the region begins,
        offset behind that). Return the errno, or 0."""
        key, begin, offset = where
        vector = ctypes.create_string_buffer(
            struct.pack("=QQ", memory.address, memory.size))
        return self.send_with(address, port, payload, control_message(
            CMSG_RDMA_ARGS, struct.pack(
                "=QQQQQQQ", key | begin << 32, offset, memory.size,
                ctypes.addressof(vector), 1, flags, token)))

    def atomic(self, address, port, payload, where, memory, kind, values,
               flags=NOTIFY_ME, token=0):
        """Do the atomic operation KIND with VALUES; the old value goes to
        MEMORY. Return the errno, or 0."""
        key, begin, offset = where
        return self.send_with(address, port, payload, control_message(
            kind, struct.pack(
                "=QQQQQQQQQ", key | begin << 32, memory.address, offset,
                *(values + (0, 0, 0, 0))[:4], flags, token)))

    def offer(self, address, port, payload, memory, flags=READWRITE):
        """Register memory, and announce it to the peer by this message; return
        the errno, or 0."""
        cookie = ctypes.c_uint64()
        return self.send_with(address, port, payload, control_message(
            CMSG_RDMA_MAP, struct.pack(
                "=QQQQ", memory.address, memory.size,
                ctypes.addressof(cookie), flags)))

    def statuses(self, wait=True):
        """Return (token, status) of each operation that has completed; [] if
        none has and no message waits."""
        control = ctypes.create_string_buffer(4096)
        room = ctypes.create_string_buffer(16)
        iov = Iovec(ctypes.addressof(room), len(room))
        message = Msghdr(None, 0, ctypes.pointer(iov), 1,
                         ctypes.addressof(control), len(control), 0)
        got = libc.recvmsg(self.sock.fileno(), ctypes.byref(message),
                           0 if wait else socket.MSG_DONTWAIT)
        if got < 0 and ctypes.get_errno() == errno.EAGAIN:
            return []
        check(got)
        found, at = [], 0
        while at < message.control_size:
            size, level, kind = struct.unpack_from("=Qii", control.raw, at)
            if (level, kind) == (SOL_RDS, CMSG_RDMA_STATUS):
                found.append(struct.unpack_from("=Qi", control.raw, at + 16))
            at += -size // 8 * -8
        if not found:
            raise OSError(errno.EBADMSG, "a message, and no status")
        return found

    def close(self):
        self.sock.close()


class StreamSocket:
    """A socket of type SOCK_STREAM. It is bound to PORT, if there is one. What
    waits does so for ten seconds at most."""

    PATIENCE = 10

    def __init__(self, address, port=0, fileno=None):
        self.address = address
        self.protocol = int(":" in address)
        self.sock = socket.socket(PF_RDS, socket.SOCK_STREAM, self.protocol,
                                  fileno)
        self.sock.settimeout(self.PATIENCE)
        if port:
            name = sockaddr(address, port)
            check(libc.bind(self.sock.fileno(), name, len(name)))

    def port(self):
        name = ctypes.create_string_buffer(28)
        size = ctypes.c_int(len(name))
        check(libc.getsockname(self.sock.fileno(), name, ctypes.byref(size)))
        return int.from_bytes(name[2:4], "big")

    def listen(self, backlog=16):
        self.sock.listen(backlog)

    def accept(self):
        """Return a stream that waits to be accepted."""
        if not self.poll(select.POLLIN, self.PATIENCE):
            raise OSError(errno.EAGAIN, "no stream to accept")
        return StreamSocket(self.address, fileno=check(
            libc.accept(self.sock.fileno(), None, None)))

    def connect(self, address, port):
        """Begin to connect; return the errno, which is EINPROGRESS."""
        name = sockaddr(address, port)
        status = libc.connect(self.sock.fileno(), name, len(name))
        return ctypes.get_errno() if status < 0 else 0

    def connected(self, timeout=PATIENCE):
        """Wait until connect() has ended; return its errno, or 0. Return
        EINPROGRESS if it has not."""
        if not self.poll(select.POLLOUT, timeout):
            return errno.EINPROGRESS
        return self.error()

    def error(self):
        """Return the pending error, and clear it."""
        return self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)

    def refused(self):
        return self.sock.getsockopt(SOL_RDS, STREAM_REFUSED)

    def poll(self, events, seconds=0):
        """Return those of EVENTS, or an error, that come in this time."""
        poll = select.poll()
        poll.register(self.sock.fileno(), events)
        found = poll.poll(1000 * seconds)
        return found[0][1] if found else 0

    def recv(self, size=1 << 20, flags=0):
        """Return what is received, or the errno."""
        try:
            return self.sock.recv(size, flags)
        except OSError as error:
            # What Python raises when its own time limit is over has no errno.
            return error.errno or errno.EAGAIN

    def recv_all(self, size):
        """Return SIZE bytes, or what comes before something else."""
        data = b""
        while len(data) < size:
            more = self.recv(size - len(data))
            if not isinstance(more, bytes) or not more:
                break
            data += more
        return data

    def silent(self):
        """Check whether neither bytes nor the end of the stream are there."""
        return not self.poll(select.POLLIN)

    def send(self, data):
        """Send without waiting; return how many bytes were sent, or the
        negative errno."""
        sent = libc.send(self.sock.fileno(), data, len(data),
                         socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        return sent if sent >= 0 else -ctypes.get_errno()

    def allow_mappings(self, number):
        """Say how many mappings the peer may make."""
        self.sock.setsockopt(SOL_RDS, STREAM_IOMAP_SIZE, number)

    def change_mapping(self, request, memory, offset):
        """Return the offset, or the negative errno."""
        args = ctypes.create_string_buffer(struct.pack(
            "QQqII", memory.address, memory.size, offset, mmap.PROT_WRITE, 0),
            32)
        if libc.ioctl(self.sock.fileno(), request, args):
            return -ctypes.get_errno()
        return struct.unpack("q", args.raw[16:24])[0]

    def map(self, memory, offset=-1):
        return self.change_mapping(SIOCRDSIOMAP, memory, offset)

    def unmap(self, memory):
        return self.change_mapping(SIOCRDSIOUNMAP, memory, 0)

    def put(self, data, offset):
        """Write to the peer's mappings; return how many bytes were sent, or
        the negative errno."""
        control = SOL_RDS, CMSG_STREAM_WRITE, struct.pack("Q", offset)
        try:
            return self.sock.sendmsg([data], [control], socket.MSG_NOSIGNAL)
        except OSError as error:
            return -error.errno

    def unacked(self):
        """Return the number of bytes that the peer has not acknowledged."""
        room = ctypes.c_int()
        check(libc.ioctl(self.sock.fileno(), termios.TIOCOUTQ,
                         ctypes.byref(room)))
        return room.value

    def shutdown(self, how):
        self.sock.shutdown(how)

    def linger(self, seconds):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, seconds))

    def user_timeout(self, seconds):
        """End the stream if nothing is acknowledged for this time."""
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT,
                             1000 * seconds)

    def close(self):
        self.sock.close()

    def reset(self):
        if self.sock.fileno() >= 0:
            self.linger(0)
            self.sock.close()


def streams():
    """Return how often the module of streams is in use: by each stream, and by
    the socket that the user has of it."""
    with open("/proc/modules", encoding="ascii") as file:
        fields = [line.split() for line in file]
    return {words[0]: int(words[2]) for words in fields}["rds_stream"]


def info(option):
    """Return (size of a record, all records)."""
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
    """Unpack each record; LAYOUT may leave out the tail of a record."""
    layout = struct.Struct(layout)
    size, data = info(option)
    return [layout.unpack_from(data, at)
            for at in range(0, len(data), size)]


def counters():
    return {name.rstrip(b"\0").decode(): value
            for name, value in records(INFO_COUNTERS, "=32sQ")}


def connections():
    """Return the peers' addresses of all connections."""
    return [str(plain(remote)) for _, _, _, remote
            in records(INFO_CONNECTIONS, "=QQ16s16s")]


def next_number(address):
    """Return the number that the next message to a peer gets, on path 0."""
    return {str(plain(remote)): number for number, _, _, remote
            in records(INFO_CONNECTIONS, "=QQ16s16s")}[address]


def tcp_sockets(peer):
    """Return, for each connection to PEER, (peer's port, our port, bytes that
    are missing of the header, and of the payload)."""
    return [(int.from_bytes(remote_port, "big"),
             int.from_bytes(local_port, "big"), header, payload)
            for _, local_port, remote, remote_port, header, payload
            in records(INFO_TCP_SOCKETS, "=16s2s16s2sQQ")
            if str(plain(remote)) == peer]


def plain(packed):
    address = ipaddress.IPv6Address(packed)
    return address.ipv4_mapped or address


def memory():
    """Return (kB of slab, kB available)."""
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
        file.write("3\n")
    with open("/proc/meminfo", encoding="ascii") as file:
        fields = dict(line.split(":") for line in file)
    return tuple(int(fields[name].split()[0])
                 for name in ("Slab", "MemAvailable"))


def slabinfo(column):
    """Return a column of /proc/slabinfo by slab cache."""
    with open("/proc/slabinfo", encoding="ascii") as file:
        lines = [line.split() for line in file][2:]
    return {fields[0]: int(fields[column]) for fields in lines}


def objects():
    """Return the number of objects in use by slab cache. Shrink each cache
    first, because it counts the free objects in the slabs of a CPU as used.
    That of a CPU that has begun a new one since may be objects_per_slab() too
    high."""
    memory()
    for path in glob.glob("/sys/kernel/slab/*/shrink"):
        with open(path, "w", encoding="ascii") as file:
            file.write("1\n")
    return slabinfo(1)


def objects_per_slab():
    return slabinfo(4)


def sysctl(name, value=None):
    """Return the value; if there is a VALUE, set it."""
    with open(f"/proc/sys/{name}", "r", encoding="ascii") as file:
        old = file.read().strip()
    if value is not None:
        with open(f"/proc/sys/{name}", "w", encoding="ascii") as file:
            file.write(f"{value}\n")
    return old
