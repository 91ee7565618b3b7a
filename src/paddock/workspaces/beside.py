"""Looking at files beside a worktree's own index: its index and its locks stay as they are."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from .errors import Busy, UnsafePlace
from .git import Git, failure
from .locks import hold
from .removal import delete_tree

# In a directory of ours, not in /tmp: a copy may be large, and there it could be memory.
PREFIX: Final = ".looking-"
_LOCK: Final = ".lock"
_LOCK_WAIT_S: Final = 60.0  # for who tidies just as it is made
_GITLINK: Final = b"160000"
LARGEST_FILE_BYTES: Final = 2 << 30  # of one that git does not know: a larger one is not stored


@contextmanager
def beside_index(git: Git, *, thorough: bool = True, place: Path | None = None) -> Iterator[Git]:
    """git with a copy of the index, or with one made from HEAD where it is damaged or missing.

    Thorough: every file is read, and none believed to be unchanged by its size and times.
    """
    assert git.git_dir is not None
    index = git.git_dir / "index"
    where = git.directory.parent if place is None else place
    with _own_place(where) as directory:
        copy = directory / "index"
        beside = git.with_index(copy)
        if _hides_nothing(git) and index.is_file():
            # With its time: git reads files that are not older than their index, because a change
            # in the same second that keeps the size does not show. So of an old one it reads all.
            shutil.copy2(index, copy)
            if thorough:
                os.utime(copy, (1, 1))
        else:
            beside.out("read-tree", "HEAD")
        yield beside


@contextmanager
def _own_place(where: Path) -> Iterator[Path]:
    """Locked before it is there and until it is gone: its age says nothing when a clock is set."""
    place = where / f"{PREFIX}{uuid.uuid4().hex}"
    lock = Path(f"{place}{_LOCK}")
    with hold(lock, who="a look", wait_s=_LOCK_WAIT_S):
        try:
            place.mkdir(mode=0o700)
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)
            lock.unlink(missing_ok=True)


def sweep_looks(top: Path, directory: Path) -> None:
    """What was left by those who were killed while they looked: nobody holds its lock."""
    for found in directory.glob(f"{PREFIX}*"):
        place = found.with_name(found.name.removesuffix(_LOCK))
        lock = Path(f"{place}{_LOCK}")
        # Not a directory, or a lock that is none: not ours, and no reason to stop here.
        with suppress(Busy, OSError, UnsafePlace), hold(lock, who="tidying", wait_s=0):
            if os.path.lexists(place):
                delete_tree(top, place)
            lock.unlink(missing_ok=True)


def _hides_nothing(git: Git) -> bool:
    """Entries that are assumed unchanged would be left out, so such an index is not copied."""
    ended = git.ask("ls-files", "-z", "-v")
    tags = {entry[:1] for entry in ended.out.split(b"\0") if entry}
    return ended.code == 0 and not any(tag.islower() for tag in tags)


def status(git: Git) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Changed or staged, and untracked. Into submodules nobody looks here: git would do that by
    itself, with settings that nobody has seen."""
    words = ("status", "--porcelain=v2", "-z", "--untracked-files=normal", "--no-renames")
    changed, untracked = [], []
    for entry in git.out(*words, "--ignore-submodules=dirty").split(b"\0"):
        kind, _, rest = entry.partition(b" ")
        if kind == b"?":
            untracked.append(shown(rest))
        elif kind in (b"1", b"u"):
            # `1 XY N... 100644 100644 100644 HASH HASH NAME`, and two more words for `u`
            changed.append(shown(rest.split(b" ", 9 if kind == b"u" else 7)[-1]))
    return tuple(changed), tuple(untracked)


def shown(name: bytes) -> str:
    text = name.decode("utf-8", "replace")
    return text if text.isprintable() else repr(text)


def take_all(beside: Git, *, only_names: bool = False) -> tuple[str, ...]:
    """Everything that is not ignored; what cannot be read or is too large is left out, and named.

    With `only_names` new files become known, and nothing is stored. Submodules stay as they are.
    """
    left = _not_to_be_taken(beside)
    # git would look into submodules by itself; see `status`.
    apart = (*left, *gitlinks(beside))
    excluded = [b":(top,exclude,literal)" + name for name in apart]
    how = ("--intent-to-add",) if only_names else ("--all", "--ignore-errors")
    words = ("add", *how, "--sparse", "--", ":/", *excluded)
    ended = beside.ask(*words)
    unread: list[str] = []
    if ended.code != 0:
        lines = failure(words, ended).told.splitlines()
        unread = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
        if not unread:
            raise failure(words, ended)
    return (*(name.decode("utf-8", "replace") for name in left), *unread)


def gitlinks(git: Git) -> list[bytes]:
    """The submodules that the index knows."""
    entries = git.out("ls-files", "-z", "--stage").split(b"\0")
    parted = [entry.partition(b"\t") for entry in entries]
    return [name for facts, _, name in parted if facts.startswith(_GITLINK)]


def _not_to_be_taken(beside: Git) -> list[bytes]:
    """Untracked repositories: git would store their commit's name, and nothing of what is in them.
    And files that would be larger in the repository than anything that people put there."""
    others = beside.out("ls-files", "-z", "--others", "--exclude-standard").split(b"\0")
    top = os.fsencode(beside.directory) + b"/"
    return [
        name.rstrip(b"/") for name in others if name.endswith(b"/") or _is_too_large(top + name)
    ]


def _is_too_large(path: bytes) -> bool:
    try:
        return os.lstat(path).st_size > LARGEST_FILE_BYTES
    except OSError:
        return False
