"""What the keys do and what the columns mean. The reference page has the same table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .cells import Line, fit

KEYS: Final = (
    ("Move", ""),
    ("j k, arrows", "down and up; g G, Home End: to the ends; PgUp PgDn: by pages"),
    ("Tab", "between the table and the log"),
    ("Enter, l", "the log alone, over the whole screen; Esc: back"),
    ("q, F10, Ctrl-C", "quit; nothing that runs is touched"),
    ("List", ""),
    ("/, F4", "filter by words of name, id, group, state, priority; !word: without it"),
    ("F6, s", "sort: choose by what; M memory, P CPU, T age; I upside down"),
    ("e", "show or hide those that have ended"),
    ("d, i", "details: why, its black box, its story"),
    ("Act", ""),
    ("F9, x", "kill the chosen one; asks first. There f kills by force"),
    ("Ctrl-K", "kill by force, at once and with all it started; asks first"),
    ("F7 F8, + -", "more urgent, less urgent; p: choose the priority"),
    ("z", "freeze it where it is; again: thaw it"),
    ("r", "run one that has ended once more"),
    ("b", "breakers: choose one to reset it"),
    ("Log", ""),
    ("F, f", "follow the end, or stay here; scrolling stops it, End goes on"),
    ("F3, /", "search in the log (/ when it has the focus); n N: next, previous, all round"),
    ("w", "wrap long lines; arrows left and right: scroll sideways"),
)
COLUMNS: Final = (
    ("AGE", "since it was submitted; of one that has ended, since then"),
    ("CPU", "100% is one core"),
    ("MEMORY", "the bar ends at its wall; the mark in it is what paddock expects it to need"),
    ("LAST MINUTE", "its memory in each second, against its wall"),
    ("#3 …", "who waits says its place in the queue and why it waits"),
    ("Host", "the marks are the steps of the ladder; the one it stands on stands out"),
    ("Fleet", "the mark is what all agents are expected to need"),
)
_ROOM: Final = 18


async def help_text() -> Sequence[Line]:
    lines: list[Line] = []
    for key, does in KEYS:
        if does:
            lines.append([(fit(f"  {key}", _ROOM), "bold"), (does, "plain")])
        else:
            lines += [[("", "plain")], [(key, "head")]] if lines else [[(key, "head")]]
    lines += [[("", "plain")], [("What is shown", "head")]]
    lines += [[(fit(f"  {name}", _ROOM), "bold"), (text, "plain")] for name, text in COLUMNS]
    return lines
