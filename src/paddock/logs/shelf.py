"""One run's files as they are now, in order and with their places in the stream. Reads them.

Symbolic links are never followed: an agent may write here.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from .names import Kind, Part, in_order, live_name, parsed
from .packing import Unpacker

READ: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
BLOCK_BYTES: Final = 1 << 16
_NOTHING: Final = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class Vanished(Exception):
    """A file went between the look and the opening: look again."""


class Piece(NamedTuple):
    """Bytes of the stream. Those between where one asked and `at` are not kept."""

    at: int
    data: bytes
    missing_lines: int | None = 0  # None: not known
    is_last: bool = True  # nothing more was there


class Missing(NamedTuple):
    bytes: int = 0
    lines: int = 0

    def and_also(self, more: Missing) -> Missing:
        return Missing(self.bytes + more.bytes, self.lines + more.lines)


NONE: Final = Missing()


@dataclass(frozen=True, slots=True)
class Placed:
    part: Part
    begin: int  # in the stream of the whole run
    end: int


class Shelf:
    """Closed with `close`. Live files are opened at once, the others when they are read."""

    def __init__(self, handle: int, unpacker: Unpacker) -> None:
        self.handle = handle
        self._unpacker = unpacker
        self._open: dict[str, int] = {}
        self.placed: list[Placed] = []
        try:
            self._place()
        except BaseException:
            self.close()
            raise

    @property
    def size(self) -> int:
        return self.placed[-1].end if self.placed else 0

    def close(self) -> None:
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()
        os.close(self.handle)

    def _place(self) -> None:
        found = [part for name in os.listdir(self.handle) if (part := parsed(name))]  # noqa: PTH208
        parts = in_order(found)
        lives = {part.attempt: part for part in found if part.kind is Kind.LIVE}
        begin = 0
        by_attempt: dict[int, list[Part]] = {part.attempt: [] for part in found}
        for part in parts:
            by_attempt[part.attempt].append(part)
        for attempt, own in sorted(by_attempt.items()):
            base = own[-1].end if own else 0
            if attempt in lives and (size := self._opened_live(lives[attempt].name)):
                own.append(Part(attempt, base, base + size, Kind.LIVE, lives[attempt].name))
            self.placed += [Placed(part, begin + part.start, begin + part.end) for part in own]
            begin += own[-1].end if own else 0

    def _opened_live(self, name: str) -> int:
        """Its size; none for what is a link, no file, or gone meanwhile."""
        try:
            descriptor = os.open(name, READ, dir_fd=self.handle)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ELOOP):
                return 0
            raise
        self._open[name] = descriptor
        facts = os.fstat(descriptor)
        return facts.st_size if stat.S_ISREG(facts.st_mode) else 0

    # -- reading --------------------------------------------------------------------------

    def piece(self, at: int, most: int) -> Piece:
        """What is kept from there on without a gap, at most so much."""
        found: list[bytes] = []
        begin = first = at
        wanted = most
        for placed in self.placed:
            if placed.end <= at or wanted <= 0:
                continue
            if found and placed.begin > at:
                break
            at = max(at, placed.begin)
            data = self._some(placed, at - placed.begin, wanted)
            if not data:  # a gap, or something that cannot be read
                if found:
                    break
                at = placed.end
                continue
            first = first if found else at
            found.append(data)
            at, wanted = at + len(data), wanted - len(data)
            if at < placed.end:
                break
        if not found:
            return Piece(max(begin, self.size), b"", self.lines_missing(begin, self.size))
        lines = self.lines_missing(begin, first)
        return Piece(first, b"".join(found), lines, is_last=at >= self.size)

    def _some(self, placed: Placed, offset: int, most: int) -> bytes:
        part = placed.part
        most = min(most, part.size - offset)
        if part.kind is Kind.GAP or most <= 0:
            return b""
        descriptor = self._descriptor(part.name)
        if descriptor is None:
            return b""
        if part.kind is not Kind.PACKED:
            return os.pread(descriptor, most, offset)
        found = data = self._unpacker.read(descriptor, offset, most)
        while data and len(found) < most:  # over a seam between two members
            data = self._unpacker.read(descriptor, offset + len(found), most - len(found))
            found += data
        return found

    def _extent(self, part: Part) -> int:
        """So much of it there may be, whatever its name says: an agent can make such names."""
        if part.kind is Kind.GAP:
            return 0
        descriptor = self._descriptor(part.name)
        if descriptor is None:
            return 0
        if part.kind is Kind.PACKED:
            return self._unpacker.extent(descriptor)
        return os.fstat(descriptor).st_size

    def _descriptor(self, name: str) -> int | None:
        """None of what is a link, a pipe or a directory, and so nothing of ours."""
        if name not in self._open:
            try:
                self._open[name] = os.open(name, READ, dir_fd=self.handle)
            except FileNotFoundError:
                raise Vanished from None
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENXIO, errno.EACCES):
                    return None
                raise
        descriptor = self._open[name]
        return descriptor if stat.S_ISREG(os.fstat(descriptor).st_mode) else None

    def lines_missing(self, begin: int, end: int) -> int | None:
        """None where a gap is only partly between the two, or has left nothing to count by."""
        lines, known = 0, begin
        for placed in self.placed if begin < end else ():
            if placed.end <= begin or placed.begin >= end:
                continue
            whole = begin <= placed.begin and placed.end <= end
            if placed.part.kind is not Kind.GAP or not whole or placed.begin > known:
                return None
            lines += placed.part.lines or 0
            known = placed.end
        return lines if known >= end else None

    def missing(self) -> Missing:
        kept = lines = 0
        for placed in self.placed:
            if placed.part.kind is Kind.GAP:
                lines += placed.part.lines or 0
            else:
                kept += placed.part.size
        return Missing(self.size - kept, lines)

    def line_starts(self, end: int, lines: int) -> int:
        """Where the last so many line ends before `end` are followed by the next line: with none,
        the line that holds the byte before `end` begins there."""
        for placed in reversed(self.placed):
            at = min(placed.begin + self._extent(placed.part), placed.end, end)
            while at > placed.begin:
                size = min(BLOCK_BYTES, at - placed.begin)
                block = self._some(placed, at - size - placed.begin, size)
                count = block.count(b"\n")
                if count >= lines:
                    return at - size + _nth_from_behind(block, lines)
                lines -= count
                at -= size
        return 0

    def tail(self, lines: int) -> int:
        """The very last byte of the stream ends a line and begins none."""
        if lines <= 0:
            return self.size
        return self.line_starts(self.size - 1, lines) if self.size else 0

    def origin(self, attempt: int) -> int | None:
        """Where an attempt begins in the stream; None before its first byte."""
        for placed in self.placed:
            if placed.part.attempt == attempt:
                return placed.begin - placed.part.start
        return None

    def last_written_at(self, attempt: int) -> float:
        """0 where nothing of it is left to tell."""
        found = 0.0
        for placed in self.placed:
            if placed.part.attempt == attempt and placed.part.kind is not Kind.GAP:
                with suppress(OSError):
                    facts = os.stat(placed.part.name, dir_fd=self.handle, follow_symlinks=False)
                    found = max(found, facts.st_mtime)
        return found


def _nth_from_behind(block: bytes, lines: int) -> int:
    at = len(block)
    for _ in range(lines):
        at = block.rindex(b"\n", 0, at)
    return at + 1


def read_live(directory: Path, attempt: int, at: int, most: int) -> bytes:
    """Of the live file alone; nothing where it is none."""
    try:
        descriptor = os.open(f"{directory}/{live_name(attempt)}", READ)
    except OSError:
        return b""
    try:
        return os.pread(descriptor, most, at)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def open_directory(directory: Path) -> int | None:
    """None where there is no such directory, or a link in its place."""
    try:
        return os.open(directory, READ | os.O_DIRECTORY)
    except OSError as error:
        if error.errno in _NOTHING:
            return None
        raise


@contextmanager
def opened(directory: Path) -> Iterator[int | None]:
    handle = open_directory(directory)
    try:
        yield handle
    finally:
        if handle is not None:
            os.close(handle)
