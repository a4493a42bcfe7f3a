# SPDX-License-Identifier: GPL-2.0
"""A peer over an RDMA device that plays sessions of the fuzzer (session.py of
../wire). It calls libpeer.so; see remote.h."""

import ctypes
import ipaddress

import kernel
import session
import wire
from players import Player

SLOT = 2 * wire.HEADER_BYTES + session.WIDEST
DIAL_MS = 300
DEVICE = "rdma0"


def library(path):
    lib = ctypes.CDLL(path)
    for name in ("remote_dial", "remote_listen", "remote_accept"):
        getattr(lib, name).restype = ctypes.c_void_p
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint
    up = ctypes.POINTER(ctypes.c_int)
    lib.remote_dial.argtypes = [text, text, text, number, number, up]
    lib.remote_listen.argtypes = [text]
    lib.remote_accept.argtypes = [pointer, text, number, number, up]
    lib.remote_send.argtypes = [pointer, text, number]
    lib.remote_hear.argtypes = [pointer, text, number]
    lib.remote_private.argtypes = [pointer, text, number]
    for name in ("remote_solicit", "remote_hang_up", "remote_vanish",
                 "remote_free"):
        getattr(lib, name).argtypes = [pointer]
    return lib


def give(address):
    """Give the device an address of a peer."""
    bits = 128 if ":" in address else 32
    words = ["ip", "address", "add", f"{address}/{bits}", "dev", DEVICE]
    kernel.run(*words, *(["nodad"] if ":" in address else []))


def private(data, peer, home):
    """Put the addresses of the ends in their place in private data."""
    return data.replace(
        session.FROM, ipaddress.ip_address(peer).packed).replace(
        session.DEST, ipaddress.ip_address(home).packed)


def fragments(data, wide):
    """Return the SENDs of a frame: each has the header, with a number of its
    own if there is one, and a part of the payload."""
    if len(data) < wire.HEADER_BYTES:
        return [data]
    frame, payload = wire.Frame.decode(data), data[wire.HEADER_BYTES:]
    number = int.from_bytes(frame.padding, "big")
    sends, size = [], wire.FRAGMENT
    if wide and not frame.is_map():
        size = session.wide_size(len(payload))
    for at in range(0, max(1, len(payload)), size):
        if number:
            frame.padding = (number + len(sends) & 0xffffffff).to_bytes(
                4, "big")
        sends.append(frame.header() + payload[at:at + size])
    return sends


class IbPlayer(Player):
    """LISTENERS has those of the addresses that the kernel dials."""

    def __init__(self, lib, listeners, programs, address, rng, patience):
        super().__init__(programs, address, rng, patience)
        self.lib = lib
        self.listener = listeners.get(address)
        self.room = ctypes.create_string_buffer(SLOT)
        self.gone = set()	# connections that have ended at this end
        self.wide = set()	# those whose fragments are wide

    def stop(self):
        for link in self.links:
            self.lib.remote_free(link)

    def open(self, _path):
        self.dial(session.private())

    def dial(self, handshake):
        if len(self.links) == session.LINKS:
            return
        data = private(handshake, self.address,
                       self.programs.kernel_of(self.address))
        up = ctypes.c_int()
        if self.listener:
            self.programs.do(self.rng, "send", self.address)
            link = self.lib.remote_accept(self.listener, data, len(data),
                                          DIAL_MS, ctypes.byref(up))
        else:
            link = self.lib.remote_dial(
                self.address.encode(),
                self.programs.kernel_of(self.address).encode(), data,
                len(data), DIAL_MS, ctypes.byref(up))
        if link:
            if not up.value:
                self.gone.add(len(self.links))
            if session.is_wide(handshake):
                self.wide.add(len(self.links))
            self.links.append(link)

    def link(self, number):
        """Return a connection that is up, or None."""
        if number >= len(self.links) or number in self.gone:
            return None
        return self.links[number]

    def write(self, number, data):
        link = self.link(number)
        for part in fragments(data, number in self.wide) if link else ():
            if not self.lib.remote_send(link, part, len(part)):
                break

    def fin(self, number):
        link = self.link(number)
        if link:
            self.lib.remote_hang_up(link)
            self.gone.add(number)

    def reset(self, number):
        link = self.link(number)
        if link:
            self.lib.remote_vanish(link)
            self.gone.add(number)

    def hear(self, number):
        link = self.link(number)
        for _ in range(64 if link else 0):
            size = self.lib.remote_hear(link, self.room, self.patience)
            if size < 0:
                break
            frame = wire.Frame.decode(self.room.raw)
            frame.payload = self.room.raw[wire.HEADER_BYTES:size]
            if frame.seq or frame.is_map():	# not an ack alone
                yield frame
