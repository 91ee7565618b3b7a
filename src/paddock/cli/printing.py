"""What goes to a terminal, and how: nothing that came from an agent may act on it."""

from __future__ import annotations

import os
import sys
import time
from typing import IO, TYPE_CHECKING, Any, Final

import click

from paddock.wire.one_line import safe

if TYPE_CHECKING:
    from paddock.wire.views import RunView

__all__ = ["safe"]  # the rest is defined here

_COLOURS: Final = {"red": 31, "green": 32, "yellow": 33, "blue": 34, "grey": 90, "bold": 1}
_OUTCOMES: Final = {"succeeded": "green", "cancelled": "yellow", "skipped": "yellow"}
_STATES: Final = {"running": "blue", "queued": "grey"}


def echo_json(value: Any) -> None:
    """One JSON value on stdout, made to be read by people too."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def echo_json_line(value: Any) -> None:
    import msgspec

    click.echo(msgspec.json.encode(value).decode())


def echo_steered(view: RunView, *, as_json: bool, now: str = "") -> None:
    """What became of a run that was steered; `now` goes behind its name."""
    if as_json:
        echo_json(view)
    else:
        click.echo(f"{safe(view.name)}{now}: {safe(view.sentence or view.state)}")


def note(text: str) -> None:
    """For people, on stderr, whatever stdout is used for."""
    click.echo(f"paddock: {safe(text)}", err=True)


def counted(number: int, thing: str) -> str:
    """`1 run`, `2 runs`, `1,200 runs`."""
    return f"{number} {thing}" if number == 1 else f"{number:,} {thing}s"


def coloured(stream: IO[str]) -> bool:
    """Only on a terminal, and not where NO_COLOR is set (no-color.org) or the terminal is dumb."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not plain and stream.isatty()


def paint(text: str, colour: str | None, *, on: bool) -> str:
    if not on or colour is None or not text.strip():
        return text
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"


def colour_of(word: str) -> str | None:
    """For a state or an outcome: whatever went wrong is red."""
    if word in _STATES:
        return _STATES[word]
    if word in ("starting", "stopping", ""):
        return None
    return _OUTCOMES.get(word, "red")


def terminal_width(stream: IO[str] | None = None) -> int | None:
    """None where there is no terminal to fit into."""
    stream = stream or sys.stdout
    if not stream.isatty():
        return None
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except OSError:
        return None
    return columns if columns > 0 else None


def clock_time(at: float | None, *, now: float | None = None) -> str:
    """`12:03:04`, with the date in front when it was another day."""
    if at is None:
        return "-"
    there, here = time.localtime(at), time.localtime(now)
    same_day = there[:3] == here[:3]
    return time.strftime("%H:%M:%S" if same_day else "%Y-%m-%d %H:%M:%S", there)
