"""Whether a run has said that it is ready: in a commit's message, or by a file of that name.

The kernel tells when a look is worth while; a look every few seconds comes on top, because some
file systems tell nothing.
"""

from __future__ import annotations

import os
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from .errors import WorkspaceError
from .git import Git
from .inotify import Ears
from .looking import check_references
from .records import Record
from .worktrees import has_branch

_FIRST_S, _SECOND_S = 30.0, 150.0
_LONGEST_MARKER: Final = 500
_LOOK_S: Final = 30.0  # others wait for their turn


@dataclass(frozen=True, slots=True)
class Sighting:
    """Exactly one of both."""

    commit: str | None = None
    file: str | None = None

    def __str__(self) -> str:
        return f"commit {self.commit[:12]}" if self.commit else f"file {self.file}"


def next_look_s(watched_s: float) -> float:
    """Every 2 s for 30 s, every 5 s for 2 min, then every 10 s."""
    if watched_s < _FIRST_S:
        return 2.0
    return 5.0 if watched_s < _SECOND_S else 10.0


def check_marker(text: str) -> None:
    if not text.strip() or "\n" in text or "\0" in text or len(text) > _LONGEST_MARKER:
        raise WorkspaceError(
            f"a ready marker is one line of at most {_LONGEST_MARKER} letters, not {text[:40]!r}"
        )


class Marker:
    """One run's marker. `look` asks; nothing is remembered between two looks."""

    def __init__(self, record: Record, path: Path, text: str) -> None:
        check_marker(text)
        self._record, self._path, self._text = record, path, text
        # Only messages are read, no file: no filter of the repository's can run.
        self._git = Git(directory=Path(record.git_dir), git_dir=Path(record.git_dir))
        self._git = self._git.lasting(_LOOK_S).bounded()

    def look(self, *, since: str | None = None) -> Sighting | None:
        """In commits after `since`, or after the one it began with."""
        check_references(self._record)
        if self._has_file():
            return Sighting(file=self._text)
        commit = self._commit(since or self._record.start)
        return Sighting(commit=commit) if commit else None

    def listen(self, ears: Ears, who: Hashable) -> bool:
        """Whether the kernel will tell of all that may matter."""
        git_dir, common = Path(self._record.git_dir), Path(self._record.common)
        branch = common / "refs/heads" / self._record.branch
        heard = [
            ears.watch(who, git_dir / "logs", name="HEAD"),
            ears.watch(who, git_dir, name="HEAD"),
            ears.watch(who, branch.parent, name=branch.name),
            ears.watch(who, common, name="packed-refs"),
            ears.watch(who, self._path, name=PurePosixPath(self._text).parts[0]),
        ]
        for tables in (common / "reftable", git_dir / "reftable"):
            if tables.is_dir():
                ears.watch(who, tables)
        return all(heard) and "/" not in self._text

    def _commit(self, since: str) -> str | None:
        own = has_branch(self._git, self._record.branch)
        tips = ("HEAD", f"refs/heads/{self._record.branch}") if own else ("HEAD",)
        words = ("rev-list", "--max-count=1", "--fixed-strings", f"--grep={self._text}")
        return self._git.line(*words, *tips, "--not", since, "--") or None

    def _has_file(self) -> bool:
        """Made by the run: a file that was there at the start says nothing."""
        name = PurePosixPath(self._text)
        if name.is_absolute() or ".." in name.parts or name.parts[:1] == (".git",):
            return False
        if not name.parts or not os.path.lexists(self._path / name):
            return False
        return self._git.ask("cat-file", "-e", f"{self._record.start}:{name}").code != 0
