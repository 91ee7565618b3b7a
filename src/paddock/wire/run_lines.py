"""`submit --from`: one run a line, a shell command line or a JSON object. Submits nothing."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from paddock.config.mistakes import ConfigError, Mistakes, Place

from .fleet_file import LARGEST_FILE, MOST_RUNS, FleetFileError, parse_run
from .run_fields import LONGEST_NAME, LONGEST_WORD
from .run_request import RunRequest

_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]+")


def parse_lines(text: str, *, file: str, directory: Path) -> tuple[RunRequest, ...]:
    """Empty lines and those that begin with # are left out; every mistake is reported at once."""
    mistakes = Mistakes()
    lines = text.splitlines() if len(text) <= LARGEST_FILE else []
    if not lines or len(lines) > MOST_RUNS:
        found = (
            f"{len(text):,} characters in {len(lines) or 'too many'} lines" if text else "nothing"
        )
        mistakes.add(Place(file), "", found=found, allowed=f"1 to {MOST_RUNS:,} runs, one a line")
        mistakes.raise_any(FleetFileError)
    found_runs = tuple(_runs(lines, Place(file), directory, mistakes))
    mistakes.raise_any(FleetFileError)
    return found_runs


def default_name(command: tuple[str, ...]) -> str:
    """A name for a run that was given none: its program's."""
    name = _NOT_IN_NAMES.sub("-", Path(command[0]).name if command else "").strip("-_")
    return name[:LONGEST_NAME] or "run"


def _runs(
    lines: list[str], file: Place, directory: Path, mistakes: Mistakes
) -> Iterator[RunRequest]:
    for number, line in enumerate(lines, start=1):
        at, bare = Place(file.file, number), line.strip()
        if not bare or bare.startswith("#"):
            continue
        try:
            if bare.startswith("{"):
                yield parse_run(bare, at=at, directory=directory)
            else:
                yield _shell_line(bare, at)
        except ConfigError as error:
            mistakes.take(error)


def _shell_line(line: str, at: Place) -> RunRequest:
    mistakes = Mistakes()
    try:
        words = tuple(shlex.split(line))
    except ValueError as error:
        found = f"a line that no shell could split ({str(error).lower()})"
        mistakes.add(at, "", found=found, allowed="a command line, or a JSON object")
        words = ()
    if any("\0" in word or len(word.encode()) > LONGEST_WORD for word in words):
        mistakes.add(at, "", found="an argument that no process can get", allowed="shorter ones")
    if not mistakes and (not words or not words[0].strip()):
        mistakes.add(at, "", found="an empty program", allowed="a command line, or a JSON object")
    mistakes.raise_any(FleetFileError)
    return RunRequest(name=default_name(words), command=words)
