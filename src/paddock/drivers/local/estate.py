"""What dead keepers left: journals that say how attempts ended, and FIFOs of those they had begun.

A journal goes once all that it tells about is forgotten.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from paddock.drivers.local.keeper.journal import read_journal
from paddock.drivers.local.keeper.protocol import journal_name
from paddock.drivers.local.keeper_client import journals
from paddock.drivers.local.line import Message

STATES: Final = ("starting", "running", "exited", "spawn_failed")
# Of those that are used, the least that they can be.
_NUMBERS: Final = {
    **dict.fromkeys(("pid", "start", "limit_bytes", "exit_code", "signal", "max_rss_bytes"), 0),
    "fifo_fd": -1,
}
BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


class Estate:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._unforgotten: dict[Path, set[str]] = {}
        self.died_in_this_boot = False

    def inherit(self, living: Message) -> dict[str, Message]:
        """The last word on each attempt of every keeper but the living one, by its mark."""
        boot = BOOT_ID.read_text(encoding="ascii").strip()
        found: dict[str, Message] = {}
        for path, lines in journals(self._directory).items():
            if living and path.name == journal_name(living):
                continue
            keeper = lines[0].get("keeper") if lines else None
            is_of_this_boot = isinstance(keeper, dict) and keeper.get("boot") == boot
            records = _by_mark(lines)
            if not is_of_this_boot:
                records = {mark: each for mark, each in records.items() if _is_news(each)}
            found |= records
            self._unforgotten[path] = set(records)
            self.died_in_this_boot |= is_of_this_boot
        return found

    @property
    def is_any(self) -> bool:
        return bool(self._unforgotten)

    def bury(self, facts: Message, marks: Iterable[str]) -> dict[str, Message]:
        """A keeper died just now: what it wrote; its journal stays while these are unforgotten."""
        path = self._directory / journal_name(facts)
        self._unforgotten[path] = set(marks)
        return _by_mark(read_journal(str(path)))

    def hold(self, mark: str) -> None:
        """An attempt that only the dead know of: until it is forgotten, that one died must show."""
        for marks in self._unforgotten.values():
            marks.add(mark)

    def forgot(self, mark: str) -> None:
        for marks in self._unforgotten.values():
            marks.discard(mark)
        self.tidy()

    def tidy(self) -> None:
        """Only when what they tell has been told: a daemon may die before that."""
        for path in [path for path, marks in self._unforgotten.items() if not marks]:
            del self._unforgotten[path]
            with contextlib.suppress(OSError):
                path.unlink()


def _by_mark(lines: Iterable[Message]) -> dict[str, Message]:
    """A line that says less than an ending, or something else, is as one that was torn: without it
    nobody knows how that attempt ended, and that is told."""
    return {line["attempt"]: line for line in lines if _is_sound(line)}


def _is_sound(line: Message) -> bool:
    texts = isinstance(line.get("attempt"), str) and line.get("state") in STATES
    numbers = all(_is_number(line.get(name, 0), least) for name, least in _NUMBERS.items())
    return texts and numbers and isinstance(line.get("reason"), str | None)


def _is_number(value: object, least: int) -> bool:
    return value is None or (type(value) is int and least <= value < 1 << 62)


def _is_news(record: Message) -> bool:
    """Also after a reboot: that it only ran then is known from the store."""
    return record.get("state") in ("exited", "spawn_failed") or "stop" in record
