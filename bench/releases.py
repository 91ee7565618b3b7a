"""A baseline of figures for each release, and whether today's are worse than the last one's.

`results/releases/VERSION.json` is a report as `paddock bench` writes them, with the last samples of
every figure. Today's are held against those of the newest earlier release, or, as long as there is
none, of this very version. Worse means more than 10 %, and samples so far apart that chance would
seldom do it (`paddock.bench.compare`). On another machine only ratios are compared.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from figures import RATIO, RESULTS, ROWS, Row

from paddock import __version__
from paddock.bench import machine
from paddock.bench.compare import Change, Compared, compare
from paddock.bench.report import BadReport, Figure, Report, read, write

RELEASES = RESULTS / "releases"
KEPT = 5  # samples of a figure: enough to tell chance from change

Samples = Mapping[str, Sequence[float]]  # by the name of a row


def report_of(samples: Samples, rows: Sequence[Row] = ROWS) -> Report:
    figures = tuple(
        Figure(
            name=row.what,
            unit=row.unit,
            samples=tuple(samples[row.what]),
            better="higher" if row.least is not None else "lower",
        )
        for row in rows
        if samples.get(row.what)
    )
    return Report(
        kind="release",
        paddock=__version__,
        made_at=time.time(),
        machine=machine.describe(),
        figures=figures,
    )


def baseline(directory: Path = RELEASES, version: str = __version__) -> Report | None:
    """Of the newest earlier release; else of this version itself, as it was."""
    found = sorted(directory.glob("*.json"), key=lambda path: _order(path.stem))
    earlier = [path for path in found if _order(path.stem) < _order(version)]
    own = [path for path in found if path.stem == version]
    for path in [*reversed(earlier), *own]:
        try:
            return read(path)
        except BadReport as error:
            print(f"left out: {error}")
    return None


def _order(version: str) -> tuple[tuple[int, ...], bool]:
    """0.10.0 after 0.9.0, and a release after what led to it."""
    head = re.match(r"[0-9.]*", version)
    numbers = head.group().strip(".").split(".") if head else []
    return tuple(map(int, filter(None, numbers))), version.replace(".", "").isdigit()


def compared(before: Report, samples: Samples, rows: Sequence[Row] = ROWS) -> list[Compared]:
    same = _same_machine(before)
    counted = [row for row in rows if same or row.unit == RATIO]
    return compare(before, report_of(samples, counted))


def _same_machine(before: Report) -> bool:
    now = machine.describe()
    return all(before.machine.get(key) == now.get(key) for key in ("processor", "cores"))


def suspects(found: Sequence[Compared], rows: Sequence[Row] = ROWS) -> set[str]:
    """Files whose figures look worse than they were: worth another measurement."""
    names = {one.name for one in found if one.change in (Change.WORSE, Change.UNSURE, Change.FEW)}
    worse = {one.name for one in found if one.name in names and _is_worse(one, rows)}
    return {row.file for row in rows if row.what in worse}


def _is_worse(one: Compared, rows: Sequence[Row]) -> bool:
    row = next(row for row in rows if row.what == one.name)
    return one.ratio < 0.9 if row.least is not None else one.ratio > 1.1


def keep_samples(samples: Samples, directory: Path = RELEASES) -> Path:
    path = directory / f"{__version__}.json"
    known: dict[str, list[float]] = {}
    if path.exists():
        known = {figure.name: list(figure.samples) for figure in read(path).figures}
    names = dict.fromkeys([*known, *samples])
    both = {name: [*known.get(name, []), *samples.get(name, [])][-KEPT:] for name in names}
    write(report_of(both), path)
    return path
