"""On what something was measured: figures mean nothing without it."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from paddock.host.probe import probe_for_this_machine


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
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    named = (line for line in text.splitlines() if line.startswith("model name"))
    return next((line.partition(":")[2].strip() for line in named), platform.machine())
