"""The cgroup of a container, by its files: use, walls, counters, freezing and who is in it.

Descriptors are kept: a read costs no path look-up, and the counters can still be read at the very
moment the container ends. v1 and v2, and hosts that have both.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

# As in `host/cgroups.py`: page cache is not use, it goes when it must.
USE_FIELDS: Final = {
    2: ("anon", "shmem", "slab_unreclaimable", "kernel_stack", "pagetables", "percpu", "sock"),
    1: ("total_rss", "total_shmem"),
}
CACHE_FIELDS: Final = {2: ("file",), 1: ("total_cache",)}
LIMIT_FILE: Final = {2: "memory.max", 1: "memory.limit_in_bytes"}
PEAK_FILE: Final = {2: "memory.peak", 1: "memory.max_usage_in_bytes"}
OOM_FILE: Final = {2: "memory.events", 1: "memory.oom_control"}


@dataclass(frozen=True, slots=True)
class Toll:
    """What the kernel counted; `at_own_wall` is false if a wall above this one was hit."""

    oom_kills: int = 0
    at_own_wall: bool = True
    peak_bytes: int = 0
    note: str | None = None  # what else it was refused


class Cgroup:
    """`memory`, `pids` and `freezer` are directories; in v2 the same one."""

    def __init__(self, version: int, *, memory: Path, pids: Path, freezer: Path) -> None:
        self.version = version
        self._memory, self._pids, self._freezer = memory, pids, freezer
        self._kept: dict[str, int] = {}
        self._limit_bytes = number(_read(memory / LIMIT_FILE[version]))
        for name in ("memory.stat", OOM_FILE[version], PEAK_FILE[version]):
            with contextlib.suppress(OSError):
                self._kept[name] = os.open(memory / name, os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        for descriptor in self._kept.values():
            os.close(descriptor)
        self._kept.clear()

    # -- looking --------------------------------------------------------------------------

    def used_bytes(self) -> int:
        return sum_of(self._text("memory.stat"), USE_FIELDS[self.version])

    def toll(self) -> Toll:
        """At the end of an attempt: its counters begin with it, as does its cgroup."""
        counted = fields(self._text(OOM_FILE[self.version]))
        return Toll(
            oom_kills=counted.get("oom_kill", 0),
            at_own_wall=self._was_at_its_wall(counted),
            peak_bytes=self._peak_bytes(),
            note=self._refused(),
        )

    def _was_at_its_wall(self, counted: Mapping[str, int]) -> bool:
        if self.version == 2:
            return counted.get("oom", 0) > 0
        return number(self._text(PEAK_FILE[1])) >= self._limit_bytes - (1 << 20)

    def _peak_bytes(self) -> int:
        """The kernel's peak has page cache in it. As long as the wall was not reached nothing was
        reclaimed, so that the cache at the end is at least that at the peak, and the difference
        never says too much. At the wall it says nothing: 0."""
        peak = number(self._text(PEAK_FILE[self.version]))
        if peak >= self._limit_bytes:
            return 0
        return max(0, peak - sum_of(self._text("memory.stat"), CACHE_FIELDS[self.version]))

    def processes(self) -> list[int]:
        """As this process sees them: one in another pid namespace is 0, and left out."""
        try:
            text = (self._memory / "cgroup.procs").read_text(encoding="ascii")
        except OSError:
            return []
        return [int(pid) for pid in text.split() if pid != "0"]

    def _refused(self) -> str | None:
        """Named, because programs say nothing better than "resource temporarily unavailable"."""
        refused = fields(_read(self._pids / "pids.events")).get("max", 0)
        if not refused:
            return None
        most = _read(self._pids / "pids.max").strip() or "all"
        many = f"{refused} more were refused" if refused > 1 else "one more was refused"
        return f"its {most} processes and threads (pids) were in use, and {many}"

    def broken_wall(self, *, limit_bytes: int, pids: int) -> str | None:
        """Which wall is not what was asked for, read back from the kernel."""
        found = _read(self._memory / LIMIT_FILE[self.version]).strip()
        if not found.isdigit() or int(found) > limit_bytes:
            return f"memory is limited to {found or 'nothing'}, not to {limit_bytes} bytes"
        if self.version == 2:
            swap, most = _read(self._memory / "memory.swap.max").strip(), 0
        else:
            swap, most = _read(self._memory / "memory.memsw.limit_in_bytes").strip(), limit_bytes
        if swap and (not swap.isdigit() or int(swap) > most):
            return f"swap is limited to {swap}, not to none"
        found = _read(self._pids / "pids.max").strip()
        if pids and (not found.isdigit() or int(found) > pids):
            return f"processes are limited to {found or 'nothing'}, not to {pids}"
        return None

    # -- acting ---------------------------------------------------------------------------

    def freeze(self) -> bool:
        """False: we may not, and the engine must."""
        return self._freezing("1", "FROZEN")

    def thaw(self) -> bool:
        return self._freezing("0", "THAWED")

    def reclaim(self) -> None:
        """May take a second, so not in the loop. v1 has nothing that could be asked for it."""
        if self.version == 2:
            used = _read(self._memory / "memory.current").strip()
            with contextlib.suppress(OSError):  # EAGAIN: less than that could be had
                (self._memory / "memory.reclaim").write_text(used, encoding="ascii")

    def _freezing(self, v2: str, v1: str) -> bool:
        name, word = ("cgroup.freeze", v2) if self.version == 2 else ("freezer.state", v1)
        try:
            (self._freezer / name).write_text(word, encoding="ascii")
        except OSError:
            return False
        return True

    def _text(self, name: str) -> str:
        try:
            return os.pread(self._kept[name], 1 << 14, 0).decode("ascii", "replace")
        except (KeyError, OSError):
            return ""


def cgroup_of(pid: int, root: Path = Path("/")) -> Cgroup | None:
    """None if it is gone, or if no memory controller is to be seen."""
    own = own_cgroups(_read(root / f"proc/{pid}/cgroup"))
    mounts = cgroup_mounts(_read(root / "proc/self/mountinfo"))

    def place(controller: str) -> Path | None:
        if controller not in own or controller not in mounts:
            return None
        return root / f"{mounts[controller]}{own[controller]}".lstrip("/")

    memory, unified = place("memory"), place("")
    if memory is not None:
        return Cgroup(
            1,
            memory=memory,
            pids=place("pids") or memory,
            freezer=place("freezer") or memory,
        )
    if unified is None or not (unified / "memory.stat").exists():
        return None
    return Cgroup(2, memory=unified, pids=unified, freezer=unified)


def own_cgroups(text: str) -> dict[str, str]:
    """Path by controller, "" for v2: lines are `4:memory:/a/b` and `0::/a/b`."""
    own: dict[str, str] = {}
    for line in text.splitlines():
        parts = line.split(":", 2)
        if len(parts) == 3 and parts[2].startswith("/") and ".." not in parts[2].split("/"):
            own |= dict.fromkeys(parts[1].split(","), parts[2].rstrip("/"))
    return own


def cgroup_mounts(text: str) -> dict[str, str]:
    """Mount point by controller. One that is mounted from below its root is not for us: paths in
    it would be others than those /proc tells."""
    mounts: dict[str, str] = {}
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        place, kind = before.split(" "), after.split(" ")
        if len(place) < 5 or len(kind) < 3 or place[3] != "/":
            continue
        if kind[0] == "cgroup2":
            mounts.setdefault("", place[4])
        elif kind[0] == "cgroup":
            for controller in kind[2].split(","):
                mounts.setdefault(controller, place[4])
    return mounts


def fields(text: str) -> dict[str, int]:
    pairs = (line.split(" ", 1) for line in text.splitlines() if " " in line)
    return {name: int(value) for name, value in pairs if value.strip().isdigit()}


def sum_of(text: str, names: tuple[str, ...]) -> int:
    """Without reading the other forty lines: this is done for every agent at every tick."""
    text, total = f"\n{text}", 0
    for name in names:
        _, _, rest = text.partition(f"\n{name} ")
        value = rest.partition("\n")[0]
        total += int(value) if value.isdigit() else 0
    return total


def number(text: str) -> int:
    """A very large one for `max`."""
    text = text.strip()
    return int(text) if text.isdigit() else 1 << 62


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
