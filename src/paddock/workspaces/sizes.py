"""How large a repository is: its working tree, all of it, and what Git LFS keeps apart.

The tree is what git's index and git's ignore rules say, one look at each file. `.git` is what git
itself counts: nothing walks the disk twice.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from paddock.core.units import KIB

from .errors import WorkspaceError
from .git import Git
from .looking import find_top
from .worktrees import checked_common

_POINTER: Final = b"version https://git-lfs.github.com/spec/v1\n"
_POINTER_BYTES: Final = 1024  # a larger file is no pointer
_POINTER_SIZE: Final = re.compile(rb"^size ([0-9]{1,18})$", re.MULTILINE)
_SUBMODULE: Final = b"160000"
_DEEPEST: Final = 10


@dataclass(frozen=True, slots=True)
class Size:
    """`tree_bytes` without `.git`, ignored files and LFS; `lfs_bytes` is what LFS files hold."""

    tree_bytes: int = 0
    git_bytes: int = 0
    files: int = 0
    lfs_files: int = 0
    lfs_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        return self.tree_bytes + self.git_bytes + self.lfs_bytes

    def __add__(self, other: Size) -> Size:
        return Size(
            self.tree_bytes + other.tree_bytes,
            self.git_bytes + other.git_bytes,
            self.files + other.files,
            self.lfs_files + other.lfs_files,
            self.lfs_bytes + other.lfs_bytes,
        )


def measure(repository: Path) -> Size:
    """Of the checkout at this path, with what its submodules hold; of a bare one only `.git`."""
    top = find_top(repository)
    if top is None:
        raise WorkspaceError(f"{repository} is in no git repository")
    checked_common(top)
    return _measure(top, depth=0)


def of_stored(git: Git, commit: str, *, all_there: bool) -> Size:
    """Of a clone before its files are written. Unless all is there, git would fetch each file to
    say how large it is: then only what was fetched counts."""
    stored = Size(git_bytes=_git_bytes(git))
    if not all_there:
        return stored
    tree = files = 0
    for entry in git.out("ls-tree", "-r", "-l", "-z", commit).split(b"\0"):
        size = entry.partition(b"\t")[0].split(b" ")[-1]
        if size.isdigit():  # a submodule has none
            tree, files = tree + int(size), files + 1
    return stored + Size(tree, 0, files)


def _measure(repository: Path, *, depth: int) -> Size:
    git = Git(directory=repository).bounded()
    stored = Size(git_bytes=_git_bytes(git))
    if git.line("rev-parse", "--is-bare-repository") == "true":
        return stored
    top = Path(git.line("rev-parse", "--show-toplevel"))
    git = Git(directory=top).bounded()
    files, submodules = _listed(git)
    total = stored + _tree(os.fsencode(top), files, lfs=_lfs_files(git))
    for name in submodules if depth < _DEEPEST else ():
        below = top / os.fsdecode(name)
        if (below / ".git").exists() and not below.is_symlink():
            total += _measure(below, depth=depth + 1)
    return total


def _listed(git: Git) -> tuple[set[bytes], set[bytes]]:
    """Files, tracked or not but never ignored, and submodules."""
    files: set[bytes] = set()
    submodules: set[bytes] = set()
    for entry in git.out("ls-files", "-z", "--stage").split(b"\0"):
        facts, _, name = entry.partition(b"\t")
        if name:
            (submodules if facts.startswith(_SUBMODULE) else files).add(name)
    others = git.out("ls-files", "-z", "--others", "--exclude-standard").split(b"\0")
    return files | {name for name in others if name}, submodules


def _lfs_files(git: Git) -> set[bytes]:
    """As `.gitattributes` says; a tree of 100,000 files is not opened to find out."""
    ended = git.ask("ls-files", "-z", "--", ":(attr:filter=lfs)")
    return {name for name in ended.out.split(b"\0") if name} if ended.code == 0 else set()


def _tree(top: bytes, files: set[bytes], *, lfs: set[bytes]) -> Size:
    tree = count = apart = apart_bytes = 0
    for name in files:
        path = top + b"/" + name
        try:
            size = os.lstat(path).st_size
        except OSError:  # tracked, but deleted or behind a sparse checkout
            continue
        count += 1
        if name in lfs:
            apart += 1
            apart_bytes += _lfs_bytes(path, size)
        else:
            tree += size
    return Size(tree, 0, count, apart, apart_bytes)


def _lfs_bytes(path: bytes, size: int) -> int:
    """Of a pointer what it points to; of a file that was fetched its own size."""
    if size > _POINTER_BYTES:
        return size
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            text = os.read(descriptor, _POINTER_BYTES)
        finally:
            os.close(descriptor)
        match = _POINTER_SIZE.search(text) if text.startswith(_POINTER) else None
        if match:
            return int(match[1])
    return size


def _git_bytes(git: Git) -> int:
    lines = git.out("count-objects", "-v").decode("ascii", "replace").splitlines()
    counts = dict(line.split(": ", 1) for line in lines if ": " in line)
    return KIB * sum(int(counts.get(name, 0)) for name in ("size", "size-pack", "size-garbage"))
