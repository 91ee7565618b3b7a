"""`bench stress`: more and more agents at more and more memory, until something gives (DIAG-2)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median

from paddock import __version__
from paddock.core.units import format_size
from paddock.wire.run_request import RunRequest

from . import machine
from .ceiling import Ceiling
from .cells import USUAL, How, Limits, Outcome, Unsafe, figures_of, run_cell
from .report import AGENTS_AT_ONCE, COMPLETED, Cell, Report
from .telling import Tell, silent
from .watching import MIB

PRESSURE = 2.0  # times as long as alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    command: tuple[str, ...]
    directory: str | None = None  # where it runs; None: in one that goes with the measurement
    agents: tuple[int, ...] = (1, 2, 4, 6, 8)
    memory_bytes: tuple[int, ...]
    rounds: int = 1  # of each cell
    every_s: float = 1.0
    ceiling: Ceiling | None = None
    limits: Limits = USUAL
    now: Tell = silent


def stress(grid: Grid, tell: Tell) -> Report:
    """Column by column: an agent that hits its wall ends its column, the host's end ends all."""
    cells: list[Cell] = []
    verdicts: list[str] = []
    stopped: str | None = None
    for memory in grid.memory_bytes:
        column, stopped = _column(grid, memory, stopped, tell)
        cells += column
    if stopped is not None:
        verdicts.append(f"stopped before its end: {stopped}")
    verdicts += _safe(cells, grid)
    return Report(
        kind="stress",
        paddock=__version__,
        made_at=time.time(),
        machine=machine.describe(),
        settings={
            "command": " ".join(grid.command),
            "agents": ",".join(map(str, grid.agents)),
            "memory": ",".join(map(format_size, grid.memory_bytes)),
            "rounds": grid.rounds,
            "within": format_size(grid.ceiling.limit_bytes) if grid.ceiling else None,
        },
        cells=tuple(cells),
        verdicts=tuple(verdicts),
    )


def _column(
    grid: Grid, memory: int, stopped: str | None, tell: Tell
) -> tuple[list[Cell], str | None]:
    cells: list[Cell] = []
    alone_s: float | None = None
    skip = stopped
    for agents in grid.agents:
        row, column = _row(agents), format_size(memory)
        if skip is not None:
            cells.append(Cell(row=row, column=column, skipped=skip))
            continue
        try:
            found = _rounds(grid, agents, memory)
        except Unsafe as unsafe:
            skip = stopped = f"{row} of {column}: {unsafe}"
            cells.append(Cell(row=row, column=column, skipped=skip))
            tell(skip)
            continue
        if agents == 1 and all(one.completed == 1 for one in found):
            alone_s = median(max(one.took_s, default=0.0) for one in found) or None
        cell = _cell(row, column, found, alone_s)
        cells.append(cell)
        tell(f"{row} of {column}: {cell.verdict}")
        if any(one.ooms for one in found):
            skip = f"an agent hit its wall with {row}"
    return cells, stopped


def _row(agents: int) -> str:
    return f"{agents} agent{'s'[: agents != 1]}"


def _rounds(grid: Grid, agents: int, memory: int) -> list[Outcome]:
    """All of them, whoever was killed in one: figures of both kinds are compared."""
    found = []
    for number in range(1, grid.rounds + 1):
        of = f", round {number} of {grid.rounds}" if grid.rounds > 1 else ""
        what = f"{_row(agents)} of {format_size(memory)}{of}"
        found.append(_try(grid, agents, memory, what))
    return found


def _try(grid: Grid, agents: int, memory: int, what: str) -> Outcome:
    requests = [
        RunRequest(
            name=f"agent-{n + 1}",
            command=grid.command,
            dir=grid.directory,
            memory_bytes=memory,
            timeout_s="none",
        )
        for n in range(agents)
    ]
    how = How(
        every_s=grid.every_s,
        ceiling=grid.ceiling,
        limits=grid.limits,
        now=lambda text: grid.now(f"{what}: {text}"),
    )
    return run_cell(requests, how)


def _cell(row: str, column: str, found: Sequence[Outcome], alone_s: float | None) -> Cell:
    return Cell(
        row=row,
        column=column,
        figures=figures_of(found, alone_s=alone_s),
        curves=found[-1].curves(),
        verdict=_verdict(found, alone_s),
    )


def _verdict(found: Sequence[Outcome], alone_s: float | None) -> str:
    completed = mean(one.completed for one in found)
    said = [f"{completed:.0%} completed in {median(one.wall_s for one in found):.1f} s"]
    if len(found) > 1:
        said[0] += f" ({len(found)} rounds)"
    if kills := sum(one.ooms for one in found):
        said.append(f"{kills} killed at {'its wall' if kills == 1 else 'their walls'}")
    at_once = min(one.at_once for one in found)
    if at_once < len(found[0].views):
        said.append(f"{at_once} at once: more had no room")
    peaks = [peak for one in found for peak in one.peaks_mib]
    if peaks:
        said.append(f"peak {format_size(round(max(peaks) * MIB))}")
    slowest = median(max(one.took_s, default=0.0) for one in found)
    if alone_s and slowest > PRESSURE * alone_s:
        said.append(f"pressure: {slowest / alone_s:.1f} × as long as alone")
    others = [view for one in found for view in one.views if view.outcome not in _TOLD]
    if others:
        said.append(f"{others[0].name}: {others[0].because or others[0].outcome}")
    return ", ".join(said)


_TOLD = ("succeeded", "memory_limit_exceeded")


def _safe(cells: Sequence[Cell], grid: Grid) -> list[str]:
    """The most agents that all completed, for each size: those that were there together."""
    found = []
    for memory in grid.memory_bytes:
        column = format_size(memory)
        good = [
            _least(cell, AGENTS_AT_ONCE)
            for cell in cells
            if cell.column == column and _is_good(cell)
        ]
        most = max(good, default=0.0)
        found.append(
            f"{column} each: {f'{most:.0f} at once completed' if most else 'none completed'}"
        )
    return found


def _is_good(cell: Cell) -> bool:
    """All of them, in every round."""
    return _least(cell, COMPLETED) >= 100


def _least(cell: Cell, name: str) -> float:
    samples = next((one.samples for one in cell.figures if one.name == name), ())
    return min(samples, default=0.0)
