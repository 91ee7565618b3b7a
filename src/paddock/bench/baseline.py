"""`bench baseline`: one agent at a time, bare and behind walls: what it needs (DIAG-1)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from paddock import __version__
from paddock.core.units import format_size
from paddock.wire.run_request import DriverWord, RunRequest

from . import leak, machine
from .bare import run_bare
from .ceiling import Ceiling
from .cells import USUAL, How, Limits, Outcome, run_cell
from .report import Cell, Curve, Figure, Report
from .telling import Tell
from .watching import MIB
from .works import Scene, Work, a_scene

_GRAVE = (leak.Verdict.LEAK, leak.Verdict.GROWS)
BARE, WALLS, CONTAINER = "bare", "walls", "container"


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    works: tuple[Work, ...]
    memory_bytes: int
    rounds: int = 3
    every_s: float = 5.0
    container: str | None = None  # the configuration of containers; None: without them
    ceiling: Ceiling | None = None
    limits: Limits = USUAL


def baseline(asked: Baseline, tell: Tell) -> Report:
    cells: list[Cell] = []
    verdicts: list[str] = []
    for number, work in enumerate(asked.works, 1):
        tell(f"measures {work.name} ({number} of {len(asked.works)})")
        bare = _bare(asked, work)
        walls = _contained(asked, work, "local", WALLS)
        row = [bare, walls]
        if asked.container is not None:
            row.append(_contained(asked, work, "container", CONTAINER))
        cells += row
        verdicts += _said(work, row)
    return Report(
        kind="resource-baseline",
        paddock=__version__,
        made_at=time.time(),
        machine=machine.describe(),
        settings={
            "rounds": asked.rounds,
            "sampled every": f"{asked.every_s:g} s",
            "limit": format_size(asked.memory_bytes),
        },
        cells=tuple(cells),
        verdicts=tuple(verdicts),
    )


def _bare(asked: Baseline, work: Work) -> Cell:
    found, wrong = [], []
    for _ in range(asked.rounds):
        with a_scene(work) as scene:
            found.append(
                run_bare(scene.command, scene.directory, every_s=asked.every_s, env=scene.env)
            )
            wrong.append(scene.wrong())
    last = found[-1]
    return Cell(
        row=work.name,
        column=BARE,
        figures=(
            _figure("wall time", "s", [one.wall_s for one in found]),
            _figure("peak", "MiB", [one.peak_mib for one in found]),
            _figure("CPU", "cores", [one.cpu_s / one.wall_s for one in found], better=False),
        ),
        curves=(Curve(name=f"{work.name}, bare", unit="MiB", points=tuple(last.memory)),),
        verdict=_how_it_ended([one.code for one in found], wrong),
    )


def _contained(asked: Baseline, work: Work, driver: DriverWord, column: str) -> Cell:
    found, wrong = [], []
    for _ in range(asked.rounds):
        with a_scene(work) as scene:
            found.append(_behind_walls(asked, scene, driver))
            wrong.append(scene.wrong())
    judged = [leak.judge(_memory(one)) for one in found]
    worst = next((one for kind in _GRAVE for one in judged if one.verdict is kind), judged[0])
    peaks = [max(one.peaks_mib, default=0.0) for one in found]
    return Cell(
        row=work.name,
        column=column,
        figures=(
            _figure("wall time", "s", [one.wall_s for one in found]),
            _figure("peak", "MiB", peaks),
            _figure("CPU", "cores", [_cores(one) for one in found], better=False),
        ),
        curves=tuple(curve for curve in found[-1].curves() if curve.name != "host"),
        verdict=f"{_outcome(found, wrong)}; {worst}",
    )


def _behind_walls(asked: Baseline, scene: Scene, driver: DriverWord) -> Outcome:
    request = RunRequest(
        name="agent",
        command=scene.command,
        memory_bytes=asked.memory_bytes,
        timeout_s="none",
        driver=driver,
        dir=str(scene.directory),
        env=dict(scene.env),
    )
    how = How(
        every_s=asked.every_s,
        ceiling=asked.ceiling,
        limits=asked.limits,
        config=asked.container or "",
    )
    return run_cell([request], how)


def _memory(outcome: Outcome) -> list[leak.Sample]:
    seen = next(iter(outcome.watched.runs.values()), None)
    return [(at, mib * MIB) for at, mib in seen.memory] if seen else []


def _cores(outcome: Outcome) -> float:
    return sum(seen.cpu_s for seen in outcome.watched.runs.values()) / outcome.wall_s


def _figure(name: str, unit: str, samples: Sequence[float], *, better: bool = True) -> Figure:
    return Figure(name=name, unit=unit, samples=tuple(samples), better="lower" if better else None)


def _how_it_ended(codes: Sequence[int], undone: Sequence[str]) -> str:
    wrong = [code for code in codes if code]
    if wrong:
        return f"{len(wrong)} of {len(codes)} ended with {wrong[0]}"
    return next(filter(None, undone), "ended well")


def _outcome(found: Sequence[Outcome], undone: Sequence[str]) -> str:
    wrong = [view for one in found for view in one.views if view.outcome != "succeeded"]
    if wrong:
        return f"{wrong[0].outcome}: {wrong[0].because}"
    return next(filter(None, undone), "ended well")


def _said(work: Work, row: Sequence[Cell]) -> list[str]:
    """Measured against expected, and what walls and containers add."""
    bare = row[0]
    peak = max(cell.figures[1].middle for cell in row[1:])  # where the kernel itself counts
    cores = bare.figures[2].middle  # of a short life samples miss most
    said = [f"{work.told or work.name}: peak {format_size(round(peak * MIB))}, {cores:.2f} cores"]
    if work.expected_mib is not None:
        low, high = work.expected_mib
        said[0] += f" (expected: {format_size(low << 20)} to {format_size(high << 20)})"
    for cell in row[1:]:
        ratio = cell.figures[0].middle / bare.figures[0].middle
        more = (cell.figures[1].middle - bare.figures[1].middle) * MIB
        sign = "-" if more < 0 else "+"
        size = format_size(round(abs(more)))
        said.append(f"{work.name}, {cell.column}: {ratio:.2f} × the bare time, {sign}{size}")
        said.append(f"{work.name}, {cell.column}: {cell.verdict}")
    return said
