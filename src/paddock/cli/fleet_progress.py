"""How a fleet's progress is shown: redrawn in place on a terminal, a line a change elsewhere."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Final

from paddock.core.units import format_duration

from .ends import in_words, short_word
from .printing import clock_time, coloured, counted, safe, terminal_width
from .runs_table import memory_text, short_why, state_cell, why_text, without_state
from .tables import Cell, Column, Row, cut, table

if TYPE_CHECKING:
    from paddock.wire.views import HeartbeatView, RunView

_COLUMNS: Final = (
    Column("name", gives_way=1, least=16),
    Column("state"),
    Column("for", right=True),
    Column("memory", right=True, leaves=1),
    Column("", gives_way=2, least=20),
)
# What is under way is what people look at.
_ORDER: Final = ("stopping", "running", "starting", "queued", "ended")


class Lines:
    """`12:03:04 review ended: succeeded (exit code 0)`."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._seen: dict[str, tuple[str, int]] = {}
        self._last_at = 0.0

    def show(self, runs: Sequence[RunView], heartbeats: Sequence[HeartbeatView]) -> None:
        del heartbeats
        changed = [run for run in runs if self._seen.get(run.id) != (run.state, run.attempt)]
        # Rounded: what happened in one step keeps the order of the file.
        for run in sorted(changed, key=lambda run: round(run.since_at or 0.0, 1)):
            self._seen[run.id] = (run.state, run.attempt)
            # A state that began before the last look and is only seen now comes after it.
            self._last_at = max(self._last_at, run.since_at or 0.0)
            self._write(f"{clock_time(self._last_at)} {safe(run.name)} {_change(run)}")
        self._stream.flush()

    def say(self, text: str) -> None:
        self._write(f"{clock_time(time.time())} {text}")
        self._stream.flush()

    def close(self) -> None:
        self._stream.flush()

    def _write(self, line: str) -> None:
        self._stream.write(line + "\n")


class Redrawn:
    """A table that is drawn over itself; what does not fit the screen is counted below it."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._drawn = 0
        self._said: list[str] = []

    def show(self, runs: Sequence[RunView], heartbeats: Sequence[HeartbeatView]) -> None:
        width, height = terminal_width(self._stream) or 80, self._height()
        room = max(3, height - 4 - len(heartbeats) - len(self._said))
        lines = [*self._table(runs, room, width), *self._footer(runs, heartbeats, width)]
        start = f"\x1b[{self._drawn}F" if self._drawn else ""
        # Each line is cleared to its end, and what the last drawing had more of below.
        self._stream.write(start + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J")
        self._stream.flush()
        self._drawn = len(lines)

    def say(self, text: str) -> None:
        self._said = [*self._said[-2:], text]

    def close(self) -> None:
        """The summary takes its place."""
        if self._drawn:
            self._stream.write(f"\x1b[{self._drawn}F\x1b[J")
        for text in self._said:
            self._stream.write(f"{text}\n")
        self._stream.flush()
        self._drawn = 0

    def _table(self, runs: Sequence[RunView], room: int, width: int) -> Iterator[str]:
        ordered = sorted(runs, key=_urgency)
        now = time.time()
        rows = [_row(run, now) for run in ordered[:room]]
        yield from table(_COLUMNS, rows, width=width - 1, colour=coloured(self._stream))

    def _footer(
        self, runs: Sequence[RunView], heartbeats: Sequence[HeartbeatView], width: int
    ) -> Iterator[str]:
        from .status import heartbeat_text

        counts = Counter(map(short_word, runs))
        words = ", ".join(f"{number} {word}" for word, number in counts.items())
        yield cut(f"{counted(len(runs), 'run')}: {words}", width - 1)
        for beat in heartbeats:
            yield cut(f"heartbeat {heartbeat_text(beat)}", width - 1)
        yield from (cut(text, width - 1) for text in self._said)

    def _height(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).lines or 24
        except OSError:
            return 24


def _urgency(run: RunView) -> tuple[int, float]:
    """Of those that have ended the newest first; the others as in the file."""
    ended = run.state == "ended"
    return _ORDER.index(run.state), -round(run.since_at or 0.0, 1) if ended else 0.0


def _change(run: RunView) -> str:
    if run.state == "ended":
        return f"ended: {safe(in_words(run))}"
    again = f" (try {run.tries})" if run.tries > 1 else ""
    if run.state == "queued":
        return f"is queued{' again' if run.attempt else ''}: {why_text(run)}"
    if run.state == "stopping":
        return f"is stopping: {without_state(safe(run.sentence))}"
    return f"is {run.state}{again}"


def _row(run: RunView, now: float) -> Row:
    ended = run.state == "ended"
    for_s = "" if ended or run.since_at is None else format_duration(max(0.0, now - run.since_at))
    # "running for 3 s" says nothing that the columns before it do not.
    why = "" if run.state == "running" and run.frozen is None else short_why(run)
    return (safe(run.name), state_cell(run), for_s, memory_text(run), Cell(why, "grey"))
