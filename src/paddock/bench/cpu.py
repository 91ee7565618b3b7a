"""`bench cpu`: the same agents with less and less of a core, and how long they wait (DIAG-3)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

from paddock import __version__
from paddock.wire.run_request import RunRequest

from . import machine
from .ceiling import Ceiling
from .cells import USUAL, Limits, Outcome, figures_of, run_cell
from .report import Cell, Figure, Report
from .stress import Tell
from .waiting import CpuWait

Cores = float | Literal["unlimited"]
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
    took: list[float] = []
    waited: list[float] = []
    outcome: Outcome | None = None
    for _ in range(grid.rounds):
        outcome = run_cell(
            _requests(grid, cores), every_s=grid.every_s, ceiling=grid.ceiling, limits=grid.limits
        )
        took.append(outcome.wall_s)
        waited.append(outcome.cpu_wait_percent)
    assert outcome is not None
    usual = [figure for figure in figures_of(outcome) if figure.name != "wall time"]
    figures = (
        Figure(name="wall time", unit="s", samples=tuple(took), better="lower"),
        Figure(name="CPU wait", unit="%", samples=tuple(waited)),
        *usual,
    )
    verdict = (
        f"{outcome.completed:.0%} completed in {figures[0].middle:.1f} s, "
        f"somebody waited for a core {figures[1].middle:.0f} % of the time"
    )
    tell(f"{_column(cores)}: {verdict}")
    return Cell(
        row=f"{grid.agents} agents",
        column=_column(cores),
        figures=figures,
        curves=outcome.curves(),
        verdict=verdict,
    )


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
