"""Which project a directory belongs to: a word in the group of a run without a repository.

The name of the git work tree around it, otherwise its own. Names only: where things lie on a disk
is nobody's business. No git is started: a look for `.git` upwards, in a thread, kept for a while.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path, PurePath
from posixpath import normpath
from typing import Final
from zlib import crc32

from paddock.workspaces.plain_files import read_plain

KEPT_S: Final = 60.0  # longer than a directory is trusted: who did not look finds what was seen
MOST_KEPT: Final = 1024
LONGEST: Final = 40
_ODD: Final = re.compile(r"[^\w.+@-]+")
# Of mktemp and of Python: every one is another, and with it nothing would ever be learned.
_THROWN_AWAY: Final = re.compile(r"tmp\.?[A-Za-z0-9_]{8,10}", re.ASCII)


class Projects:
    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._kept: dict[str, tuple[float, str]] = {}

    def look_at(self, directories: Iterable[str]) -> None:
        """In a thread: a directory may be on a disk that does not answer."""
        if len(self._kept) >= MOST_KEPT:
            old_at = self._now() - KEPT_S
            # Replaced, not emptied: the loop reads it meanwhile.
            self._kept = {one: kept for one, kept in self._kept.items() if kept[0] > old_at}
        for directory in directories:
            self._kept[directory] = (self._now(), project_of(directory))

    def name(self, directory: str) -> str:
        """Without a look at any file."""
        kept = self._kept.get(directory)
        return _own_name(directory) if kept is None else kept[1]


def project_of(directory: str) -> str:
    path = Path(normpath(directory))
    # Somebody's dotfiles are no project that all other directories belong to.
    home = Path(os.environ.get("HOME") or "/")
    for above in (path, *path.parents):
        if above != home and _is_there(above / ".git"):
            return as_word(_work_tree_name(above))
    return _own_name(directory)


def _own_name(directory: str) -> str:
    return as_word(PurePath(normpath(directory)).name)


def _is_there(path: Path) -> bool:
    try:
        path.lstat()
    except OSError:
        return False
    return True


def _work_tree_name(root: Path) -> str:
    """A linked work tree is one of many, and may be called anything: the main one's name."""
    try:
        # A directory above may be everybody's, and what is called .git there a pipe.
        pointer = read_plain(root / ".git").decode("utf-8", "replace")
    except (OSError, ValueError):  # mostly: it is a directory
        return root.name
    kept = PurePath(pointer.removeprefix("gitdir:").strip())
    if kept.parent.name != "worktrees":
        return root.name  # a submodule has its own
    repository = kept.parent.parent
    return repository.parent.name if repository.name == ".git" else repository.name


def as_word(name: str) -> str:
    """Bounded, and of letters that can be typed after `paddock breaker reset`."""
    word = _ODD.sub("-", name.removesuffix(".git"))
    if _THROWN_AWAY.fullmatch(word):
        return "tmp"
    if len(word) <= LONGEST:
        return word
    return f"{word[: LONGEST - 9]}-{crc32(name.encode(errors='replace')):08x}"
