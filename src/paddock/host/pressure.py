"""What presses on a Linux host besides memory in use: stalls (PSI), paging, load, CPUs (HOST-1).

What cannot be read is None, never a guess. `root` stands for `/`, as everywhere in this room.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from paddock.cgroups.files import number, read_or_empty
from paddock.cgroups.mounts import Place
from paddock.core.units import MIB

# Page-outs rise when the average over 2 s is well above that over 20 s, and more than a trickle:
# kernels move idle pages out also on a calm host, and a single burst of 2 MiB is none.
FAST_S: Final = 2.0
SLOW_S: Final = 20.0
RISE: Final = 1.5
TRICKLE_BYTES_PER_S: Final = 1 * MIB

_LINES: Final = re.MULTILINE | re.ASCII
_STALL: Final = re.compile(r"^(some|full) avg10=(\d{1,3}(?:\.\d+)?) ", _LINES)
# Not pgpgout: that counts every write of a file too, 28 GB of them on a host that never swapped.
_PAGED: Final = re.compile(r"^(pswpin|pswpout) (\d{1,20})$", _LINES)
_LOAD: Final = re.compile(r"(\d{1,9}\.\d+) (\d{1,9}\.\d+) (\d{1,9}\.\d+) ", re.ASCII)
_ALLOWED: Final = re.compile(r"^Cpus_allowed_list:\s*(\S+)$", _LINES)
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Stall:
    """PSI of the last 10 s: for what share of them some tasks waited, and for what share all."""

    some_percent: float
    full_percent: float | None  # of the CPU only since kernel 5.13


@dataclass(frozen=True, slots=True)
class Paged:
    """What went out to swap and came back since boot."""

    out_bytes: int
    in_bytes: int


@dataclass(frozen=True, slots=True)
class Paging:
    """Rates between two looks; None at the first."""

    out_bytes_per_s: float | None = None
    in_bytes_per_s: float | None = None
    rising: bool = False


def read_stall(file: Path) -> Stall | None:
    """Of `/proc/pressure/*` or a v2 cgroup's `*.pressure`."""
    found = {name: float(percent) for name, percent in _STALL.findall(read_or_empty(file))}
    return Stall(found["some"], found.get("full")) if "some" in found else None


def worst_stall(files: Iterable[Path]) -> Stall | None:
    """Of a host and the cgroups that narrow it: one may stall while the other has room."""
    stalls = [stall for stall in map(read_stall, files) if stall is not None]
    if not stalls:
        return None
    full = [stall.full_percent for stall in stalls if stall.full_percent is not None]
    return Stall(max(stall.some_percent for stall in stalls), max(full, default=None))


def read_paged(root: Path = Path("/")) -> Paged | None:
    found = dict(_PAGED.findall(read_or_empty(root / "proc/vmstat")))
    if len(found) < 2:
        return None
    return Paged(int(found["pswpout"]) * _PAGE_BYTES, int(found["pswpin"]) * _PAGE_BYTES)


def read_load(root: Path = Path("/")) -> tuple[float, float, float] | None:
    """Over 1, 5 and 15 minutes. It counts tasks, also those that wait for a disk."""
    fields = read_or_empty(root / "proc/loadavg").split()[:3]
    if len(fields) < 3 or not all(
        re.fullmatch(r"[0-9]{1,9}\.[0-9]{1,9}", field) for field in fields
    ):
        return None
    one, five, fifteen = map(float, fields)
    return one, five, fifteen


def read_cpus(root: Path, cgroups: Iterable[Place]) -> float | None:
    """How many CPUs this process can really use: those it may run on, less where a quota says so.

    What it may run on is held against what is online: many virtual machines allow all 128 that
    they could have, and have two.
    """
    allowed = _ALLOWED.search(read_or_empty(root / "proc/self/status"))
    online = _listed(read_or_empty(root / "sys/devices/system/cpu/online").strip())
    usable = online & _listed(allowed.group(1)) if allowed else set()
    if not usable:
        return None
    quotas = (_quota(cgroup) for cgroup in cgroups)
    return min(float(len(usable)), *(quota for quota in quotas if quota is not None), math.inf)


class PagingRates:
    """From counters that only grow to rates, over looks that may be any time apart."""

    def __init__(self) -> None:
        self._last: tuple[float, Paged] | None = None
        self._fast = self._slow = 0.0

    def look(self, paged: Paged | None, *, at: float) -> Paging:
        last, self._last = self._last, None if paged is None else (at, paged)
        if last is None or paged is None:
            return Paging()
        seconds = at - last[0]
        out, back = paged.out_bytes - last[1].out_bytes, paged.in_bytes - last[1].in_bytes
        # Two looks at one instant tell no rate; counters that went back are of another boot.
        if seconds <= 0 or out < 0 or back < 0:
            return Paging()
        rate = out / seconds
        self._fast += (rate - self._fast) * -math.expm1(-seconds / FAST_S)
        self._slow += (rate - self._slow) * -math.expm1(-seconds / SLOW_S)
        rising = self._fast > TRICKLE_BYTES_PER_S and self._fast > RISE * self._slow
        return Paging(rate, back / seconds, rising)


def _listed(text: str) -> set[int]:
    """`0-2,5` as a set; empty when it is no such list."""
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        low, high = number(first), number(last if dash else first)
        if low is None or high is None or high - low > 1 << 16:
            return set()
        found |= set(range(low, high + 1))
    return found


def _quota(cgroup: Place) -> float | None:
    """In CPUs; None where none is set."""
    if cgroup.is_v2:
        fields = read_or_empty(f"{cgroup.path}/cpu.max").split()
    else:
        names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        fields = [read_or_empty(f"{cgroup.path}/{name}").strip() for name in names]
    # "max" (v2) and -1 (v1) are no quota.
    quota, period = map(number, fields) if len(fields) == 2 else (None, None)
    return quota / period if quota and period else None
