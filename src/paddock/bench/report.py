"""What a benchmark found, as a file: figures with all their samples, curves, and the machine.

A report is JSON that `bench compare` and people's scripts read; keys are only ever added. It is
written whole or not at all.
"""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from statistics import median
from typing import Final, Literal

import msgspec

SHAPE: Final = 1
DIRECTORY: Final = Path(".paddock/logs/benchmarks")

COMPLETED: Final = "completed"
OOM_KILLS: Final = "OOM kills"
AGENTS_AT_ONCE: Final = "agents at once"
# Not measured but counted: one sample says it, and a difference up to this says nothing.
COUNTS: Final = {COMPLETED: 0.0, OOM_KILLS: 0.0, AGENTS_AT_ONCE: 1.0}

Better = Literal["lower", "higher"]


class BadReport(Exception):
    """A file that is no report of ours; says what was found and what to do."""


class Figure(msgspec.Struct, kw_only=True, frozen=True):
    """One thing that was measured, as often as it was."""

    name: str
    unit: str
    samples: tuple[float, ...]
    better: Better | None = None  # None: it only describes, and is not compared

    @property
    def middle(self) -> float:
        return median(self.samples) if self.samples else math.nan


class Curve(msgspec.Struct, kw_only=True, frozen=True):
    """Something over time."""

    name: str
    unit: str
    points: tuple[tuple[float, float], ...]  # seconds since its begin, value


class Cell(msgspec.Struct, kw_only=True, frozen=True):
    """One field of a grid, such as 4 agents of 2 GiB; `skipped` says why it was not tried."""

    row: str
    column: str
    figures: tuple[Figure, ...] = ()
    curves: tuple[Curve, ...] = ()
    skipped: str | None = None
    verdict: str = ""


class Report(msgspec.Struct, kw_only=True):
    kind: str
    paddock: str  # its version
    made_at: float  # seconds since 1970
    machine: dict[str, str | int | float | bool | None]
    settings: dict[str, str | int | float | bool | None] = {}
    figures: tuple[Figure, ...] = ()
    curves: tuple[Curve, ...] = ()
    cells: tuple[Cell, ...] = ()
    verdicts: tuple[str, ...] = ()  # sentences
    shape: int = SHAPE

    def figure(self, name: str) -> Figure | None:
        return next((one for one in self.figures if one.name == name), None)


def path_for(kind: str, directory: Path, *, made_at: float) -> Path:
    """`YYYYMMDD-HHMM-KIND.json`, with a number where there is one already."""
    stem = f"{time.strftime('%Y%m%d-%H%M', time.localtime(made_at))}-{kind}"
    found = directory / f"{stem}.json"
    number = 2
    while found.exists():
        found = directory / f"{stem}-{number}.json"
        number += 1
    return found


def write(report: Report, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = msgspec.json.format(msgspec.json.encode(_finite(report)), indent=1)
    write_whole(path, text + b"\n")


def write_whole(path: Path, data: bytes) -> None:
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def read(path: Path) -> Report:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadReport(f"{path}: {error.strerror}") from None
    try:
        report = msgspec.json.decode(data, type=Report)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadReport(
            f"{path} is no report of `paddock bench` ({error}); reports are the .json files in "
            f"{DIRECTORY}"
        ) from None
    if report.shape > SHAPE:
        version = repr(report.paddock[:40])
        raise BadReport(f"{path} was written by paddock {version}, which is newer than this")
    return report


def schema() -> dict[str, object]:
    """JSON Schema of a report."""
    return msgspec.json.schema(Report)


def _finite(report: Report) -> object:
    """JSON has no infinity: what could not be measured is left out, not made up."""
    return msgspec.to_builtins(
        msgspec.structs.replace(
            report,
            figures=tuple(map(_finite_figure, report.figures)),
            cells=tuple(
                msgspec.structs.replace(cell, figures=tuple(map(_finite_figure, cell.figures)))
                for cell in report.cells
            ),
        )
    )


def _finite_figure(figure: Figure) -> Figure:
    return msgspec.structs.replace(
        figure, samples=tuple(value for value in figure.samples if math.isfinite(value))
    )
