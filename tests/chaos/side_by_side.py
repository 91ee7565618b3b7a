"""Several houses at once, each played by a process of its own; their books are put together here.

A round mostly waits: for agents that sleep, for a daemon that starts. What a round is made of is
the same as without, and so is the command that plays it again.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.chaos.books import Books

LOOK_S: Final = 0.2
NO_ANSWER: Final = "its process ended without a report"


@dataclass(frozen=True)
class House:
    """The process that plays it, and where that writes."""

    first: int
    report: Path
    said: Path
    process: subprocess.Popen[bytes]

    @property
    def is_done(self) -> bool:
        return self.process.poll() is not None

    def enter_into(self, books: Books) -> str:
        """What it said, for people."""
        said = self.said.read_text("utf-8", "replace")
        if self.report.exists():
            books.add(json.loads(self.report.read_text(encoding="utf-8")))
        else:
            books.blame(self.first, (), f"{NO_ANSWER}: {said[-3000:]}")
        return said


def play_beside(
    hands: Sequence[tuple[int, Sequence[str]]],
    books: Books,
    *,
    most: int,
    goes_on: Callable[[], bool],
    say: Callable[[str], None],
) -> None:
    """`hands`: the first round of each house, and the command that plays it."""
    waiting, playing = list(reversed(hands)), list[House]()
    with tempfile.TemporaryDirectory(prefix="paddock-chaos-books-") as directory:
        try:
            while playing or (waiting and goes_on()):
                while waiting and len(playing) < most and goes_on():
                    playing.append(_begun(*waiting.pop(), Path(directory)))
                for house in [one for one in playing if one.is_done]:
                    playing.remove(house)
                    _tell(house.enter_into(books), say)
                    say(str(books))
                time.sleep(LOOK_S)
        finally:
            _end(playing)


def _begun(first: int, command: Sequence[str], directory: Path) -> House:
    report, said = directory / f"{first}.json", directory / f"{first}.out"
    words = [*command, "--json", str(report)]
    with said.open("wb") as out:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
        )
    return House(first, report, said, process)


def _tell(said: str, say: Callable[[str], None]) -> None:
    """Only what was wrong: the rest is in the books."""
    lines = said.splitlines()
    begin = next((n for n, line in enumerate(lines) if line.startswith("VIOLATED")), len(lines))
    for line in lines[begin:]:
        say(line)


def _end(playing: Sequence[House]) -> None:
    """Asked to: each takes along what it has made."""
    for house in playing:
        house.process.terminate()
    for house in playing:
        house.process.wait()
