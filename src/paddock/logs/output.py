"""What agents wrote: the files of a run's attempts in `OUTPUT/RUN/`, as one stream.

Nothing is held: a reader asks for bytes from a place on, and however long a line is, finding the
last ones takes one block of memory. A byte keeps its place when others before it are let go.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

from paddock.core.run import Attempt

from .aside import Aside
from .bells import Bell
from .intake import PACKERS, Intake
from .names import HALF, SAFE_RUN, Kind, live_name, parsed, times_name
from .packing import Unpacker
from .shelf import (
    BLOCK_BYTES,
    NONE,
    Missing,
    Piece,
    Shelf,
    Vanished,
    open_directory,
    opened,
    read_live,
)
from .steps import Step, no_step
from .taking import Taking
from .tidying import Tidier
from .times import records, since
from .turns import Turns

WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
DIRECTORY: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A reader whose files are let go as fast as it looks; it begins anew each time.
MOST_LOOKS: Final = 100

T = TypeVar("T")


class OutputStore:
    """Of a run that never wrote, or is not there any more, the stream is empty."""

    def __init__(
        self,
        directory: Path,
        *,
        packers: int = PACKERS,
        step: Step = no_step,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`packers`: threads that pack; with none it is done at once. `step`: see `Tidier`."""
        self._directory = directory
        self._turns = Turns()
        self._unpacker = Unpacker()
        tidier = Tidier(self._turns, Aside(at_once=packers == 0), step)
        taking = Taking(directory, step)
        self.intake = Intake(directory, tidier, taking, packers=packers, now=now)

    def runs(self) -> list[str]:
        """All that have a directory, also an empty one."""
        try:
            with os.scandir(self._directory) as entries:
                found = [one.name for one in entries if one.is_dir(follow_symlinks=False)]
        except FileNotFoundError:
            return []
        return sorted(name for name in found if SAFE_RUN.fullmatch(name))

    def size(self, run: str) -> int:
        """All that was ever written, kept or not."""
        return self._ask(run, lambda shelf: shelf.size, 0)

    def read(self, run: str, from_byte: int = 0, most: int = BLOCK_BYTES) -> bytes:
        """At most so many bytes from there, or from the next that is kept; empty at the end."""
        return self.piece(run, from_byte, most).data

    def piece(self, run: str, from_byte: int, most: int) -> Piece:
        """The same, with its place."""
        return self._ask(run, lambda shelf: shelf.piece(from_byte, most), Piece(from_byte, b""))

    def fresh(self, run: str, from_byte: int, most: int) -> Piece:
        """The same for whoever read to the end a moment ago, in the loop: 1 µs where nothing is new
        and 7 where something is, against 67 for a look at all files."""
        inlet = self.intake.newest(run)
        if inlet is None:
            return self.piece(run, from_byte, most)
        if inlet.origin is None:
            inlet.origin = self._ask(run, lambda shelf: shelf.origin(inlet.number), None)
        at = from_byte - (inlet.origin or 0) - inlet.base
        if inlet.origin is None or not 0 <= at <= inlet.size:
            return self.piece(run, from_byte, most)
        most = min(most, inlet.size - at)
        data = read_live(inlet.directory, inlet.number, at, most) if most else b""
        return Piece(from_byte, data, is_last=at + len(data) == inlet.size)

    def tail(self, run: str, lines: int) -> int:
        """The byte where the last so many lines begin: read from there."""
        return self._ask(run, lambda shelf: shelf.tail(lines), 0)

    def since(self, run: str, at: float) -> int:
        """The byte where the line begins that was written at that time, or after it."""
        return self._ask(run, lambda shelf: _since(shelf, at), 0)

    def digest(self, attempt: Attempt) -> str:
        """Of all that the last attempt wrote; of what is kept, where that is less."""
        origin = self._ask(attempt.run, lambda shelf: shelf.origin(attempt.number), None)
        found, whole = hashlib.sha256(), True
        at = self.size(attempt.run) if origin is None else origin
        while (piece := self.piece(attempt.run, at, BLOCK_BYTES)).data:
            whole = whole and piece.at == at
            found.update(piece.data)
            at = piece.at + len(piece.data)
        return f"sha256{'' if whole else '-of-kept'}:{found.hexdigest()}"

    def written(self, attempt: Attempt) -> int:
        """So many bytes the last attempt wrote, kept or not."""
        origin = self._ask(attempt.run, lambda shelf: shelf.origin(attempt.number), None)
        return 0 if origin is None else self.size(attempt.run) - origin

    def head(self, attempt: Attempt, most: int) -> bytes:
        """What an attempt wrote first, as far as it is kept."""
        origin = self._ask(attempt.run, lambda shelf: shelf.origin(attempt.number), None)
        return b"" if origin is None else self.piece(attempt.run, origin, most).data

    def last(self, attempt: Attempt, most: int) -> bytes:
        """What the last attempt wrote last."""
        origin = self._ask(attempt.run, lambda shelf: shelf.origin(attempt.number), None)
        if origin is None:
            return b""
        return self.piece(attempt.run, max(origin, self.size(attempt.run) - most), most).data

    def missing(self, run: str) -> Missing:
        """What was written and is not kept."""
        return self._ask(run, lambda shelf: shelf.missing(), NONE)

    def listening(self, run: str) -> AbstractContextManager[Bell]:
        """A bell that is rung when something more is there."""
        return self.intake.bells.listening(run)

    def readers(self) -> int:
        """How many listen."""
        return len(self.intake.bells)

    def append(self, attempt: Attempt, data: bytes) -> None:
        """For drivers whose attempts have no file of their own."""
        directory = self._of(attempt.run)
        if directory is None:
            raise ValueError(f"{attempt.run!r} cannot name a directory")
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.intake.fate(attempt)
        handle = os.open(directory, DIRECTORY)
        try:
            descriptor = os.open(live_name(attempt.number), WRITE, 0o600, dir_fd=handle)
        finally:
            os.close(handle)
        try:
            while data:
                data = data[os.write(descriptor, data) :]
            size = os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)
        self.intake.moved(attempt, size)

    def remove(self, run: str) -> None:
        """All of it. A link is removed itself, and never what it points to."""
        directory = self._of(run)
        if directory is None:
            return
        self.intake.forget(run)
        if directory.is_symlink():
            directory.unlink(missing_ok=True)
        for _ in range(MOST_LOOKS):  # a packer may be at work in it
            with suppress(FileNotFoundError):
                shutil.rmtree(directory, ignore_errors=True)
            if not directory.exists():
                break
        self._turns.forget(run)

    def take_up(self) -> None:
        """What a daemon before this one left: bytes to be counted, parts to be packed. May run in
        a thread."""
        self.intake.take_up()
        for run in self.runs():
            with suppress(OSError), opened(self._directory / run) as handle:
                names = [] if handle is None else os.listdir(handle)  # noqa: PTH208
                waiting = [name for name in names if _waits(name)]
                if waiting or any(name.startswith(HALF) for name in names):
                    self.intake.tidy_soon(run, waiting)

    def notices(self) -> tuple[str, ...]:
        """What whoever looks at the daemon should know, also while nobody writes."""
        self.intake.free_room.is_low()
        notice = self.intake.free_room.notice()
        return () if notice is None else (notice,)

    def close(self) -> None:
        self.intake.close()

    def _of(self, run: str) -> Path | None:
        return self._directory / run if SAFE_RUN.fullmatch(run) else None

    def _ask(self, run: str, work: Callable[[Shelf], T], nothing: T) -> T:
        """With the run's files as they stand; once more if one of them went meanwhile."""
        for _ in range(MOST_LOOKS):
            with self._shelf(run) as shelf:
                if shelf is None:
                    return nothing
                with suppress(Vanished):
                    return work(shelf)
        return nothing

    @contextmanager
    def _shelf(self, run: str) -> Iterator[Shelf | None]:
        shelf = self._turns.steadily(run, lambda: self._looked(run), _put_back)
        try:
            yield shelf
        finally:
            _put_back(shelf)

    def _looked(self, run: str) -> Shelf | None:
        directory = self._of(run)
        if directory is None:
            return None
        handle = open_directory(directory)
        return None if handle is None else Shelf(handle, self._unpacker)


def _put_back(shelf: Shelf | None) -> None:
    if shelf is not None:
        shelf.close()


def _since(shelf: Shelf, at: float) -> int:
    begin = 0
    for attempt in sorted({placed.part.attempt for placed in shelf.placed}):
        own = [placed for placed in shelf.placed if placed.part.attempt == attempt]
        begin, size = own[0].begin - own[0].part.start, own[-1].part.end
        found = since(
            records(shelf.handle, times_name(attempt)),
            at,
            written_at=shelf.last_written_at(attempt),
            size=size,
        )
        if found < size:
            return shelf.line_starts(begin + found, 1) if found else begin
    return shelf.size


def _waits(name: str) -> bool:
    part = parsed(name)
    return part is not None and part.kind is Kind.WAITING
