"""`bench cpu`: the same agents with less and less of a core, and how long they wait (DIAG-3)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import mean
from typing import Final, Literal

from paddock import __version__
from paddock.wire.run_request import RunRequest

from . import machine
from .ceiling import Ceiling
from .cells import USUAL, How, Limits, Outcome, figures_of, run_cell
from .report import Cell, Figure, Report
from .telling import Tell, silent
from .waiting import CpuWait

Cores = float | Literal["unlimited"]
THROTTLED: Final = "CPU throttled"  # which pressure does not tell of
GRID: tuple[Cores, ...] = (0.5, 1.0, 2.0, "unlimited")


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuGrid:
    command: tuple[str, ...]
    directory: str | None = None  # where it runs; None: in one that goes with the measurement
    agents: int = 4
    cores: tuple[Cores, ...] = GRID
    memory_bytes: int
    rounds: int = 1
    every_s: float = 1.0
    ceiling: Ceiling | None = None
    limits: Limits = USUAL
    now: Tell = silent


def cpu(grid: CpuGrid, tell: Tell) -> Report:
    cells = [_cell(grid, cores, tell) for cores in grid.cores]
    return Report(
        kind="cpu",
        paddock=__version__,
        made_at=time.time(),
        machine=machine.describe(),
        settings={
            "command": " ".join(grid.command),
            "agents": grid.agents,
            "rounds": grid.rounds,
            "cpu wait from": CpuWait().source,
        },
        cells=tuple(cells),
        verdicts=_verdicts(cells),
    )


def _cell(grid: CpuGrid, cores: Cores, tell: Tell) -> Cell:
    found = [_try(grid, cores, number) for number in range(1, grid.rounds + 1)]
    usual = figures_of(found)
    waited = Figure(name="CPU wait", unit="%", samples=tuple(one.cpu_wait_percent for one in found))
    held_back = Figure(name=THROTTLED, unit="%", samples=tuple(_throttled(found)))
    wall_s = next(one for one in usual if one.name == "wall time")
    figures = (wall_s, waited, held_back, *(one for one in usual if one is not wall_s))
    completed = mean(one.completed for one in found)
    verdict = (
        f"{completed:.0%} completed in {wall_s.middle:.1f} s, "
        f"somebody waited for a core {waited.middle:.0f} % of the time"
    )
    if held_back.samples:
        verdict += f", an agent was held back by its quota {held_back.middle:.0f} % of it"
    tell(f"{_column(cores)}: {verdict}")
    return Cell(
        row=f"{grid.agents} agents",
        column=_column(cores),
        figures=figures,
        curves=found[-1].curves(),
        verdict=verdict,
    )


def _try(grid: CpuGrid, cores: Cores, number: int) -> Outcome:
    what = f"{_column(cores)}, round {number} of {grid.rounds}"
    how = How(
        every_s=grid.every_s,
        ceiling=grid.ceiling,
        limits=grid.limits,
        now=lambda text: grid.now(f"{what}: {text}"),
    )
    return run_cell(_requests(grid, cores), how)


def _throttled(found: list[Outcome]) -> list[float]:
    """Nothing where nobody counts it: without a quota there may be no such file."""
    shares = [one.throttled_percent for one in found]
    return [share for share in shares if share is not None]


def _requests(grid: CpuGrid, cores: Cores) -> list[RunRequest]:
    return [
        RunRequest(
            name=f"agent-{n + 1}",
            command=grid.command,
            dir=grid.directory,
            memory_bytes=grid.memory_bytes,
            cpu=cores,
            timeout_s="none",
        )
        for n in range(grid.agents)
    ]


def _column(cores: Cores) -> str:
    return "unlimited" if cores == "unlimited" else f"{cores:g} core{'s'[: cores != 1]}"


def _verdicts(cells: list[Cell]) -> tuple[str, ...]:
    times = {cell.column: cell.figures[0].middle for cell in cells}
    best = min(times, key=lambda column: times[column])
    return (f"quickest with {best}: {times[best]:.1f} s",)
