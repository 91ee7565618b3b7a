"""The journal of a spool: one JSON object a line, durable before anything rests on it.

A line torn by a kill or a power cut is the last one, and nothing rests on it: it is cut off. One
that is wrong in the middle is damage, and is said.
"""

# pathlib would cost 1.4 MB of memory.
from __future__ import annotations

import fcntl
import json
import os

from .ends import BUSY, DAMAGED, OTHER_VERSION, Trouble
from .ledger import Ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .ledger import Record
    from .spec import Stage

NAME = "journal"
VERSION = 1
_text_of = json.JSONEncoder(separators=(",", ":")).encode


class Journal:
    """Held by one relay at a time: the lock ends with its holder, even by `kill -9`."""

    __slots__ = ("_descriptor", "_stage", "directory", "is_new")

    def __init__(self, directory: str, stage: Stage) -> None:
        self.directory = directory
        self._stage = stage
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        self._descriptor = os.open(f"{directory}/{NAME}", flags, 0o600)
        self.is_new = False
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Trouble(
                BUSY, f"another relay still works in {directory}; end it, and try again"
            ) from None

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
        self.is_new = header is None
        if header is None:
            self.add(self._header())
        return ledger

    def add(self, record: Record) -> None:
        line = _text_of(record).encode() + b"\n"
        size = os.fstat(self._descriptor).st_size
        try:
            while line:
                line = line[os.write(self._descriptor, line) :]
        except OSError:
            os.ftruncate(self._descriptor, size)  # half a line must not come before others
            raise
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)

    def _header(self) -> Record:
        steps = [[step.name, step.each] for step in self._stage.steps]
        return {"spool": VERSION, "steps": steps}

    def _check(self, header: Record) -> None:
        version = header.get("spool")
        if version != VERSION:
            raise Trouble(
                OTHER_VERSION,
                f"the spool in {self.directory} is of version {version}, and this paddock writes "
                f"{VERSION}: finish it with the paddock that began it, or remove it to begin anew",
            )
        if header != self._header():
            found = ", ".join(f"{name} ({each})" for name, each in header["steps"])
            raise Trouble(
                OTHER_VERSION,
                f"the spool in {self.directory} is of other steps: {found}; "
                "remove it to begin anew",
            )

    def _apply(self, ledger: Ledger, record: Record, number: int) -> None:
        try:
            ledger.apply(record)
        except (LookupError, TypeError, ValueError, AttributeError):
            raise self._damaged(number) from None

    def _damaged(self, number: int) -> Trouble:
        return Trouble(
            DAMAGED,
            f"line {number} of {self.directory}/{NAME} makes no sense, and others follow it: "
            "remove the directory to begin anew",
        )


def _record(line: bytes) -> Record | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and line.endswith(b"\n") else None
