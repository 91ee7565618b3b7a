"""`bench soak`: agents for hours, and whether paddock itself grows meanwhile (DIAG-4).

Accelerated it is many short agents instead of few long ones: what leaks a little with every run
shows after minutes.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Final

from paddock import __version__
from paddock.core.units import format_duration, format_size
from paddock.wire.run_request import RunRequest

from . import leak, machine
from .ceiling import Ceiling
from .cells import CONFIG, USUAL, Limits, check
from .pen import Pen, PenFailed, a_pen
from .report import Curve, Figure, Report
from .telling import Tell, silent
from .watching import MIB, Watched, Watcher, oom_kills

MOST_GROWTH: Final = 0.05  # of memory, from the second fifth of the time to the last
FIFTHS: Final = "from the second fifth of the time to the last"
LOOK_S: Final = 0.25
THERE_S: Final = 10.0  # for a keeper to be there
TOLD_S: Final = 600.0
STARTED_S: Final = 0.05  # what a start and an end take, about
WROTE: Final = ("seq", "1000")  # what a short agent writes: 3.8 KiB, as 1,000 lines
WAITING: Final = 20  # runs in the queue, so that no slot is ever empty
MEMORY: Final = ("daemon", "keeper")
WARM_UP_RUNS: Final = 1000  # ended ones that a daemon keeps in memory (`Policy.keep_ended`)
KEPT: Final = ("database", "output")  # what every run leaves: it grows with them, and is told so


@dataclass(frozen=True, slots=True, kw_only=True)
class Soak:
    command: tuple[str, ...]
    directory: str | None = None  # where it runs; None: in one that goes with the measurement
    seconds: float
    agents: int = 2
    runs: int | None = None  # None: as many as the time holds
    warm_up_runs: int = 0  # before anything is looked at: what has a bound is full then
    memory_bytes: int
    every_s: float = 5.0
    ceiling: Ceiling | None = None
    limits: Limits = USUAL
    now: Tell = silent


@dataclass(slots=True)
class Growth:
    """What is watched of paddock itself, over time."""

    series: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def add(self, at_s: float, facts: dict[str, float]) -> None:
        for name, value in facts.items():
            self.series.setdefault(name, []).append((at_s, value))

    def of(self, name: str) -> float | None:
        """As a share of what it was when it had warmed up; None: too few looks to tell."""
        values = [value for _, value in self.series.get(name, [])]
        fifth = len(values) // 5
        before = median(values[fifth : 2 * fifth]) if fifth else 0.0
        return (median(values[-fifth:]) - before) / before if before else None

    def in_all(self, name: str) -> float | None:
        """From the first look to the last: what warming up took is in it."""
        values = [value for _, value in self.series.get(name, [])]
        return (values[-1] - values[0]) / values[0] if values and values[0] else None

    def missed(self, name: str) -> int:
        """Looks at which it was not there."""
        looks = max(map(len, self.series.values()), default=0)
        return looks - len(self.series.get(name, []))

    def rise(self, name: str) -> float:
        """Of the low points, in its own unit: runs under way hold some for a while."""
        values = [value for _, value in self.series.get(name, [])]
        fifth = len(values) // 5
        return min(values[-fifth:]) - min(values[fifth : 2 * fifth]) if fifth else 0.0


def short_command(each_s: float) -> tuple[str, ...]:
    """An agent that writes a little and rests, for about so long: that a number of them fills the
    time."""
    rest_s = each_s - STARTED_S
    return ("sh", "-c", f"{' '.join(WROTE)}; sleep {rest_s:.2f}") if rest_s > 0 else WROTE


def soak(asked: Soak, tell: Tell) -> Report:
    config = CONFIG.format(agents=asked.agents)
    with a_pen(config, ceiling=asked.ceiling) as pen:
        watcher = Watcher(pen, every_s=asked.every_s, ceiling=asked.ceiling)
        with watcher as watched:
            check_whole(pen)
            if asked.warm_up_runs:
                _warm_up(asked, pen, watched, tell)
            kills = oom_kills()
            growth, ends, took_s = _run(asked, pen, watched, tell)
    free_mib, kills = watched.least_free_mib, oom_kills() - kills
    verdicts = [*judged(growth, ends, took_s), _of_the_host(free_mib, kills)]
    return Report(
        kind="soak",
        paddock=__version__,
        made_at=time.time(),
        machine=machine.describe(),
        settings={
            "command": " ".join(asked.command),
            "agents": asked.agents,
            "hours": round(took_s / 3600, 3),
            "runs to warm up": asked.warm_up_runs,
        },
        figures=tuple(_figures(growth, ends)),
        curves=tuple(
            Curve(name=name, unit=UNITS[name], points=tuple(points))
            for name, points in growth.series.items()
        ),
        verdicts=tuple(verdicts),
    )


OTHERWISE: Final = "runs that ended otherwise"


def _warm_up(asked: Soak, pen: Pen, watched: Watched, tell: Tell) -> None:
    """As many runs as the daemon remembers: until then it grows by design."""
    tell(f"{asked.warm_up_runs} runs to warm up")
    first = replace(asked, command=WROTE, runs=asked.warm_up_runs, seconds=math.inf)
    _run(first, pen, watched, silent)


def check_whole(pen: Pen, within_s: float = THERE_S) -> None:
    """What is not there would not grow: raises PenFailed."""
    give_up_at = time.monotonic() + within_s
    while missing := [name for name in MEMORY if name not in look(pen)]:
        if time.monotonic() > give_up_at:
            raise PenFailed(
                f"its {' and '.join(missing)} cannot be seen, so nobody could tell growth"
            )
        time.sleep(LOOK_S)


UNITS: Final = {
    "daemon": "MiB",
    "keeper": "MiB",
    "descriptors": "",
    "database": "MiB",
    "output": "MiB",
}


def _run(asked: Soak, pen: Pen, watched: Watched, tell: Tell) -> tuple[Growth, Counter[str], float]:
    growth, ends = Growth(), Counter[str]()
    began = time.monotonic()
    looked_at = told_at = -1e9
    at_work: set[str] = set()
    numbers = iter(range(asked.runs) if asked.runs is not None else _endless())
    while True:
        at_s = time.monotonic() - began
        more = at_s < asked.seconds and _fill(asked, pen, at_work, numbers)
        if not at_work and not more:
            return growth, ends, at_s
        ended = [view for view in pen.views(sorted(at_work)) if view.state == "ended"]
        ends.update(str(view.outcome) for view in ended)
        at_work -= {view.id for view in ended}
        if at_s - looked_at >= asked.every_s:
            growth.add(at_s, look(pen))
            check(watched, asked.limits)
            looked_at = at_s
        so_far = f"{ends.total()} runs have ended, {len(at_work)} are there"
        asked.now(f"{format_duration(at_s)}{_of_all(asked)}: {so_far}")
        if at_s - told_at >= TOLD_S:
            tell(f"{at_s / 3600:.1f} h: {so_far}")
            told_at = at_s
        time.sleep(LOOK_S)


def _of_all(asked: Soak) -> str:
    return "" if math.isinf(asked.seconds) else f" of {format_duration(asked.seconds)}"


def _endless() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


def _fill(asked: Soak, pen: Pen, at_work: set[str], numbers: Iterator[int]) -> bool:
    """So that as many wait as may; whether there were any left."""
    room = asked.agents + WAITING - len(at_work)
    requests = [
        RunRequest(
            name=f"soak-{number}",
            command=asked.command,
            dir=asked.directory,
            memory_bytes=asked.memory_bytes,
            timeout_s="none",
        )
        for _, number in zip(range(room), numbers, strict=False)  # in this order: none is lost
    ]
    if requests:
        at_work |= {taken.id for taken in pen.submit(requests).runs}
    return bool(requests) or room <= 0


def look(pen: Pen) -> dict[str, float]:
    """Without the memory of who is not there."""
    view = pen.daemon()
    pids = {"daemon": view.pid, "keeper": view.keeper_pid or 0}
    memory = {name: _resident_mib(pid) for name, pid in pids.items()}
    state = pen.places
    return {
        **{name: mib for name, mib in memory.items() if mib is not None},
        "descriptors": float(sum(map(_descriptors, pids.values()))),
        "database": _size_mib([state.store, Path(f"{state.store}-wal")]),
        "output": _size_mib(state.output.rglob("*")),
    }


def _resident_mib(pid: int) -> float | None:
    try:
        text = Path(f"/proc/{pid}/statm").read_text(encoding="ascii")
    except OSError:
        return None
    return int(text.split()[1]) * os.sysconf("SC_PAGESIZE") / MIB


def _descriptors(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208
    except OSError:
        return 0


def _size_mib(paths: Iterator[Path] | list[Path]) -> float:
    total = 0
    for path in paths:
        try:
            total += path.stat().st_size
        except OSError:
            continue
    return total / MIB


def _figures(growth: Growth, ends: Counter[str]) -> Iterator[Figure]:
    yield Figure(name="runs", unit="", samples=(float(ends.total()),))
    yield Figure(name=OTHERWISE, unit="", samples=(float(ends.total() - ends["succeeded"]),))
    for name in MEMORY:
        samples = tuple(value for _, value in growth.series.get(name, []))
        yield Figure(name=name, unit="MiB", samples=samples, better="lower")
        yield Figure(name=f"growth of the {name}", unit="%", samples=_percent(growth.of(name)))
        in_all = _percent(growth.in_all(name))
        yield Figure(name=f"growth of the {name}, first look to last", unit="%", samples=in_all)
        missed = (float(growth.missed(name)),)
        yield Figure(name=f"looks without the {name}", unit="", samples=missed)
    yield Figure(name="more descriptors", unit="", samples=(growth.rise("descriptors"),))
    for name in KEPT:
        kib = 1024 * _added(growth, name) / max(ends.total(), 1)
        yield Figure(name=f"{name} of a run", unit="KiB", samples=(kib,), better="lower")


def _percent(share: float | None) -> tuple[float, ...]:
    return () if share is None else (100 * share,)


def judged(growth: Growth, ends: Counter[str], took_s: float) -> list[str]:
    wrong = {name: many for name, many in ends.items() if name != "succeeded"}
    others = ", ".join(f"{many} {name}" for name, many in sorted(wrong.items())) or "all succeeded"
    said = [f"{ends.total()} runs in {took_s / 3600:.2f} h: {others}"]
    said += [grown(growth, name) for name in MEMORY]
    said.append(f"descriptors: {growth.rise('descriptors'):+.0f}")
    for name in KEPT:
        added = _added(growth, name)
        each = 1024 * added / max(ends.total(), 1)
        said.append(f"the {name}: {added:+.1f} MiB, {each:.1f} KiB a run")
    return said


def grown(growth: Growth, name: str) -> str:
    """By how much: between fifths, and beside it all that it took."""
    points = growth.series.get(name, [])
    away = growth.missed(name)
    if away:
        return f"the {name} was not there at {away} of {away + len(points)} looks"
    share, in_all = growth.of(name), growth.in_all(name)
    if share is None or in_all is None:
        return f"whether the {name} grew cannot be told: {len(points)} looks are too few"
    word = "grew" if share > MOST_GROWTH else "did not grow"
    verdict = leak.judge([(at, value * MIB) for at, value in points])
    first_to_last = f"{in_all:+.1%} from the first look to the last"
    return f"the {name} {word}: {share:+.1%} {FIFTHS} ({first_to_last}); {verdict}"


def _added(growth: Growth, name: str) -> float:
    values = [value for _, value in growth.series.get(name, [])]
    return values[-1] - values[0] if values else 0.0


def _of_the_host(free_mib: float, kills: int) -> str:
    free = f"the host: {format_size(round(free_mib * MIB))} were free at least"
    if not kills:
        return f"{free}, no OOM kill"
    return f"{free}; {kills} OOM kills, those of other people's walls among them"


def is_sound(report: Report) -> bool:
    """Whether it may be called passed: nothing grew, and every run ended well. What was not
    measured has not passed."""
    most = {f"growth of the {name}": 100 * MOST_GROWTH for name in MEMORY}
    most |= {f"looks without the {name}": 0.0 for name in MEMORY}
    most |= {"more descriptors": 0.0, OTHERWISE: 0.0}
    found = {name: report.figure(name) for name in most}
    return all(
        one is not None and one.samples and one.middle <= most[name] for name, one in found.items()
    )
