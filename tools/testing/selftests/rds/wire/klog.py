# SPDX-License-Identifier: GPL-2.0
"""The kernel's log"""
import os

# The longest record that the kernel returns
RECORD = 8192


class KernelLog:
    """What the kernel logs from now on"""

    def __init__(self):
        self.fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.fd, 0, os.SEEK_END)

    def __del__(self):
        os.close(self.fd)

    def records(self):
        """Yield the records that have not been returned before."""
        while True:
            try:
                yield os.read(self.fd, RECORD).decode(errors="replace")
            except BlockingIOError:
                return
            except BrokenPipeError:	# some were lost
                continue
