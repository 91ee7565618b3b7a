"""How much memory a Mac has, what presses on it (HOST-1): `vm_stat` and `sysctl`, taken apart.

The parsers are pure. macOS has no cgroups and no PSI, so nothing narrows and no stall is told.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from paddock.cgroups.files import number
from paddock.core.events import Host
from paddock.core.units import GIB, KIB, MIB, TIB
from paddock.host.memory import Memory, MemoryUnreadable, Readings
from paddock.host.pressure import Paged, Paging, PagingRates

VM_STAT: Final = Path("/usr/bin/vm_stat")
SYSCTL: Final = Path("/usr/sbin/sysctl")
PRESSURE: Final = "kern.memorystatus_vm_pressure_level"
NAMES: Final = ("hw.memsize", "vm.swapusage", "vm.loadavg", "hw.ncpu", PRESSURE)
# A Mac swaps out what is idle long before it is short of memory, and makes swap files as it needs
# them: 95 % of them in use is a usual day. Its own word for the whole is 1, 2 (warning) or 4
# (critical), the colours of Activity Monitor; at 1 neither swap nor page-outs are pressure.
NORMAL: Final = 1
# They take milliseconds. A machine on which they take this long cannot be read just now.
WITHIN_S: Final = 2.0

_HEAD: Final = re.compile(r"\(page size of (\d{1,9}) bytes\)", re.ASCII)
_PAGES: Final = re.compile(r'^"?([A-Za-z][^:"]*)"?:\s+(\d{1,20})\.$', re.MULTILINE | re.ASCII)
# In some languages sysctl writes a comma: 124,00M.
_AMOUNT: Final = re.compile(r"(total|used) = (\d{1,15})[.,](\d{1,4})([KMGT])", re.ASCII)
_LOAD: Final = re.compile(r"\{ *(\d+)[.,](\d+) +(\d+)[.,](\d+) +(\d+)[.,](\d+) *\}", re.ASCII)
_UNITS: Final = {"K": KIB, "M": MIB, "G": GIB, "T": TIB}


@dataclass(frozen=True, slots=True)
class Pages:
    """What `vm_stat` says, in bytes; None where it does not say enough."""

    available_bytes: int | None
    paged: Paged | None


@dataclass(frozen=True, slots=True)
class Facts:
    """What `sysctl` says."""

    total_bytes: int | None = None
    swap_total_bytes: int | None = None
    swap_used_bytes: int | None = None
    load: tuple[float, float, float] | None = None
    cpus: int | None = None
    pressure: int | None = None  # None: this macOS does not say


def parse_vm_stat(text: str) -> Pages:
    """Available is what is free, in files, or purgeable: the rest of Activity Monitor's "used".

    Not "inactive", as often seen: much of that is programs' own memory, which can only be
    compressed or swapped. Speculative pages are among those of files, and free does not have them.
    """
    head = _HEAD.search(text)
    page_bytes = int(head.group(1)) if head else 0
    if page_bytes <= 0:
        return Pages(None, None)
    pages = {name: int(number) * page_bytes for name, number in _PAGES.findall(text)}
    return Pages(
        _sum(pages, "Pages free", "File-backed pages", "Pages purgeable"),
        _paged(pages),
    )


def parse_sysctl(text: str) -> Facts:
    """Of `sysctl NAME…`: lines `name: value`. A name it does not know has none."""
    values = {}
    for line in text.splitlines():
        name, _, value = line.partition(": ")
        values[name] = value.strip()
    swap = {
        name: int(float(f"{whole}.{part}") * _UNITS[unit])
        for name, whole, part, unit in _AMOUNT.findall(values.get("vm.swapusage", ""))
    }
    return Facts(
        total_bytes=number(values.get("hw.memsize", "")) or None,
        swap_total_bytes=swap.get("total"),
        swap_used_bytes=swap.get("used"),
        load=_load(values.get("vm.loadavg", "")),
        cpus=number(values.get("hw.ncpu", "")) or None,
        pressure=number(values.get(PRESSURE, "")),
    )


class MacProbe:
    """The HostProbe of a Mac. Two programs a look; one that hangs counts as memory unread."""

    def __init__(
        self,
        *,
        vm_stat: Path = VM_STAT,
        sysctl: Path = SYSCTL,
        within_s: float = WITHIN_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._vm_stat = vm_stat
        self._sysctl = sysctl
        self._within_s = within_s
        self._clock = clock
        self._paging = PagingRates()
        total = parse_sysctl(self._output(sysctl, *NAMES)).total_bytes
        if total is None:
            raise MemoryUnreadable(f"{sysctl} does not say hw.memsize")
        self._total_bytes = total

    def sample(self) -> Host:
        return self.read().host()

    def glance(self, last: Host) -> Host | None:  # noqa: ARG002
        """It would be a program, and so no cheaper than a look."""
        return None

    def read(self) -> Readings:
        facts = parse_sysctl(self._output(self._sysctl, *NAMES))
        pages = parse_vm_stat(self._output(self._vm_stat))
        return Readings(
            memory=self._memory(facts, pages.available_bytes),
            memory_stall=None,
            cpu_stall=None,
            paging=self._paged(pages.paged),
            load=facts.load,
            cpus=None if facts.cpus is None else float(facts.cpus),
            calm=facts.pressure == NORMAL,
        )

    def _memory(self, facts: Facts, available_bytes: int | None) -> Memory:
        total, used_percent = self._total_bytes, None
        if available_bytes is not None:
            available_bytes = min(available_bytes, total)
            used_percent = round(100 * (1 - available_bytes / total), 2)
        return Memory(
            physical_bytes=total,
            total_bytes=total,
            available_bytes=available_bytes,
            used_percent=used_percent,
            swap_total_bytes=facts.swap_total_bytes,
            swap_used_bytes=facts.swap_used_bytes,
        )

    def _paged(self, paged: Paged | None) -> Paging:
        return self._paging.look(paged, at=self._clock())

    def _output(self, program: Path, *args: str) -> str:
        """What it printed, also when it complained about one name; empty when it cannot be run."""
        try:
            done = subprocess.run(
                [program, *args],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self._within_s,
                env={"LC_ALL": "C", "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"},
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout.decode("utf-8", "replace")


def _sum(pages: Mapping[str, int], *names: str) -> int | None:
    return sum(pages[name] for name in names) if all(name in pages for name in names) else None


def _paged(pages: Mapping[str, int]) -> Paged | None:
    """Pageouts are dirty pages of files, Swapouts those of the compressor: both went to a disk."""
    out, back = _sum(pages, "Pageouts", "Swapouts"), _sum(pages, "Swapins")
    return None if out is None or back is None else Paged(out, back)


def _load(text: str) -> tuple[float, float, float] | None:
    found = _LOAD.search(text)
    if found is None:
        return None
    whole, part = found.groups()[::2], found.groups()[1::2]
    one, five, fifteen = (float(f"{w}.{p}") for w, p in zip(whole, part, strict=True))
    return one, five, fifteen
