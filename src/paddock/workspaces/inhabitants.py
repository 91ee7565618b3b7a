"""Which processes live in a directory: they stand in it, have a file of it open, or run one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PROC: Final = "/proc"
_LONGEST_NAME: Final = 40


@dataclass(frozen=True, slots=True)
class Inhabitant:
    pid: int
    name: str

    def __str__(self) -> str:
        return f"pid {self.pid} ({self.name})"


def inhabitants_of(directory: Path) -> list[Inhabitant]:
    """Of processes that are not ours to look into nothing is known, and they are not listed."""
    top = os.fspath(directory)
    try:
        found = directory.stat()
        identity = (found.st_dev, found.st_ino)
    except OSError:
        return []
    return [
        Inhabitant(pid, _name(pid))
        for pid in _pids()
        if any(_is_below(path, top) for path in _paths(pid)) or _stands_inside(pid, identity)
    ]


def holders_of(file: Path) -> list[Inhabitant]:
    wanted = os.fspath(file)
    return [Inhabitant(pid, _name(pid)) for pid in _pids() if wanted in _open_files(pid)]


def gits_at(path: Path) -> list[Inhabitant]:
    """Those that make a worktree there, or write its files: it may not be there yet."""
    wanted, top = os.fsencode(path), os.fspath(path)
    found = []
    for pid in _pids():
        words = _command(pid)
        is_git = bool(words) and os.path.basename(words[0]) == b"git"  # noqa: PTH119 - likewise
        if is_git and (wanted in words or _is_below(_cwd(pid), top)):
            found.append(Inhabitant(pid, _name(pid)))
    return found


def _command(pid: int) -> list[bytes]:
    try:
        with open(f"{_PROC}/{pid}/cmdline", "rb") as file:  # noqa: PTH123 - likewise
            return file.read().split(b"\0")
    except OSError:
        return []


def _cwd(pid: int) -> str:
    try:
        return os.readlink(f"{_PROC}/{pid}/cwd")  # noqa: PTH115 - likewise
    except OSError:
        return ""


def _pids() -> Iterator[int]:
    try:
        names = os.listdir(_PROC)  # noqa: PTH208 - a thousand times in a row
    except FileNotFoundError:  # macOS
        return
    yield from (int(name) for name in names if name.isdigit())


def _paths(pid: int) -> Iterator[str]:
    for link in ("cwd", "exe", "root"):
        with suppress(OSError):
            yield os.readlink(f"{_PROC}/{pid}/{link}")  # noqa: PTH115
    # What we have open ourselves is no work of an agent's.
    if pid != os.getpid():
        yield from _open_files(pid)


def _open_files(pid: int) -> list[str]:
    found: list[str] = []
    try:
        names = os.listdir(f"{_PROC}/{pid}/fd")  # noqa: PTH208
    except OSError:
        return found
    for name in names:
        with suppress(OSError):
            found.append(os.readlink(f"{_PROC}/{pid}/fd/{name}"))  # noqa: PTH115
    return found


def _is_below(path: str, top: str) -> bool:
    return path == top or path.startswith(f"{top}/")


def _stands_inside(pid: int, identity: tuple[int, int]) -> bool:
    """In a container a directory has another path: there its identity is looked for, upwards."""
    try:
        if os.readlink(f"{_PROC}/{pid}/ns/mnt") == os.readlink(f"{_PROC}/self/ns/mnt"):  # noqa: PTH115
            return False
        place = os.open(f"{_PROC}/{pid}/cwd", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return identity in _upwards(place)
    finally:
        os.close(place)


def _upwards(place: int) -> Iterator[tuple[int, int]]:
    step, last = os.dup(place), None
    try:
        while True:
            found = os.fstat(step)
            here = (found.st_dev, found.st_ino)
            if here == last:
                return
            yield here
            last = here
            above = os.open("..", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=step)
            os.close(step)
            step = above
    except OSError:
        return
    finally:
        os.close(step)


def _name(pid: int) -> str:
    try:
        with open(f"{_PROC}/{pid}/cmdline", "rb") as file:  # noqa: PTH123
            words = file.read(4096).split(b"\0")
    except OSError:
        return "?"
    # Only the program: arguments may hold anything.
    text = os.path.basename(words[0]).decode("utf-8", "replace")  # noqa: PTH119
    return "".join(sign for sign in text if sign.isprintable())[:_LONGEST_NAME] or "?"
