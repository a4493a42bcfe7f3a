# SPDX-License-Identifier: GPL-2.0
"""Begin connections and never finish them: send SYNs from addresses that no
host has."""

import errno
import ipaddress
import random
import socket
import struct
import time

import wire

ETH_P_IP = 0x0800


def checksum(data):
    """Return the checksum of the Internet protocols."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xffff) + (total >> 16)
    return ~(total + (total >> 16)) & 0xffff


def packet(source, dest, port):
    """Return the IPv4 packet of one SYN."""
    addresses = source.packed + dest.packed
    tcp = struct.pack("!HHIIBBHHH", port, wire.TCP_PORT,
                      random.getrandbits(32), 0, 6 << 4, 2, 65535, 0, 0)
    tcp += struct.pack("!BBH", 2, 4, 1460)
    pseudo = addresses + struct.pack("!HH", socket.IPPROTO_TCP, len(tcp))
    tcp = tcp[:16] + struct.pack("!H", checksum(pseudo + tcp)) + tcp[18:]
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64,
                       socket.IPPROTO_TCP, 0)
    head = head[:10] + struct.pack("!H", checksum(head + addresses))
    return head + addresses + tcp


def send(sock, frame):
    """Send a frame when there is room; the receiver may be behind."""
    while True:
        try:
            return sock.send(frame)
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise
        time.sleep(0.01)


def flood(namespace, device, mac, sources, dest, count):
    """Send COUNT SYNs from addresses of the network SOURCES."""
    first = int(ipaddress.ip_address(sources))
    dest = ipaddress.ip_address(dest)
    with namespace.entered():
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        sock.bind((device, 0))
    frame = bytes.fromhex(mac.replace(":", "")) + bytes(6) + \
        struct.pack("!H", ETH_P_IP)
    with sock:
        for number in range(count):
            source = ipaddress.ip_address(first + 1 + number % 60000)
            send(sock, frame + packet(source, dest,
                                      random.randrange(1024, 65536)))
