"""What a workspace and its branch hold, in numbers for people. Quick; decides nothing."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .beside import status
from .clones import REMOTE
from .errors import BrokenOff, WorkspaceError
from .git import Git
from .looking import check_files, check_references
from .records import Record, State
from .saving import index_mark
from .worktrees import git_of, has_branch

LOOK_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Holding:
    """None: nobody knows. `unmerged` of its commits are not in `base`, the branch it began on."""

    commits: int | None = None
    unmerged: int | None = None
    base: str = ""
    uncommitted: int | None = None


def held_by(record: Record, path: Path | None) -> Holding:
    """`path`: None where the directory is gone."""
    try:
        check_references(record)
        commits, unmerged, base = _committed(record)
    except BrokenOff:
        raise
    except (WorkspaceError, OSError, ValueError):
        return Holding()
    return Holding(commits, unmerged, base, 0 if path is None else _uncommitted(record, path))


def branch_git(record: Record) -> Git:
    common = Path(record.common)
    return Git(directory=common, git_dir=common, timeout_s=LOOK_S).bounded()


def tip_of(record: Record) -> str | None:
    """Of its branch; None where it has none any more."""
    git = branch_git(record)
    if not record.branch or not has_branch(git, record.branch):
        return None
    return git.line("rev-parse", "--verify", f"refs/heads/{record.branch}^{{commit}}")


def base_of(record: Record) -> tuple[str, str] | None:
    """Its name and its commit now; None for what is no branch, or is gone."""
    git, ours = branch_git(record), Path(record.common).name == ".clone"
    prefix = f"refs/remotes/{REMOTE}/" if ours else "refs/heads/"
    ref = f"{prefix}{record.base or 'HEAD'}" if ours or record.base else "HEAD"
    ended = git.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if ended.code != 0:
        return None
    return record.base or _name_of(git, ref), ended.out.decode("ascii").strip()


def _name_of(git: Git, ref: str) -> str:
    """Of what is checked out."""
    ended = git.ask("symbolic-ref", "--quiet", "--short", ref)
    return ended.out.decode("utf-8", "replace").strip().removeprefix(f"{REMOTE}/") or "HEAD"


def _committed(record: Record) -> tuple[int, int | None, str]:
    tip, base = tip_of(record), base_of(record)
    name = "" if base is None else base[0]
    if tip is None or tip == record.start:
        return 0, 0, name
    git = branch_git(record)
    commits = int(git.line("rev-list", "--count", tip, "--not", record.start, "--"))
    if base is None:
        return commits, None, ""
    return commits, int(git.line("rev-list", "--count", tip, "--not", base[1], "--")), name


def _uncommitted(record: Record, path: Path) -> int | None:
    """As git says by sizes and times; before something is removed, every file is read."""
    if record.state not in (State.TAKEN, State.IDLE):
        return None
    saved = record.saved
    if saved is not None and saved.index == index_mark(Path(record.git_dir)):
        return None  # it was committed beside the index, which knows nothing of that
    with suppress(WorkspaceError, OSError, ValueError):
        check_files(path)
        changed, untracked = status(git_of(record, path).bounded().lasting(LOOK_S))
        return len(changed) + len(untracked)
    return None
