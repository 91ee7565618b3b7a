"""Texts that fit into cells of a terminal: widths, bars, sparklines, short figures. No widgets."""

from __future__ import annotations

import locale
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal

from rich.cells import cell_len, set_cell_size

Look = Literal[
    "plain", "dim", "bold", "good", "busy", "warn", "bad", "head", "chosen", "found", "gone"
]
Piece = tuple[str, Look]
Line = list[Piece]

NEAR: Final = 0.75  # of its wall, from where a figure is yellow; the next, red
CLOSE: Final = 0.9
_UNITS: Final = "BKMGTPE"


@dataclass(frozen=True, slots=True)
class Glyphs:
    """What bars are drawn with, where a terminal shows more than ASCII and where not."""

    steps: str  # from nearly nothing to a whole cell
    empty: str
    mark: str
    sparks: str
    more: str
    up: str
    down: str


UNICODE: Final = Glyphs("▏▎▍▌▋▊▉█", "·", "│", "▁▂▃▄▅▆▇█", "…", "▲", "▼")
ASCII: Final = Glyphs("#", ".", "|", "_.:-=+*#", "~", "^", "v")


def glyphs() -> Glyphs:
    encoding = locale.getpreferredencoding(do_setlocale=False).lower().replace("-", "")
    return UNICODE if encoding in ("utf8", "cp65001") else ASCII


def width(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


def fit(text: str, room: int, *, right: bool = False, more: str = "…") -> str:
    """Exactly so many cells: padded, or cut with a sign that there is more."""
    if room <= 0:
        return ""
    free = room - width(text)
    if free < 0:
        return set_cell_size(text, room - 1) + more
    return " " * free + text if right else text + " " * free


def short_size(size_bytes: int | None) -> str:
    """At most five cells: `1.2G`, `512M`, `1023K`."""
    if size_bytes is None:
        return "-"
    value, unit = float(max(0, size_bytes)), 0
    while round(value) >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    number = f"{value:.1f}" if 0 < value < 9.95 and unit else f"{value:.0f}"
    return f"{number.removesuffix('.0')}{_UNITS[unit]}"


def short_time(seconds: float | None) -> str:
    """At most four cells: `45s`, `12m`, `3h`, `9d`."""
    if seconds is None:
        return "-"
    whole = max(0, int(seconds))
    for size_s, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if whole >= size_s:
            return f"{whole // size_s}{unit}"
    return f"{whole}s"


def share_look(share: float) -> Look:
    return "bad" if share >= CLOSE else "warn" if share >= NEAR else "good"


def bar(share: float, room: int, *, signs: Glyphs, marks: Iterable[float] = ()) -> Line:
    """A bar of so many cells, filled to a share; marks (shares too) show where it is empty."""
    share = min(max(share, 0.0), 1.0)
    eighths = round(share * room * len(signs.steps))
    whole, rest = divmod(eighths, len(signs.steps))
    filled = signs.steps[-1] * whole + (signs.steps[rest - 1] if rest else "")
    if share > 0 and not filled:
        filled = signs.steps[0]
    empty = [signs.empty] * (room - len(filled))
    for mark in marks:
        at = min(int(mark * room), room - 1) - len(filled)
        if 0 <= at < len(empty):
            empty[at] = signs.mark
    return [(filled, share_look(share)), ("".join(empty), "dim")]


def sparkline(values: Sequence[int], room: int, *, top: int, signs: Glyphs) -> str:
    """The last values, as high as their share of the top; empty where there are none yet."""
    shown = islice(values, max(0, len(values) - room), None)
    last, top = len(signs.sparks) - 1, max(1, top)
    drawn = "".join(signs.sparks[min(last, round(last * value / top))] for value in shown)
    return " " * (room - len(drawn)) + drawn
