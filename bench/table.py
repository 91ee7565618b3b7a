"""RESULTS.md: one table of all figures, each beside what was wanted of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from figures import RESULTS, ROWS, Document, Row, number

HEAD = """\
# What was measured

Made by `make bench` from [results](results/README.md); what each benchmark does stands at its head.
Ratios are taken within one run, against a peer or a bare baseline, and travel between machines; the
rest is told beside its limit. *Of the target* is what was measured, divided by what was wanted.
*Stolen* is what the host of a virtual machine gave to others while it wanted to work.

"""


def page(directory: Path = RESULTS, rows: tuple[Row, ...] = ROWS) -> str:
    documents = [found[1] for row in rows if (found := row.read(directory))]
    lines = [HEAD, *_machines(documents), "", *_table(directory, rows)]
    listed = {row.file for row in rows}
    others = sorted(path.stem for path in directory.glob("*.json") if path.stem not in listed)
    if others:
        links = ", ".join(f"[{name}](results/{name}.json)" for name in others)
        lines += ["", f"Measured as well, without a target: {links}."]
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"


def machine_of(document: Document) -> str:
    found: dict[str, Any] = document.get("machine", {})
    size = found.get("memory_gb") or round(found.get("memory_bytes", 0) / 1e9, 1)
    return (
        f"{found.get('processor', '?')}, {found.get('cores', '?')} cores, {size:g} GB, "
        f"kernel {found.get('kernel', '?')}, Python {found.get('python', '?')}"
    )


def _machines(documents: list[Document]) -> list[str]:
    machines = sorted(set(map(machine_of, documents)))
    return [f"Measured on: {'; '.join(machines) or 'nothing yet'}."]


def _table(directory: Path, rows: tuple[Row, ...]) -> Iterator[str]:
    yield "| what | measured | wanted | of the target | | load then | from |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        yield _line(row, row.read(directory))


def _line(row: Row, found: tuple[float, Document] | None) -> str:
    if found is None:
        return f"| {row.what} | not measured | {row.wanted} {row.unit} | | | | {row.file} |"
    value, document = found
    share = f"{value / row.target:.2f}" if row.target else ""
    met = "met" if row.is_met(value) else "**missed**"
    source = f"[{row.file}](results/{row.file}.json)"
    measured = f"{number(value)} {row.unit}".strip()
    wanted = f"{row.wanted} {row.unit}".strip()
    return (
        f"| {row.what} | {measured} | {wanted} | {share} | {met} | {_load(document)} | {source} |"
    )


def _load(document: Document) -> str:
    machine = document.get("machine", {})
    found, stolen = machine.get("load_average", ""), machine.get("stolen_percent") or 0.0
    load = f"{found[0]:.1f}" if isinstance(found, list) else f"{found}"
    return f"{load}; {stolen:.0f} % stolen" if stolen >= 1 else load
