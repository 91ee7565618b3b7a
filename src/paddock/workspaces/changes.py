"""What a run changed: its commits, and one diff of commits and uncommitted files together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from .beside import beside_index, take_all
from .commits import Commit, made_since
from .git import Git, failure
from .processes import How
from .records import Record
from .worktrees import has_branch, look_at, look_into

MOST_DIFF_BYTES: Final = 64 << 20
LAST_S: Final = 5.0
# Plumbing follows no taste of the user's; no program that settings or attributes name is run.
# Nor a git in a submodule, whose settings are its own.
_PATCH: Final = (
    *("--patch", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-color"),
    "--ignore-submodules=dirty",
)


@dataclass(frozen=True, slots=True)
class Diff:
    """`cut`: it went on, and only the beginning is here."""

    text: bytes
    cut: bool = False


def commits_of(record: Record) -> tuple[Commit, ...]:
    """The newest first."""
    git = look_at(record)
    own = (record.branch,) if has_branch(git, record.branch) else ()
    return made_since(git, start=record.start, tips=("HEAD", *own))


def diff_of(record: Record, path: Path, *, most_bytes: int = MOST_DIFF_BYTES) -> Diff:
    """From the commit it began with to the files as they are now. Nothing of them is stored."""
    git = look_into(record, path)
    with beside_index(git, thorough=False) as beside:
        take_all(beside, only_names=True)
        beside.ask("update-index", "-q", "--refresh")  # says 1 where something differs
        return _patch(beside, "diff-index", record.start, most_bytes=most_bytes)


def last_commit(git: Git) -> str:
    """For people, in a line."""
    words = ("log", "-1", "--format=%h %s (%cr)", "--no-show-signature", "HEAD", "--")
    return git.lasting(LAST_S).line(*words)[:200]


def commits_of_gone(record: Record) -> tuple[Commit, ...]:
    git = _of_gone(record)
    tips = (record.branch,) if has_branch(git, record.branch) else ()
    return made_since(git, start=record.start, tips=tips) if tips else ()


def branch_of_gone(record: Record) -> str | None:
    return record.branch if has_branch(_of_gone(record), record.branch) else None


def diff_of_gone(record: Record, *, most_bytes: int = MOST_DIFF_BYTES) -> Diff:
    """Of one that was removed, when all it had was on its branch."""
    git = _of_gone(record)
    tip = f"refs/heads/{record.branch}"
    if not has_branch(git, record.branch):
        return Diff(b"")  # it committed nothing, so its branch was not kept
    return _patch(git, "diff-tree", "-r", record.start, tip, most_bytes=most_bytes)


def _of_gone(record: Record) -> Git:
    return look_at(replace(record, git_dir=""))


def _patch(git: Git, command: str, *words: str, most_bytes: int) -> Diff:
    ended = git.ask(command, *_PATCH, *words, "--", most_bytes=most_bytes)
    if ended.how is How.CUT:
        return Diff(ended.out, cut=True)
    if ended.code != 0:
        raise failure((command,), ended)
    return Diff(ended.out)
