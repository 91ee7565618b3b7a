"""What this very process uses, for whoever watches the one that watches."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NamedTuple

PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


class Own(NamedTuple):
    cpu_s: float  # with commands that it ran
    resident_bytes: int
    descriptors: int


def of_this_process() -> Own:
    return Own(sum(os.times()[:4]), _resident_bytes(), _descriptors())


def _resident_bytes() -> int:
    try:
        fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    except OSError:
        return 0
    return int(fields[1]) * PAGE_BYTES if len(fields) > 1 else 0


def _descriptors() -> int:
    try:
        return len(os.listdir("/proc/self/fd")) - 1  # noqa: PTH208 - less the one that reads it
    except OSError:
        return 0
