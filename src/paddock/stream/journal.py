"""The journal of a spool: one JSON object a line, durable before anything rests on it.

A line torn by a kill or a power cut is the last one, and nothing rests on it: it is cut off. One
that is wrong in the middle is damage, and is said. One that has grown long is written anew, in the
second version: an older relay would not know its first lines.
"""

# pathlib would cost 1.4 MB of memory.
# ruff: noqa: PTH104, PTH108, PTH116, PTH123
from __future__ import annotations

import fcntl
import json
import os

from . import shortening
from .ends import BUSY, DAMAGED, OTHER_VERSION, Trouble
from .ledger import Ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from .ledger import Record
    from .spec import Stage

NAME = "journal"
NEW_NAME = "journal.new"  # what a kill leaves of one that was being written anew
VERSION, SHORTENED = 1, 2
GATHER_BYTES = 1 << 16
_text_of = json.JSONEncoder(separators=(",", ":")).encode


class Journal:
    """Held by one relay at a time: the lock ends with its holder, even by `kill -9`."""

    __slots__ = ("_descriptor", "_short_at", "_size", "_stage", "directory", "is_new")

    def __init__(self, directory: str, stage: Stage) -> None:
        self.directory = directory
        self._stage = stage
        self.is_new = False
        self._short_at = shortening.LONG_BYTES
        self._descriptor = self._opened()
        self._size = os.fstat(self._descriptor).st_size

    def _opened(self) -> int:
        path = f"{self.directory}/{NAME}"
        while True:
            descriptor = _open(path)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_at(path, descriptor):
                    return descriptor
            except BlockingIOError:
                os.close(descriptor)
                raise Trouble(
                    BUSY, f"another relay still works in {self.directory}; end it, and try again"
                ) from None
            os.close(descriptor)  # another has been written in its place meanwhile

    def load(self) -> Ledger:
        """All that whole lines say; what was torn is cut off."""
        ledger = Ledger(len(self._stage.steps))
        good_bytes, header = 0, None
        bad = None
        with open(self._descriptor, "rb", closefd=False) as file:
            for number, line in enumerate(file, 1):
                if bad is not None:
                    raise self._damaged(bad)
                record = _record(line)
                if record is None:
                    bad = number
                    continue
                if header is None:
                    header = record
                    self._check(header)
                else:
                    self._apply(ledger, record, number)
                good_bytes += len(line)
        if bad is not None:
            os.ftruncate(self._descriptor, good_bytes)
        self._size = good_bytes
        self.is_new = header is None
        if header is None:
            self.add(self._header())
        return ledger

    def add(self, record: Record) -> None:
        line = _line(record)
        try:
            _write_all(self._descriptor, line)
        except OSError:
            os.ftruncate(self._descriptor, self._size)  # half a line must not come before others
            raise
        self._size += len(line)
        os.fdatasync(self._descriptor)

    @property
    def is_long(self) -> bool:
        return self._size >= self._short_at

    def shorten(self, ledger: Ledger) -> None:
        """To what leads to this very ledger. Killed at any point, the one or the other is whole;
        and without room for both it stays as it is."""
        self._short_at = 2 * self._size
        descriptor = self._written_anew(ledger)
        if descriptor < 0:
            return
        os.close(self._descriptor)
        self._descriptor, self._size = descriptor, os.fstat(descriptor).st_size
        self._short_at = max(shortening.LONG_BYTES, 2 * self._size)
        for link in ledger.links:
            link.zeros = 0
        _sync_directory(self.directory)  # or what is added now might be in one that is gone

    def _written_anew(self, ledger: Ledger) -> int:
        """A descriptor of it, in its place; -1 if that could not be."""
        path, new = f"{self.directory}/{NAME}", f"{self.directory}/{NEW_NAME}"
        descriptor = -1
        try:
            descriptor = _open(new, os.O_TRUNC)
            # Before it has its name: whoever opens it must find it taken.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with open(path, "rb") as old:
                old.readline()
                _write_lines(descriptor, self._shortened(old, ledger))
            os.fsync(descriptor)
            os.rename(new, path)
        except OSError:
            if descriptor >= 0:
                os.close(descriptor)
                os.unlink(new)
            return -1
        return descriptor

    def _shortened(self, old: Iterable[bytes], ledger: Ledger) -> Iterator[bytes]:
        yield _line(self._header() | {"spool": SHORTENED})
        for record in shortening.shortened(old, ledger):
            yield _line(record)

    def close(self) -> None:
        os.close(self._descriptor)

    def _header(self) -> Record:
        steps = [[step.name, step.each] for step in self._stage.steps]
        return {"spool": VERSION, "steps": steps}

    def _check(self, header: Record) -> None:
        version = header.get("spool")
        if version not in (VERSION, SHORTENED):
            raise Trouble(
                OTHER_VERSION,
                f"the spool in {self.directory} is of version {version}, and this paddock reads up "
                f"to {SHORTENED}: finish it with the paddock that began it, or remove it to begin "
                "anew",
            )
        if header.get("steps") != self._header()["steps"]:
            found = _steps_in(header.get("steps"))
            raise Trouble(
                OTHER_VERSION,
                f"the spool in {self.directory} is of other steps: {found}; "
                "remove it to begin anew",
            )

    def _apply(self, ledger: Ledger, record: Record, number: int) -> None:
        try:
            ledger.apply(record)
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
            raise self._damaged(number) from None

    def _damaged(self, number: int) -> Trouble:
        return Trouble(
            DAMAGED,
            f"line {number} of {self.directory}/{NAME} makes no sense, and others follow it: "
            "remove the directory to begin anew",
        )


def _steps_in(said: Any) -> str:
    try:
        return ", ".join(f"{name} ({each})" for name, each in said)[:200]
    except (TypeError, ValueError):
        return "none that make sense"


def _record(line: bytes) -> Record | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and line.endswith(b"\n") else None


def _line(record: Record) -> bytes:
    return _text_of(record).encode() + b"\n"


def _open(path: str, more: int = 0) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.open(path, flags | more, 0o600)


def _is_at(path: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _write_lines(descriptor: int, lines: Iterable[bytes]) -> None:
    gathered = bytearray()
    for line in lines:
        gathered += line
        if len(gathered) >= GATHER_BYTES:
            _write_all(descriptor, bytes(gathered))
            gathered.clear()
    _write_all(descriptor, bytes(gathered))


def _sync_directory(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
