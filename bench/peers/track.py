"""Where the race is run: one ceiling for each racer, and what is seen of it from outside.

Kills are the kernel's own counters. v1 counts one where the process was, and a paddock removes the
cgroup of an attempt that has ended: so they are read ten times a second, and the ledgers tell what
no counter does: which attempt never came to its end, and how much it had done.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from paddock.bench.ceiling import Ceiling, a_ceiling
from paddock.bench.traces import PLAYER, lines
from paddock.simulate.trace import Plan

AGENT = Path(__file__).with_name("agent.py")
LOOK_S = 0.1
MEMINFO_S = 0.02
# As in a container of which lxcfs shows the size. Peers add up different lines: so all that is free
# is in one of them, and whoever adds the others adds nothing.
MEMINFO = """\
MemTotal:       {total:>12} kB
MemFree:        {free:>12} kB
MemAvailable:   {free:>12} kB
Buffers:                   0 kB
Cached:                    0 kB
SwapCached:                0 kB
SwapTotal:                 0 kB
SwapFree:                  0 kB
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    makespan_s: float
    completed: int
    attempts: int
    oom_kills: int
    lost_s: float  # work done in attempts that never came to their end
    peak_mib: float  # the kernel's

    @property
    def lost_nothing(self) -> bool:
        return not (self.oom_kills or self.lost_s)


class Track:
    """One racer's: its ceiling, its agents' traces, their ledgers."""

    def __init__(self, plans: Sequence[Plan], directory: Path, ceiling: Ceiling) -> None:
        self.ceiling = ceiling
        self.directory = directory
        self.meminfo = directory / "meminfo"
        self._ledger = directory / "ledger"
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._every, args=(LOOK_S, self._count), daemon=True),
            threading.Thread(target=self._every, args=(MEMINFO_S, self._tell_free), daemon=True),
        ]
        self._kills: dict[str, int] = {}
        self._found: Result | None = None
        self.plans = plans
        self._tell_free()
        self.lay_out(plans)

    def lay_out(self, plans: Sequence[Plan]) -> None:
        """Anew: what was lived before does not count."""
        self._ledger = self.directory / f"ledger-{time.monotonic_ns()}"
        self._ledger.mkdir()
        self.names = [plan.name for plan in plans]
        for plan in plans:
            self._trace(plan.name).write_text(lines(plan.traces[0]), encoding="ascii")
        self._before = self.kills()
        self._began = time.monotonic()

    def _trace(self, name: str) -> Path:
        return self._ledger / f"{name}-trace"

    def command(self, name: str) -> tuple[str, ...]:
        program = (sys.executable, "-I", "-S", str(AGENT), str(PLAYER.parent))
        return (*program, str(self._trace(name)), str(self._ledger / name))

    def commands(self) -> list[tuple[str, ...]]:
        return [self.command(name) for name in self.names]

    def in_it(self) -> tuple[str, ...]:
        """Before a command that is to run in the ceiling and to be shown its size."""
        shown = f'mount --bind {self.meminfo} /proc/meminfo && exec "$@"'
        return (*self.ceiling.join, "unshare", "--mount", "sh", "-c", shown, "sh")

    def finish(self) -> Result:
        """The first time it is called is the end of the race."""
        if self._found is None:
            self._found = self._result()
        return self._found

    def _result(self) -> Result:
        took = time.monotonic() - self._began
        counters = self.ceiling.counters()
        notes = [(path.stem, path.read_text("ascii").split()) for path in self._notes()]
        # By name: one killed after its last word is tried again, and comes to its end twice.
        ended = {name for name, note in notes if note[1:] == ["end"]}
        lost = sum(float(note[0]) for _, note in notes if note[1:] != ["end"])
        return Result(
            makespan_s=took,
            completed=len(ended),
            attempts=len(notes),
            oom_kills=self.kills() - self._before,
            lost_s=lost,
            peak_mib=(counters.peak_bytes or 0) / 2**20,
        )

    def _notes(self) -> list[Path]:
        return [path for path in self._ledger.iterdir() if path.suffix[1:].isdigit()]

    # -- from outside -------------------------------------------------------------------------

    def kills(self) -> int:
        self._count()
        return sum(self._kills.values())

    def _count(self) -> None:
        """By place, so that what a removed cgroup counted stays counted."""
        waiting = [self.ceiling.group]
        while waiting:
            group = waiting.pop()
            with suppress(OSError):  # removed meanwhile
                self._kills[group.path] = max(group.kills(), self._kills.get(group.path, 0))
                waiting += [group.child(name) for name in group.children()]

    def _tell_free(self) -> None:
        total = self.ceiling.limit_bytes
        free = max(1 << 20, total - self.ceiling.used_bytes())
        text = MEMINFO.format(total=total >> 10, free=free >> 10)
        # In place, and always as long as before: it is bound over /proc/meminfo elsewhere.
        file = os.open(self.meminfo, os.O_CREAT | os.O_WRONLY, 0o644)
        os.pwrite(file, text.encode(), 0)
        os.close(file)

    def _every(self, seconds: float, do: object) -> None:
        while not self._over.wait(seconds):
            do()

    def __enter__(self) -> Track:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()


@contextmanager
def a_track(plans: Sequence[Plan], directory: Path, limit_bytes: int) -> Iterator[Track]:
    directory.mkdir()
    with a_ceiling(limit_bytes) as ceiling, Track(plans, directory, ceiling) as track:
        yield track
