"""What a workspace holds that exists nowhere else, asked of git and of /proc. Decides nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from .beside import beside_index, shown, status, take_all
from .commits import left_behind, nowhere_else, stashes
from .errors import BrokenOff, WorkspaceError
from .git import Git
from .inhabitants import inhabitants_of
from .keeping import Facts
from .plain_files import read_plain
from .records import Record
from .saving import index_mark
from .submodules import changed_in, take_commits, with_work
from .worktrees import admin_of, look_at, look_into

# What git leaves in a worktree's own directory while something is half done.
_OPERATIONS: Final = (
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase or am"),
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("sequencer", "a cherry-pick or revert"),
    ("BISECT_LOG", "a bisect"),
)
_LONGEST_REASON: Final = 200


def gather(record: Record, path: Path) -> Facts:
    """Whatever cannot be found out is said in `unknown`, and then the workspace stays."""
    strange = _strange(record, path)
    if strange:
        return Facts(unknown=strange)
    plain = Facts(
        operation=_operation(Path(record.git_dir)),
        locked=_lock(Path(record.git_dir)),
        processes=tuple(map(str, inhabitants_of(path))),
    )
    try:
        return _asked_of_git(record, path, plain)
    except BrokenOff:
        raise
    except (WorkspaceError, OSError, ValueError) as error:
        return replace(plain, unknown=str(error) or type(error).__name__)


def gather_of_gone(record: Record) -> Facts:
    """The directory is not there any more; only commits can be lost with what git keeps."""
    git_dir = Path(record.git_dir)
    if not git_dir.is_dir():
        return Facts()
    try:
        tips = left_behind(look_at(record))
        return Facts(locked=_lock(git_dir), left_behind=tips)
    except BrokenOff:
        raise
    except (WorkspaceError, OSError, ValueError) as error:
        return Facts(unknown=str(error))


def _asked_of_git(record: Record, path: Path, facts: Facts) -> Facts:
    git = look_into(record, path)
    changed, untracked = _changes(record, git)
    changed += changed_in(git, path)
    return replace(
        facts,
        uncommitted=changed,
        untracked=untracked,
        hidden=tuple(_hidden(git, path)),
        submodules=with_work(git, path, start=record.start),
        worktrees=tuple(_worktrees_with_work(record, path)),
        nowhere_else=nowhere_else(git),
        stashes=stashes(git, branch=record.branch),
        left_behind=left_behind(git),
    )


def _worktrees_with_work(record: Record, path: Path) -> Iterator[str]:
    """Those that the agent made inside, perhaps in a directory that is ignored: what is committed
    on branches stays, and all else would go with the directory."""
    for admin, place in _worktrees(Path(record.common)):
        if place == path or not place.is_relative_to(path) or not os.path.lexists(place / ".git"):
            continue
        git = look_into(replace(record, git_dir=str(admin), saved=None), place)
        found = (*status(git), tuple(_hidden(git, place)), _operation(admin), nowhere_else(git))
        if not any(found):
            with beside_index(git, place=path.parent) as beside:
                found = (*status(beside), (), "", 0)
        if any(found):
            yield shown(os.fsencode(place.relative_to(path)))


def _worktrees(common: Path) -> Iterator[tuple[Path, Path]]:
    """What git keeps for each, and where it is, or was."""
    for file in sorted((common / "worktrees").glob("*/gitdir")):
        with suppress(FileNotFoundError):  # gone meanwhile
            said = os.fsdecode(read_plain(file).removesuffix(b"\n"))
            yield file.parent, Path(os.path.normpath(file.parent / said)).parent


def _strange(record: Record, path: Path) -> str:
    """Why this is not the directory that was made."""
    if path.is_symlink():
        return "it has become a symbolic link"
    if not path.is_dir():
        return "it is no directory"
    try:
        admin = admin_of(path)
    except (OSError, ValueError) as error:
        return f"its .git cannot be read ({error})"
    if admin != Path(record.git_dir):
        return f"its .git points to {admin}, and paddock made it for {record.git_dir}"
    if not (admin / "HEAD").exists():
        return "the repository does not know it any more"
    return ""


def _operation(git_dir: Path) -> str:
    return next((what for name, what in _OPERATIONS if (git_dir / name).exists()), "")


def _lock(git_dir: Path) -> str:
    try:
        said = read_plain(git_dir / "locked").decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        return str(error)
    return " ".join(said.split())[:_LONGEST_REASON] or "no reason was given"


def _changes(record: Record, git: Git) -> tuple[tuple[str, ...], tuple[str, ...]]:
    changed, untracked = status(git)
    if not (changed or untracked):
        with beside_index(git) as beside:
            return status(beside)
    saved = record.saved
    if saved is None:
        return changed, untracked
    # Everything was committed beside the index: what counts is whether it changed since then.
    if saved.index != index_mark(Path(record.git_dir)) or not _is_kept(git, saved.commit):
        return changed, untracked
    with beside_index(git) as beside:
        left_out = take_all(beside)
        take_commits(beside, git.directory)
        words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames")
        names = beside.out(*words, saved.commit, beside.line("write-tree")).split(b"\0")
        return tuple(shown(name) for name in names if name), left_out


def _is_kept(git: Git, commit: str) -> bool:
    """Whether some branch still has it."""
    return bool(git.out("for-each-ref", "--count=1", "--contains", commit, "refs/heads"))


def _hidden(git: Git, path: Path) -> Iterator[str]:
    """Files that are there, though git was told to assume they are as they were."""
    top = os.fsencode(path) + b"/"
    for entry in git.out("ls-files", "-z", "-v").split(b"\0"):
        tag, _, name = entry.partition(b" ")
        if name and (tag.islower() or tag == b"S") and os.path.lexists(top + name):
            yield shown(name)
