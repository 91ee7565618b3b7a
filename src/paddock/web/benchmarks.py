"""Reports of `paddock bench`, of the directory that the dashboard was started in.

Anybody who can write there may have written them, an agent too: they are read with care, and the
HTML is shown in a frame of its own in which no script runs.
"""

from __future__ import annotations

import os
import re
import stat
import time
from pathlib import Path
from typing import Any, Final

import msgspec
from fastapi.responses import HTMLResponse, PlainTextResponse, Response

from paddock.client.faces import safe

from .parts import box, card, heading, table, text, way

DIRECTORY: Final = Path(".paddock/logs/benchmarks")
MOST_SHOWN: Final = 100
LARGEST_BYTES: Final = 32 * 1024 * 1024
FIGURES_SHOWN: Final = 40
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,120}")
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CLOSED: Final = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"


class _Figure(msgspec.Struct):
    name: str
    unit: str = ""
    samples: tuple[float, ...] = ()


class _Report(msgspec.Struct):
    """As much of a report as is shown here."""

    kind: str
    made_at: float
    paddock: str = ""
    machine: dict[str, Any] = {}
    figures: tuple[_Figure, ...] = ()
    verdicts: tuple[str, ...] = ()


def found_in(directory: Path) -> list[tuple[str, _Report | None]]:
    """The newest first; None where a file is no report."""
    names = [path.stem for path in directory.glob("*.json") if _NAME.fullmatch(path.name)]
    return [(name, _read(directory, name)) for name in sorted(names, reverse=True)[:MOST_SHOWN]]


def _read(directory: Path, name: str) -> _Report | None:
    data = _bytes(directory, f"{name}.json")
    try:
        return None if data is None else msgspec.json.decode(data, type=_Report)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _bytes(directory: Path, name: str) -> bytes | None:
    """Of a plain file in that very directory, and of none that a link leads to."""
    if not _NAME.fullmatch(name):
        return None
    try:
        # One look at one file: what was checked by its path could be a link when it is read.
        descriptor = os.open(directory / name, _READ)
    except OSError:
        return None
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor has no path
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > LARGEST_BYTES:
            return None
        return file.read(LARGEST_BYTES)


def as_html(directory: Path, name: str) -> Response:
    data = _bytes(directory, f"{name}.html")
    if data is None:
        return PlainTextResponse("there is no such report", 404)
    return HTMLResponse(data, headers={"content-security-policy": _CLOSED})


class Benchmarks:
    def __init__(self, directory: Path) -> None:
        reports = found_in(directory)
        heading("Benchmarks", f"{len(reports)} reports in {directory}")
        with card("Reports"):
            if not reports:
                text("None here yet: paddock bench baseline makes one.", "pd-empty")
            for name, report in reports:
                self._line(directory, name, report)

    def _line(self, directory: Path, name: str, report: _Report | None) -> None:
        with box("pd-line"):
            with box("pd-line-head"):
                if (directory / f"{name}.html").is_file() or report is not None:
                    with box("", "a").props(f'href="{way(f"/benchmarks/{name}")}"'):
                        text(name)
                else:
                    text(name)
                text(when(report), "pd-dim pd-num")
            text(safe("; ".join(report.verdicts)) if report else "no report that can be read")


class BenchmarkPage:
    def __init__(self, directory: Path, name: str) -> None:
        report = _read(directory, name)
        heading(safe(report.kind) if report else "Benchmark", name)
        if report is not None:
            with card("Figures", when(report)):
                for verdict in report.verdicts:
                    text(safe(verdict), "pd-sentence")
                rows = [figure(each) for each in report.figures[:FIGURES_SHOWN]]
                table(("figure", "middle", "unit", "samples"), rows, label="Figures")
        if _bytes(directory, f"{name}.html") is not None:
            with card("The whole report", classes="wide"):
                box("pd-frame", "iframe").props(
                    f'src="{way(f"/report/{name}")}" title="Report {name}" sandbox=""'
                )
        elif report is None:
            text("There is no such report.", "pd-empty")


def figure(each: _Figure) -> tuple[str, str, str, str]:
    ordered = sorted(each.samples)
    middle = f"{ordered[len(ordered) // 2]:,.4g}" if ordered else "–"
    return safe(each.name), middle, safe(each.unit), str(len(ordered))


def when(report: _Report | None) -> str:
    if report is None:
        return ""
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(report.made_at))
    except (OverflowError, ValueError, OSError):
        return "at no time that there is"
