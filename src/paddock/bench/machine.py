"""On what something was measured: figures mean nothing without it."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Final

from paddock.host.probe import probe_for_this_machine
from paddock.host.usage import STAT


def describe() -> dict[str, str | int | float | bool | None]:
    memory = probe_for_this_machine().read().memory
    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_bytes": memory.total_bytes,
        "swap_bytes": memory.swap_total_bytes,
        "python": platform.python_version(),
        "load_average": round(os.getloadavg()[0], 2),
        "stolen_percent": stolen_percent(_AT_FIRST, _cpu_line()),
    }


def stolen_percent(before: str, after: str) -> float | None:
    """Of all cores, between two first lines of /proc/stat: what a virtual machine wanted, and its
    host gave to others. With half of it gone, a benchmark measures the neighbours."""
    try:
        first, last = ([int(word) for word in line.split()[1:9]] for line in (before, after))
        spent = [new - old for old, new in zip(first, last, strict=True)]
        return round(100 * spent[7] / sum(spent), 1)
    except (ValueError, IndexError, ZeroDivisionError):
        return None  # not told here, or no tick has passed


def _cpu_line() -> str:
    try:
        with STAT.open(encoding="ascii") as file:
            return file.readline()
    except OSError:
        return ""


_AT_FIRST: Final = _cpu_line()  # when whoever measures began


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    named = (line for line in text.splitlines() if line.startswith("model name"))
    return next((line.partition(":")[2].strip() for line in named), platform.machine())
