"""What a run changed: its commits, and one diff of commits and uncommitted files together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .commits import Commit, made_since
from .git import Git, failure
from .processes import How
from .records import Record
from .saving import beside_index, take_all
from .worktrees import git_of, has_branch

MOST_DIFF_BYTES: Final = 64 << 20
# Plumbing follows no taste of the user's; no program that settings or attributes name is run.
_PATCH: Final = ("--patch", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-color")


@dataclass(frozen=True, slots=True)
class Diff:
    """`cut`: it went on, and only the beginning is here."""

    text: bytes
    cut: bool = False


def commits_of(record: Record, path: Path) -> tuple[Commit, ...]:
    """The newest first."""
    return made_since(git_of(record, path), start=record.start, tips=("HEAD", *_own(record, path)))


def _own(record: Record, path: Path) -> tuple[str, ...]:
    return (record.branch,) if has_branch(git_of(record, path), record.branch) else ()


def diff_of(record: Record, path: Path, *, most_bytes: int = MOST_DIFF_BYTES) -> Diff:
    """From the commit it began with to the files as they are now. Nothing of them is stored."""
    git = git_of(record, path)
    with beside_index(git, Path(record.git_dir), thorough=False) as beside:
        take_all(beside, only_names=True)
        beside.ask("update-index", "-q", "--refresh")  # says 1 where something differs
        return _patch(beside, "diff-index", record.start, most_bytes=most_bytes)


def commits_of_gone(record: Record) -> tuple[Commit, ...]:
    git = _of_gone(record)
    tips = (record.branch,) if has_branch(git, record.branch) else ()
    return made_since(git, start=record.start, tips=tips) if tips else ()


def diff_of_gone(record: Record, *, most_bytes: int = MOST_DIFF_BYTES) -> Diff:
    """Of one that was removed, when all it had was on its branch."""
    git = _of_gone(record)
    tip = f"refs/heads/{record.branch}"
    if not has_branch(git, record.branch):
        return Diff(b"")  # it committed nothing, so its branch was not kept
    return _patch(git, "diff-tree", "-r", record.start, tip, most_bytes=most_bytes)


def _of_gone(record: Record) -> Git:
    return Git(directory=Path(record.common), git_dir=Path(record.common))


def _patch(git: Git, command: str, *words: str, most_bytes: int) -> Diff:
    ended = git.ask(command, *_PATCH, *words, "--", most_bytes=most_bytes)
    if ended.how is How.CUT:
        return Diff(ended.out, cut=True)
    if ended.code != 0:
        raise failure((command,), ended)
    return Diff(ended.out)
