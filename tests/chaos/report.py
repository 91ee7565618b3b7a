"""What a campaign found, as JSON and as a table for docs/explain/reliability.md."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import time
from pathlib import Path
from typing import Any

from paddock import __version__
from tests.chaos.books import Books
from tests.chaos.table import FAULTS

BEGIN, END = "<!-- written by make chaos -->", "<!-- up to here -->"
PROJECT = Path(__file__).parents[2]


def report_of(books: Books, *, command: str, load: tuple[float, float, float]) -> dict[str, Any]:
    done = {
        "command": command,
        "ended_at": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "paddock": __version__,
        "commit": _commit(),
        "machine": f"{os.cpu_count()} cores, Linux {platform.release()}",
        "load": [round(each, 1) for each in load],
    }
    return done | books.as_json()


def _commit() -> str:
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "unknown"


def write_json(report: dict[str, Any], file: Path) -> None:
    file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def write_page(report: dict[str, Any], page: Path) -> None:
    """Between the two marks of a page that is there; a page of its own otherwise."""
    text = f"{BEGIN}\n{table(report)}{END}"
    if not page.exists():
        page.write_text(f"{text}\n", encoding="utf-8")
        return
    old = page.read_text(encoding="utf-8")
    found = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    page.write_text(found.sub(lambda _: text, old, count=1), encoding="utf-8")


def table(report: dict[str, Any]) -> str:
    told, faults = report, report["faults"]
    lines = [
        f"**{told['rounds']:,} rounds in a row, {len(told['violations'])} violated invariants.** "
        f"Seed {told['seed']}, {told['took_s'] / 60:.0f} minutes{_beside(told['beside'])}, ended "
        f"{told['ended_at']}; "
        f"paddock {told['paddock']} ({told['commit']}); {told['machine']}, load "
        f"{told['load'][0]:g} at the end. To repeat it: `{told['command']}`.",
        "",
        f"{told['runs']:,} runs; {told['output_bytes'] / 2**30:.1f} GiB of output compared byte by "
        f"byte; {told['workspaces']:,} workspaces with work in them looked into; the database "
        f"looked through by SQLite {told['databases']:,} times; the longest round "
        f"{told['longest_round_s']:.0f} s. Outcomes: {_outcomes(told['outcomes'])}. Of the runs, "
        f"{told['said_lost']} were said to be lost after their keeper was killed, "
        f"{told['run_again']} were stopped under pressure and run again, and "
        f"{told['lacking_bytes']:,} bytes of output that had no room on the disk were counted as "
        f"missing; {told['cut_bytes']:,} bytes were in pipes whose keeper was killed.",
        "",
        "| fault | what is done | rounds | runs in them | may differ | violated |",
        "|---|---|---|---|---|---|",
    ]
    for fault in FAULTS:
        tried = faults.get(fault.name, {})
        rounds = tried.get("rounds", 0) - tried.get("not_done", 0)
        lines.append(
            f"| `{fault.name}` | {fault.about} | {rounds:,} | {tried.get('runs', 0):,} | "
            f"{fault.may.words} | {tried.get('violations', 0)} |"
        )
    return "\n".join([*lines, ""])


def _beside(houses: int) -> str:
    return f" with {houses} houses side by side" if houses > 1 else ""


def _outcomes(counted: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counted.items()))
