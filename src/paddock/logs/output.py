"""What agents wrote: the files of a run's attempts, `OUTPUT/RUN/NUMBER.log`, as one stream.

Nothing is held: a reader asks for bytes from a place on, and however long a line is, finding the
last ones takes one block of memory. Symbolic links are never followed: an agent may write here.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from paddock.core.run import Attempt

SAFE_RUN: Final = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]+")
SEGMENT: Final = re.compile(r"([0-9]+)\.log")
BLOCK_BYTES: Final = 1 << 16
READ: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
DIRECTORY: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class OutputStore:
    """Of a run that never wrote, or is not there any more, the stream is empty."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def runs(self) -> list[str]:
        """All that have a directory, also an empty one."""
        try:
            with os.scandir(self._directory) as entries:
                found = [one.name for one in entries if one.is_dir(follow_symlinks=False)]
        except FileNotFoundError:
            return []
        return sorted(name for name in found if SAFE_RUN.fullmatch(name))

    def size(self, run: str) -> int:
        with self._segments(run) as segments:
            return sum(size for _, size in segments)

    def read(self, run: str, from_byte: int = 0, most: int = BLOCK_BYTES) -> bytes:
        """At most so many bytes from there on; empty at the end of what is there now."""
        wanted, found = most, []
        with self._segments(run) as segments:
            for descriptor, size in segments:
                if from_byte >= size:
                    from_byte -= size
                    continue
                # Not beyond the size seen: what came since would have to come before the next file.
                data = os.pread(descriptor, min(wanted, size - from_byte), from_byte)
                found.append(data)
                wanted -= len(data)
                from_byte = 0
                if wanted <= 0:
                    break
        return b"".join(found)

    def tail(self, run: str, lines: int) -> int:
        """The byte where the last so many lines begin: read from there."""
        with self._segments(run) as segments:
            begin = end = sum(size for _, size in segments)
            if lines <= 0:
                return end
            left = lines
            for descriptor, size in reversed(segments):
                begin -= size
                found, left = _line_starts(descriptor, size, left, skip_last=begin + size == end)
                if found is not None:
                    return begin + found
        return 0

    def append(self, attempt: Attempt, data: bytes) -> None:
        """For drivers whose attempts have no file of their own."""
        directory = self._of(attempt.run)
        if directory is None:
            raise ValueError(f"{attempt.run!r} cannot name a directory")
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(directory, DIRECTORY)
        try:
            descriptor = os.open(f"{attempt.number}.log", WRITE, 0o600, dir_fd=handle)
        finally:
            os.close(handle)
        try:
            while data:
                data = data[os.write(descriptor, data) :]
        finally:
            os.close(descriptor)

    def remove(self, run: str) -> None:
        """All of it. A link is removed itself, and never what it points to."""
        directory = self._of(run)
        if directory is None:
            return
        with suppress(FileNotFoundError):
            if directory.is_symlink():
                directory.unlink()
            else:
                shutil.rmtree(directory)

    def _of(self, run: str) -> Path | None:
        return self._directory / run if SAFE_RUN.fullmatch(run) else None

    @contextmanager
    def _segments(self, run: str) -> Iterator[list[tuple[int, int]]]:
        """Open, in order of the attempts, with the sizes they have now."""
        directory = self._of(run)
        opened: list[tuple[int, int]] = []
        try:
            if directory is not None:
                for name in _names(directory):
                    opened += _opened(f"{directory}/{name}")
            yield opened
        finally:
            for descriptor, _ in opened:
                os.close(descriptor)


def _names(directory: Path) -> list[str]:
    try:
        handle = os.open(directory, READ | os.O_DIRECTORY)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return []
        raise
    try:
        names = os.listdir(handle)  # noqa: PTH208  through the descriptor: it is no link
    finally:
        os.close(handle)
    found = [match for name in names if (match := SEGMENT.fullmatch(name))]
    return [match[0] for match in sorted(found, key=lambda match: int(match[1]))]


def _opened(path: str) -> list[tuple[int, int]]:
    """Nothing for what is a link, or gone meanwhile."""
    try:
        descriptor = os.open(path, READ)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP):
            return []
        raise
    return [(descriptor, os.fstat(descriptor).st_size)]


def _line_starts(
    descriptor: int, size: int, lines: int, *, skip_last: bool
) -> tuple[int | None, int]:
    """Where the last so many lines of a file begin, or None and how many are still to be found.

    Counts line ends from behind; the very last byte of the stream ends a line and begins none.
    """
    end = size - 1 if skip_last else size
    while end > 0:
        begin = max(0, end - BLOCK_BYTES)
        block = os.pread(descriptor, end - begin, begin)
        count = block.count(b"\n")
        if count < lines:
            lines -= count
            end = begin
            continue
        at = len(block)
        for _ in range(lines):
            at = block.rindex(b"\n", 0, at)
        return begin + at + 1, 0
    return None, lines
