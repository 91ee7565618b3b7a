"""Deleting whole trees: never through a link, never outside a directory of ours, however deep.

Every directory found is first moved up beside the one it was in. So no path gets long, no
recursion gets deep, and what was killed half-way is found again where it was put.
"""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from .errands import current
from .errors import UnsafePlace

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LOOK: Final = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def check_inside(top: Path, path: Path) -> None:
    """Its real parent must be where we think, and it must be a directory itself, not a link."""
    real_top = top.resolve(strict=True)
    parent = path.parent.resolve()
    if not (parent == real_top or parent.is_relative_to(real_top)) or path.name in ("", ".", ".."):
        raise UnsafePlace(f"{path} is not inside {top}: not touched")
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        raise UnsafePlace(f"{path} is not there") from None
    if not stat.S_ISDIR(mode):
        raise UnsafePlace(f"{path} is not a directory: not touched")


def delete_tree(top: Path, path: Path) -> list[str]:
    """What could not be deleted, each with the reason; an empty list is the usual answer."""
    check_inside(top, path)
    heap = path.parent / f".deleting-{uuid.uuid4().hex}"
    heap.mkdir(mode=0o700)
    wrong: list[str] = []
    place = os.open(heap, _DIRECTORY)
    try:
        parent = os.open(path.parent, _DIRECTORY)
        try:
            _move(path.name, "0", parent, place)
        finally:
            os.close(parent)
        _empty(place, wrong)
    except OSError as error:
        wrong.append(f"{path}: {error.strerror}")
    finally:
        os.close(place)
    with suppress(OSError):
        heap.rmdir()
    return wrong


def sweep(top: Path, directory: Path) -> list[str]:
    """What an earlier deletion was killed in the middle of."""
    left = [
        path for path in directory.glob(".deleting-*") if path.is_dir() and not path.is_symlink()
    ]
    return [reason for path in left for reason in delete_tree(top, path)]


def _empty(place: int, wrong: list[str]) -> None:
    """The heap: directories with numbers for names; each gives up its own to the heap."""
    todo, number = ["0"], 1
    while todo:
        current().check()  # what is left of the heap is swept by the next
        name = todo.pop()
        for found in _emptied(place, name, wrong):
            fresh = str(number)
            number += 1
            try:
                _move(found, fresh, place, place, below=name)
                todo.append(fresh)
            except OSError as error:
                wrong.append(f"{found}: {error.strerror}")
        try:
            os.rmdir(name, dir_fd=place)
        except OSError as error:
            wrong.append(f"{name}: {error.strerror}")


def _emptied(place: int, name: str, wrong: list[str]) -> Iterator[str]:
    """Deletes the files of one directory; the directories in it are for the caller."""
    try:
        directory = _opened(place, name)
    except OSError as error:
        wrong.append(f"{name}: {error.strerror}")
        return
    try:
        with os.scandir(directory) as entries:
            listed = list(entries)
        for entry in listed:
            if entry.is_dir(follow_symlinks=False):
                yield entry.name
                continue
            try:
                os.unlink(entry.name, dir_fd=directory)
            except OSError as error:
                wrong.append(f"{entry.name}: {error.strerror}")
    finally:
        os.close(directory)


def _opened(place: int, name: str) -> int:
    """Open for reading and writing in it; a directory may be closed even to its owner."""
    directory = -1
    with suppress(PermissionError):
        directory = os.open(name, _DIRECTORY, dir_fd=place)
        if os.access(".", os.W_OK | os.X_OK, dir_fd=directory):
            return directory
    if directory >= 0:
        os.close(directory)
    _open_up(place, name)
    return os.open(name, _DIRECTORY, dir_fd=place)


def _open_up(place: int, name: str) -> None:
    """By a descriptor that follows no link, because chmod would."""
    handle = os.open(name, _LOOK, dir_fd=place)
    try:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            os.chmod(f"/proc/self/fd/{handle}", 0o700)  # noqa: PTH101
    finally:
        os.close(handle)


def _move(name: str, fresh: str, source: int, target: int, *, below: str | None = None) -> None:
    """To move a directory one must be able to write in it, because of its `..`."""
    where = source if below is None else os.open(below, _DIRECTORY, dir_fd=source)
    try:
        try:
            os.rename(name, fresh, src_dir_fd=where, dst_dir_fd=target)
        except PermissionError:
            _open_up(where, name)
            os.rename(name, fresh, src_dir_fd=where, dst_dir_fd=target)
    finally:
        if below is not None:
            os.close(where)
