"""A target takes any bytes and may raise nothing: what is documented it has looked at itself."""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Final

from .pen import SHM, penned

Feed = Callable[[bytes], None]

CORPUS: Final = Path(__file__).parent.parent / "data" / "corpus"
# Of this process's own time, so that a loaded machine changes nothing. Most take a millisecond.
CPU_S: Final = 5.0
LONGEST_LINE: Final = 3000


@dataclass(frozen=True, slots=True)
class Target:
    name: str
    feed: Feed
    words: tuple[bytes, ...]  # what random bytes hardly ever hit


TARGETS: Final[dict[str, Target]] = {}


def target(*words: bytes) -> Callable[[Feed], Feed]:
    """The function's name is the corpus's directory."""

    def take(feed: Feed) -> Feed:
        assert feed.__name__ not in TARGETS
        TARGETS[feed.__name__] = Target(feed.__name__, feed, words)
        return feed

    return take


class TooSlow(AssertionError):
    """It would go on for longer than anybody waits."""


def run(one: Target, data: bytes) -> None:
    """TooSlow where it hangs in Python; what hangs in C, the suite's timeout ends."""

    def late(_number: int, _frame: FrameType | None) -> None:
        raise TooSlow(f"{one.name}: {len(data)} bytes took more than {CPU_S:g} s")

    before = signal.signal(signal.SIGPROF, late)
    try:
        with penned():
            signal.setitimer(signal.ITIMER_PROF, CPU_S)
            try:
                one.feed(data)
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
    finally:
        signal.signal(signal.SIGPROF, before)


def is_clear(line: str) -> bool:
    """One line for people, with nothing in it that acts on a terminal."""
    return 0 < len(line) < LONGEST_LINE and line.isprintable()


def told(line: str) -> None:
    """What an error says to people."""
    assert is_clear(line), line


@contextmanager
def a_place() -> Iterator[Path]:
    """A directory in memory: a real disk would be most of the time."""
    made = Path(tempfile.mkdtemp(prefix="paddock-fuzz-", dir=SHM if SHM.is_dir() else None))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def files_of(name: str) -> list[Path]:
    return sorted(path for path in (CORPUS / name).glob("*") if path.is_file())
