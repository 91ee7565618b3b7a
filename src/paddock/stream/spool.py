"""The spool: all of a stage that outlives its relay. Nothing is removed before it is said."""

# ruff: noqa: PTH103, PTH108, PTH118, PTH208, SIM105
from __future__ import annotations

import os

from .chunks import OpenChunk
from .ends import DAMAGED, Trouble
from .journal import NEW_NAME, Journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .ledger import Chunk, Ledger, Link, Record
    from .spec import Stage

SUFFIX = ".chunk"
OPEN_SUFFIX = ".open"
RESERVE = "reserve"
RESERVE_BYTES = 64 << 10


class Spool:
    __slots__ = ("_descriptor", "_directory", "_journal", "is_new", "ledger")

    def __init__(self, directory: str, stage: Stage) -> None:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        self._directory = directory
        self._descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._journal = Journal(directory, stage)
        self.ledger: Ledger = self._journal.load()
        self.is_new = self._journal.is_new
        self._keep_reserve()
        if self.is_new:
            os.fsync(self._descriptor)

    # -- a full disk --------------------------------------------------------------------------

    def _keep_reserve(self) -> None:
        """So that there is room to say what is done, and with it to make room."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(f"{self._directory}/{RESERVE}", flags, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, RESERVE_BYTES)
        except OSError:
            pass
        finally:
            os.close(descriptor)

    def free_reserve(self) -> None:
        try:
            os.unlink(f"{self._directory}/{RESERVE}")
        except FileNotFoundError:
            pass

    # -- chunks -------------------------------------------------------------------------------

    def path(self, link: Link, chunk: Chunk) -> str:
        return f"{self._directory}/{link.index}-{chunk.number}{SUFFIX}"

    def begin(self, link: Link, *, after: int = 0) -> OpenChunk:
        number = link.number + after
        return OpenChunk(f"{self._directory}/{link.index}-{number}{OPEN_SUFFIX}")

    def seal(self, link: Link, chunk: OpenChunk, *, at_line: bool, ack: Record | None) -> None:
        """With what the writer has thereby done of its own input, in one line: both or neither."""
        size = chunk.cut if at_line else chunk.size
        said: Record = {"link": link.index, "n": link.number, "at": link.sealed, "bytes": size}
        said["sha256"] = chunk.digest(at_line=at_line)
        chunk.close_as(f"{self._directory}/{link.index}-{link.number}{SUFFIX}", size)
        os.fsync(self._descriptor)
        self._say({"seal": said} if ack is None else {"seal": said, "ack": ack})

    def begin_again(self, link: Link, chunk: Chunk) -> OpenChunk:
        """One that is written down, and whose file is gone."""
        return OpenChunk(f"{self.path(link, chunk)}{OPEN_SUFFIX}")

    def restore(self, link: Link, chunk: Chunk, made: OpenChunk) -> None:
        made.close_as(self.path(link, chunk), chunk.size)
        os.fsync(self._descriptor)
        chunk.is_there = True

    # -- what is said -------------------------------------------------------------------------

    def acknowledge(self, ack: Record) -> None:
        self._say({"ack": ack})

    def drop(self, link: Link) -> None:
        self._say({"drop": link.index})

    def finish(self, step: int) -> None:
        self._say({"done": step})

    def start_over(self, link: Link) -> None:
        self._say({"zero": link.index})

    def _say(self, record: Record) -> None:
        self._journal.add(record)
        for link, chunk in self.ledger.apply(record):
            try:
                os.unlink(self.path(link, chunk))
            except FileNotFoundError:
                pass
        if self._journal.is_long:
            self._journal.shorten(self.ledger)

    # -- after a kill -------------------------------------------------------------------------

    def find_missing(self, link: Link) -> list[Chunk]:
        """Kept chunks whose file is not whole; the size is looked at, and not every byte."""
        for chunk in link.kept:
            try:
                chunk.is_there = os.stat(self.path(link, chunk)).st_size == chunk.size  # noqa: PTH116
            except FileNotFoundError:
                chunk.is_there = False
        return [chunk for chunk in link.kept if not chunk.is_there]

    def sweep(self) -> None:
        """What was begun and never said, or said to be gone and still there."""
        wanted = {self.path(link, chunk) for link in self.ledger.links for chunk in link.kept}
        for name in os.listdir(self._directory):
            path = os.path.join(self._directory, name)
            is_ours = name.endswith((SUFFIX, OPEN_SUFFIX)) or name == NEW_NAME
            if is_ours and path not in wanted:
                os.unlink(path)

    def lost(self, name: str, chunk: Chunk) -> Trouble:
        return Trouble(
            DAMAGED,
            f"chunk {chunk.number} of step {name} is missing or cut short in {self._directory}, "
            "and the step cannot say it again: remove the directory to begin anew",
        )
