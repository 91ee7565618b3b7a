"""What the files of a run's output are called. All that must be known of them is in their names.

`3.log` is the live file of attempt 3. At its size it is renamed and waits to be packed; what is no
longer kept leaves a gap, an empty file. Each change of these is one `rename` or `unlink`, so that
there is no moment at which a killed daemon leaves what the next one cannot read.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

SAFE_RUN: Final = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]+")
LONGEST_AGENT: Final = 48
HALF: Final = "."  # begins the name of what is still being written, and nobody reads

_N: Final = r"([0-9]{1,18})"
_LIVE: Final = re.compile(rf"{_N}\.log")
_ROTATED: Final = re.compile(rf"agent_.*_[0-9TZ]+\.{_N}\.{_N}-{_N}(?:\.{_N}\.log\.gz|\.log)")
_GAP: Final = re.compile(rf"{_N}\.{_N}-{_N}\.{_N}\.gap")
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9-]+")


class Kind(IntEnum):
    """Of two that hold the same bytes the first of these counts."""

    PACKED = 0
    WAITING = 1  # rotated, to be packed
    LIVE = 2
    GAP = 3  # not kept, or not any more


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes `start` to `end` of an attempt's output; of a live file they are not in its name."""

    attempt: int
    start: int
    end: int
    kind: Kind
    name: str
    lines: int | None = None

    @property
    def size(self) -> int:
        return self.end - self.start


def parsed(name: str) -> Part | None:
    """None for what is none of ours."""
    if match := _LIVE.fullmatch(name):
        return Part(int(match[1]), 0, 0, Kind.LIVE, name)
    if match := _ROTATED.fullmatch(name):
        kind = Kind.WAITING if match[4] is None else Kind.PACKED
    elif match := _GAP.fullmatch(name):
        kind = Kind.GAP
    else:
        return None
    attempt, start, end = (int(match[n]) for n in (1, 2, 3))
    lines = None if match[4] is None else int(match[4])
    return Part(attempt, start, end, kind, name, lines) if start < end else None


def live_name(attempt: int) -> str:
    return f"{attempt}.log"


def times_name(attempt: int) -> str:
    return f"{attempt}.times"


def rotated(agent: str, attempt: int, *, start: int, end: int, at: float) -> Part:
    """`agent_review_20261017T101500Z.1.0-10485760.log`: for people the agent and the time first."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(at))
    name = f"agent_{safe_agent(agent)}_{stamp}.{attempt}.{start}-{end}.log"
    return Part(attempt, start, end, Kind.WAITING, name)


def packed(part: Part, lines: int) -> Part:
    name = f"{part.name.removesuffix('.log')}.{lines}.log.gz"
    return Part(part.attempt, part.start, part.end, Kind.PACKED, name, lines)


def cut_to(part: Part, end: int) -> Part:
    """A waiting part of which less is there than its name says."""
    old, new = f".{part.start}-{part.end}.log", f".{part.start}-{end}.log"
    name = part.name.removesuffix(old) + new
    return Part(part.attempt, part.start, end, Kind.WAITING, name)


def gap(attempt: int, start: int, end: int, lines: int) -> Part:
    return Part(attempt, start, end, Kind.GAP, f"{attempt}.{start}-{end}.{lines}.gap", lines)


def safe_agent(name: str) -> str:
    """A run's name may hold anything; a file's should survive a shell."""
    return _UNSAFE.sub("-", name)[:LONGEST_AGENT].strip("-") or "run"


def in_order(parts: Iterable[Part]) -> list[Part]:
    """Each byte once. Live files are left out: where they begin is where the others end."""
    found = [part for part in parts if part.kind is not Kind.LIVE]
    found.sort(key=lambda part: (part.attempt, part.start, -part.end, part.kind))
    kept: list[Part] = []
    for part in found:
        last = kept[-1] if kept and kept[-1].attempt == part.attempt else None
        if last is None or part.start >= last.end:
            kept.append(part)
    return kept
