"""What `git --progress` says, as numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from .secrets import without_secrets

# `remote: Counting objects:  45% (450/1000), 12.00 MiB | 3.00 MiB/s`
_LINE: Final = re.compile(
    rb"(?:remote: )?([A-Z][A-Za-z ]+):\s+([0-9]{1,3})% \(([0-9]{1,18})/([0-9]{1,18})\)"
)
_LONGEST_LINE: Final = 4096


@dataclass(frozen=True, slots=True)
class Progress:
    """`Receiving objects`, 450 of 1000."""

    phase: str
    done: int
    total: int

    @property
    def percent(self) -> int:
        return 100 * self.done // self.total if self.total else 100


Tell = Callable[[Progress], object]


def listener(tell: Tell) -> Callable[[bytes], None]:
    """Takes pieces of stderr as they come; each number is told once."""
    rest, last = b"", None

    def hear(data: bytes) -> None:
        nonlocal rest, last
        *lines, rest = re.split(rb"[\r\n]", rest + data)
        rest = rest[-_LONGEST_LINE:]
        for line in lines:
            found = parse(line)
            if found is not None and found != last:
                last = found
                tell(found)

    return hear


def parse(line: bytes) -> Progress | None:
    match = _LINE.match(line)
    if match is None:
        return None
    phase = without_secrets(match[1].decode("ascii"))
    return Progress(phase, int(match[3]), int(match[4]))
