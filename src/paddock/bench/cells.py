"""One cell of a grid: so many runs at once in a paddock of their own, and what became of them."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from paddock.wire.run_request import RunRequest
from paddock.wire.views import RunView

from .ceiling import Ceiling
from .pen import Pen, PenFailed, a_pen
from .report import Curve, Figure
from .watching import MIB, Watched, Watcher, oom_kills

LONGEST_S: Final = 4 * 3600.0
_LOOK_S: Final = 0.5
CONFIG: Final = """\
performance_profile: host
performance:
  max_concurrent_agents: {agents}
"""


class Unsafe(Exception):
    """The host itself came near its end: everything stops. Says what was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Where a measurement must end, whatever it has found so far (DIAG-2)."""

    swap_percent: float = 50.0
    free_mib: float = 512.0


USUAL: Final = Limits()


@dataclass(slots=True)
class Outcome:
    wall_s: float
    views: list[RunView]
    watched: Watched
    cpu_wait_percent: float

    def ended(self, outcome: str) -> int:
        return sum(view.outcome == outcome for view in self.views)

    @property
    def completed(self) -> float:
        return self.ended("succeeded") / len(self.views)

    @property
    def ooms(self) -> int:
        """Runs that the kernel ended at their wall, by its own counters."""
        return self.ended("memory_limit_exceeded")

    @property
    def peaks_mib(self) -> tuple[float, ...]:
        """The kernel's or the daemon's, or ours where we looked more often."""
        runs = self.watched.runs
        seen = {view.id: runs[view.id].peak_mib for view in self.views if view.id in runs}
        found = (max((v.peak_bytes or 0) / MIB, seen.get(v.id, 0.0)) for v in self.views)
        return tuple(peak for peak in found if peak)

    @property
    def took_s(self) -> tuple[float, ...]:
        """How long each was there, as far as it was seen."""
        seen = (one.memory for one in self.watched.runs.values() if one.memory)
        return tuple(memory[-1][0] - memory[0][0] for memory in seen)

    def curves(self) -> tuple[Curve, ...]:
        agents = [
            Curve(name=view.name, unit="MiB", points=_rounded(self.watched.runs[view.id].memory))
            for view in self.views
            if view.id in self.watched.runs
        ]
        host = Curve(name="host", unit="MiB", points=_rounded(self.watched.host))
        return (*agents, host)


def _rounded(points: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """A hundredth of a second and a tenth of a MiB: reports stay small."""
    return tuple((round(at, 2), round(value, 1)) for at, value in points)


def run_cell(
    requests: Sequence[RunRequest],
    *,
    every_s: float,
    ceiling: Ceiling | None = None,
    limits: Limits = USUAL,
    config: str = "",
) -> Outcome:
    """All of them at once. Raises Unsafe when the host comes near its end. `config` is more of its
    paddock's."""
    with a_pen(CONFIG.format(agents=len(requests)) + config, ceiling=ceiling) as pen:
        watcher = Watcher(pen, every_s=every_s, ceiling=ceiling)
        with watcher as watched:
            began, kills = time.monotonic(), oom_kills()
            ids = [taken.id for taken in pen.submit(requests).runs]
            views = until_ended(pen, ids, watched, limits)
            wall_s = time.monotonic() - began
            check_ends(views, kills=oom_kills() - kills)
            return Outcome(wall_s, views, watched, watched.cpu_wait.percent())


def until_ended(
    pen: Pen,
    ids: Sequence[str],
    watched: Watched,
    limits: Limits,
    *,
    each: Callable[[Sequence[RunView]], None] = lambda _: None,
) -> list[RunView]:
    """`each` is called between looks, which are half a second apart."""
    give_up_at = time.monotonic() + LONGEST_S
    while time.monotonic() < give_up_at:
        views = pen.views(ids, timeout_s=_LOOK_S)
        each(views)
        if all(view.state == "ended" for view in views):
            return views
        check(watched, limits)
    raise PenFailed(f"not all of {len(ids)} runs ended within {LONGEST_S / 3600:g} h")


def check(watched: Watched, limits: Limits) -> None:
    if watched.swap_percent > limits.swap_percent:
        raise Unsafe(f"{watched.swap_percent:.0f} % of swap are in use")
    if watched.least_free_mib < limits.free_mib:
        raise Unsafe(f"only {watched.least_free_mib:.0f} MiB were free")


def check_ends(views: Sequence[RunView], *, kills: int) -> None:
    """Killed by the kernel for memory, and not at a wall of paddock's: the host had no more."""
    for view in views:
        if kills and view.outcome == "failed" and view.signal == signal.SIGKILL:
            raise Unsafe(f"the host was out of memory: the kernel killed {view.name}")


def figures_of(outcome: Outcome, *, alone_s: float | None = None) -> tuple[Figure, ...]:
    """What S0 asks of a cell; `alone_s` is how long one agent takes by itself."""
    found = [
        Figure(name="completed", unit="%", samples=(100 * outcome.completed,), better="higher"),
        Figure(name="OOM kills", unit="", samples=(float(outcome.ooms),), better="lower"),
        Figure(name="wall time", unit="s", samples=(outcome.wall_s,), better="lower"),
        Figure(name="peak of an agent", unit="MiB", samples=outcome.peaks_mib, better="lower"),
        Figure(name="swap", unit="%", samples=(outcome.watched.swap_percent,), better="lower"),
    ]
    if alone_s:
        slowdown = tuple(seconds / alone_s for seconds in outcome.took_s)
        found.append(Figure(name="slowdown", unit="×", samples=slowdown, better="lower"))
    return tuple(found)
