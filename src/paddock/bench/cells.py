"""One cell of a grid: so many runs at once in a paddock of their own, and what became of them."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Final, NamedTuple

from paddock.core.retry import AT_OWN_WALL
from paddock.wire.run_request import RunRequest
from paddock.wire.views import MoveView, RunView

from .ceiling import Ceiling
from .pen import Pen, PenFailed, a_pen
from .report import AGENTS_AT_ONCE, COMPLETED, OOM_KILLS, Curve, Figure
from .telling import Tell, how_far, silent
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


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """A cell is measured."""

    every_s: float
    ceiling: Ceiling | None = None
    limits: Limits = USUAL
    config: str = ""  # more of its paddock's
    now: Tell = silent  # what it is at


class Span(NamedTuple):
    """Of the last attempt of an agent, by the daemon's own clock: looks at its memory are a second
    apart, which is half of what a small one takes."""

    since: float
    until: float


@dataclass(slots=True)
class Outcome:
    wall_s: float
    views: list[RunView]
    watched: Watched
    cpu_wait_percent: float
    spans: tuple[Span, ...] = ()  # of those that were started

    @property
    def took_s(self) -> tuple[float, ...]:
        return tuple(span.until - span.since for span in self.spans)

    @property
    def at_once(self) -> int:
        """How many of them were there at the same time: fewer than were given, where not all had
        room."""
        starts = [span.since for span in self.spans]
        there = (sum(span.since <= at < span.until for span in self.spans) for at in starts)
        return max(there, default=0)

    def ended(self, outcome: str) -> int:
        return sum(view.outcome == outcome for view in self.views)

    @property
    def completed(self) -> float:
        return self.ended("succeeded") / len(self.views)

    @property
    def ooms(self) -> int:
        """Processes that the kernel killed at their walls, by its own counters: also those of an
        agent that lived on. The end of a run tells of one at least, if its cgroup went too soon."""
        tally = self.watched.tally
        found = sum(max(tally.kills_of(view.id), _tells_of_kill(view)) for view in self.views)
        return max(found, tally.fleet_kills)

    @property
    def throttled_percent(self) -> float | None:
        """Of the time, how much of it the quota of an agent held it back; on average."""
        spent = [self.watched.tally.throttled_s_of(view.id) for view in self.views]
        known = [each for each in spent if each is not None]
        return 100 * mean(known) / max(self.wall_s, 1e-9) if known else None

    @property
    def peaks_mib(self) -> tuple[float, ...]:
        """The kernel's or the daemon's, or ours where we looked more often."""
        runs = self.watched.runs
        seen = {view.id: runs[view.id].peak_mib for view in self.views if view.id in runs}
        found = (max((v.peak_bytes or 0) / MIB, seen.get(v.id, 0.0)) for v in self.views)
        return tuple(peak for peak in found if peak)

    def curves(self) -> tuple[Curve, ...]:
        agents = [
            Curve(name=view.name, unit="MiB", points=_rounded(self.watched.runs[view.id].memory))
            for view in self.views
            if view.id in self.watched.runs
        ]
        host = Curve(name="host", unit="MiB", points=_rounded(self.watched.host))
        return (*agents, host)


def _tells_of_kill(view: RunView) -> bool:
    return view.outcome == "memory_limit_exceeded" or AT_OWN_WALL in (view.because or "")


def _rounded(points: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """A hundredth of a second and a tenth of a MiB: reports stay small."""
    return tuple((round(at, 2), round(value, 1)) for at, value in points)


def run_cell(requests: Sequence[RunRequest], how: How) -> Outcome:
    """All of them at once. Raises Unsafe when the host comes near its end."""
    how.now("its paddock is started")
    with a_pen(CONFIG.format(agents=len(requests)) + how.config, ceiling=how.ceiling) as pen:
        watcher = Watcher(pen, every_s=how.every_s, ceiling=how.ceiling)
        with watcher as watched:
            began, kills = time.monotonic(), oom_kills()
            ids = [taken.id for taken in pen.submit(requests).runs]

            def tell(views: Sequence[RunView]) -> None:
                how.now(how_far(views))

            views = until_ended(pen, ids, watched, how.limits, each=tell)
            wall_s = time.monotonic() - began
            waited = watched.cpu_wait.percent()
        check_ends(views, kills=oom_kills() - kills)
        with pen.client() as client:
            spans = (span_of(client.story(run)) for run in ids)
            return Outcome(wall_s, views, watched, waited, tuple(filter(None, spans)))


def span_of(story: Sequence[MoveView]) -> Span | None:
    """None: it never started."""
    begun = [move.at for move in story if move.state == "starting"]
    return Span(begun[-1], max(story[-1].at, begun[-1] + 1e-3)) if begun else None


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


def figures_of(outcomes: Sequence[Outcome], *, alone_s: float | None = None) -> tuple[Figure, ...]:
    """What S0 asks of a cell, of all rounds; `alone_s` is how long one agent takes by itself."""
    completed = tuple(100 * one.completed for one in outcomes)
    kills = tuple(float(one.ooms) for one in outcomes)
    wall_s = tuple(one.wall_s for one in outcomes)
    at_once = tuple(float(one.at_once) for one in outcomes)
    peaks = tuple(peak for one in outcomes for peak in one.peaks_mib)
    swap = tuple(one.watched.swap_percent for one in outcomes)
    found = [
        Figure(name=COMPLETED, unit="%", samples=completed, better="higher"),
        Figure(name=OOM_KILLS, unit="", samples=kills, better="lower"),
        Figure(name=AGENTS_AT_ONCE, unit="", samples=at_once),
        Figure(name="wall time", unit="s", samples=wall_s, better="lower"),
        Figure(name="peak of an agent", unit="MiB", samples=peaks, better="lower"),
        Figure(name="swap", unit="%", samples=swap, better="lower"),
    ]
    if alone_s:
        slowdown = tuple(seconds / alone_s for one in outcomes for seconds in one.took_s)
        found.append(Figure(name="slowdown", unit="×", samples=slowdown, better="lower"))
    return tuple(found)
