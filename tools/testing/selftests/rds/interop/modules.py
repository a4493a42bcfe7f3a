# SPDX-License-Identifier: GPL-2.0
"""Kernel modules of the guest in which this runs"""
import pathlib
import re
import time

import net


def load(names):
    for name in names:
        net.run("modprobe", name)


def loaded(name):
    return re.search(rf"^{name} ", pathlib.Path("/proc/modules").read_text(),
                     re.M) is not None


def unload(names):
    """Unload those that are loaded, in this order, each as soon as it is
    unused."""
    for name in names:
        deadline = time.monotonic() + 10
        while loaded(name):
            try:
                net.run("rmmod", name)
            except RuntimeError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
