"""How long something waited for a core: what the kernel's pressure says, else each process."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

PRESSURE: Final = Path("/proc/pressure/cpu")


class CpuWait:
    """From now until `percent` is asked. `look` is for machines without pressure figures."""

    def __init__(self, pressure: Path = PRESSURE) -> None:
        self._pressure = pressure
        self._began = time.monotonic()
        self._before_us = stalled_us(pressure)
        self._delays_ns: dict[int, int] = {}  # of each process, as last seen

    @property
    def source(self) -> str:
        return "schedstat" if self._before_us is None else "pressure"

    def look(self, pids: Iterable[int]) -> None:
        if self._before_us is None:
            for pid in pids:  # one that has gone keeps what was last seen of it
                self._delays_ns[pid] = max(self._delays_ns.get(pid, 0), delay_ns(pid))

    def percent(self) -> float:
        """Of the time, how much of it somebody had to wait."""
        took_s = max(time.monotonic() - self._began, 1e-9)
        now_us = stalled_us(self._pressure)
        if self._before_us is not None and now_us is not None:
            waited_s = (now_us - self._before_us) / 1e6
        else:
            waited_s = sum(self._delays_ns.values()) / 1e9
        return 100 * waited_s / took_s


def stalled_us(pressure: Path) -> int | None:
    """Since boot; None where the kernel does not count it."""
    try:
        first = pressure.read_text(encoding="ascii").split("\n", 1)[0]
    except (OSError, UnicodeDecodeError):
        return None
    kind, *fields = first.split()
    facts = dict(field.partition("=")[::2] for field in fields)
    total = facts.get("total", "")
    return int(total) if kind == "some" and total.isdigit() else None


def delay_ns(pid: int) -> int:
    """How long it was ready and had no core."""
    try:
        fields = Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError):
        return 0
    return int(fields[1]) if len(fields) > 1 and fields[1].isdigit() else 0
