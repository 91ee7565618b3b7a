"""Memory of killed processes taken back by us, without waiting for them to do it: process_mrelease.

Whoever is killed frees its memory itself, when its turn on a core comes. Measured with 800 MiB on
two cores: 0.55 to 0.74 s beside 16 busy agents, with this 0.32 to 0.37 s; of nice 19 beside 8 busy
processes not within 3 s, with this 0.4 to 0.8 s; on an idle machine no difference.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable

from paddock.drivers.local.keeper.members import read_proc

PROCESS_MRELEASE = 448  # the same on every architecture; kernel 5.15
WORTH_IT_PAGES = (32 << 20) // os.sysconf("SC_PAGE_SIZE")


def release(pids: Iterable[int]) -> list[int]:
    """Those that had something to give. Only of one that is dying the kernel takes anything, so a
    pid that is another's by now loses nothing."""
    return [pid for pid in pids if _pages(pid) >= WORTH_IT_PAGES and _release(pid)]


def _pages(pid: int) -> int:
    fields = read_proc(pid, "statm").split()
    return int(fields[1]) if len(fields) > 1 else 0


def _release(pid: int) -> bool:
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        # A kernel that does not know it says so and does nothing.
        return bool(ctypes.CDLL(None).syscall(PROCESS_MRELEASE, descriptor, 0) == 0)
    except (OSError, AttributeError):
        return False
    finally:
        os.close(descriptor)
