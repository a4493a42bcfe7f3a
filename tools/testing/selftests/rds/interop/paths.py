# SPDX-License-Identifier: GPL-2.0
"""List the TCP connections that carry RDS, and abort them as `ss -K` does, but
without the time that it takes to start a program.
"""
import collections
import errno
import ipaddress
import os
import socket
import struct

RDS_PORT = 16385

NETLINK_SOCK_DIAG = 4
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 1, 4, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3
SOCK_DIAG_BY_FAMILY, SOCK_DESTROY = 20, 21
TCP_ESTABLISHED = 1

HEADER = struct.Struct("=IHHII")
# Family, protocol, extensions, pad, states; the identity of a socket follows.
REQUEST = struct.Struct("=BBBxI")
# Family, state, timer, retransmits; the identity of a socket follows.
REPLY = struct.Struct("=BBBB")
# Source and destination port and address, interface, cookie
IDENTITY = struct.Struct("!HH16s16s12s")

Path = collections.namedtuple("Path", "family local remote identity")


def exchange(command, flags, body):
    """Send a request, and yield each reply."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW,
                       NETLINK_SOCK_DIAG) as diag:
        diag.send(HEADER.pack(HEADER.size + len(body), command,
                              NLM_F_REQUEST | flags, 1, 0) + body)
        while True:
            data = diag.recv(1 << 20)
            while data:
                length, kind = HEADER.unpack_from(data)[:2]
                if kind == NLMSG_DONE:
                    return
                if kind == NLMSG_ERROR:
                    code = -struct.unpack_from("=i", data, HEADER.size)[0]
                    if code:
                        raise OSError(code, os.strerror(code))
                    return
                yield data[HEADER.size:length]
                data = data[(length + 3) & ~3:]


def address(family, packed):
    """Return the address in its shortest form."""
    if family == socket.AF_INET:
        return str(ipaddress.IPv4Address(packed[:4]))
    whole = ipaddress.IPv6Address(packed)
    return str(whole.ipv4_mapped or whole)


def established(addresses):
    """Return the connections from one of these addresses."""
    paths = []
    for family in (socket.AF_INET, socket.AF_INET6):
        body = REQUEST.pack(family, socket.IPPROTO_TCP, 0,
                            1 << TCP_ESTABLISHED) + bytes(IDENTITY.size)
        for reply in exchange(SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, body):
            identity = reply[REPLY.size:REPLY.size + IDENTITY.size]
            sport, dport, source, target, _ = IDENTITY.unpack(identity)
            local = address(family, source)
            if RDS_PORT in (sport, dport) and local in addresses:
                paths.append(Path(family, f"{local} {sport}",
                                  f"{address(family, target)} {dport}",
                                  identity))
    return paths


def abort(path):
    """Abort a connection; return whether it was there."""
    body = REQUEST.pack(path.family, socket.IPPROTO_TCP, 0,
                        1 << TCP_ESTABLISHED) + path.identity
    try:
        list(exchange(SOCK_DESTROY, NLM_F_ACK, body))
    except OSError as failure:
        if failure.errno == errno.ENOENT:
            return False
        raise
    return True
