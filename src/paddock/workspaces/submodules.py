"""Submodules of a workspace: filled as the repository asks, and looked into before it goes.

Of a worktree git keeps their repositories for it alone: with the worktree they would be gone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .beside import beside_index, gitlinks, shown, status
from .errors import UnsafePlace
from .git import Git
from .guards import guarded
from .looking import git_dir_of
from .size_rules import clone_timeout_s

_DEEPEST: Final = 10


def fill(git: Git, path: Path) -> list[str]:
    """Those that `.gitmodules` does not want left alone. Writes nothing into shared settings."""
    if not (path / ".gitmodules").is_file():
        return []
    left_alone = {name for name, how in _settings(git, path, "update") if how == "none"}
    paths = [where for name, where in _settings(git, path, "path") if name not in left_alone]
    if not paths:
        return []
    # `submodule init` would write the user's settings; so they count as asked for, only here.
    # --checkout, because a setting could name a command instead.
    asking = git.with_settings({"submodule.active": "."}).lasting(clone_timeout_s(None)).going_out()
    asking.out(
        *("--literal-pathspecs", "submodule", "--quiet", "update", "--checkout", "--recursive"),
        *("--", *paths),
    )
    return paths


def _settings(git: Git, path: Path, what: str) -> Iterator[tuple[str, str]]:
    """(name, value) for each submodule that says something of this."""
    words = ("config", "--null", "--file", path / ".gitmodules", "--get-regexp")
    ended = git.ask(*words, rf"^submodule\..*\.{what}$")
    for entry in ended.out.split(b"\0"):
        key, _, value = entry.partition(b"\n")
        if value:
            name = key.removeprefix(b"submodule.").removesuffix(f".{what}".encode())
            yield os.fsdecode(name), os.fsdecode(value)


def with_work(git: Git, path: Path, *, start: str, depth: int = 0) -> tuple[str, ...]:
    """Those with commits or stashes that no remote of theirs has."""
    found = []
    for one in _inside(git, path) if depth < _DEEPEST else ():
        began = _began_with(git, one.name, start)
        if _has_own_commits(one.git, began):
            found.append(one.shown)
        deeper = with_work(one.git, one.path, start=began or "HEAD", depth=depth + 1)
        found += [f"{one.shown}/{name}" for name in deeper]
    return tuple(found)


def changed_in(
    git: Git, path: Path, *, place: Path | None = None, depth: int = 0
) -> tuple[str, ...]:
    """Those with files that are not committed there: only a commit of their own could hold them."""
    found = []
    place = path.parent if place is None else place
    for one in _inside(git, path) if depth < _DEEPEST else ():
        with beside_index(one.git, place=place) as beside:
            changed, untracked = status(beside)
        deeper = changed_in(one.git, one.path, place=place, depth=depth + 1)
        if changed or untracked or deeper:
            found.append(one.shown)
    return tuple(found)


def take_commits(beside: Git, path: Path) -> None:
    """Where they stand, into this index: what `git add` would do, which also looks into them."""
    for one in _inside(beside, path):
        head = one.git.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        if head.code == 0:
            entry = b"160000 %s\t%s" % (head.out.strip(), one.name)
            beside.out("update-index", "-z", "--index-info", given=entry + b"\0")


@dataclass(frozen=True, slots=True)
class _Inner:
    """A submodule that is there, and git in it: with settings that were looked at."""

    name: bytes
    path: Path
    git: Git

    @property
    def shown(self) -> str:
        return shown(self.name)


def _inside(git: Git, path: Path) -> Iterator[_Inner]:
    assert git.git_dir is not None
    for name in gitlinks(git):
        below = path / os.fsdecode(name)
        if not os.path.lexists(below / ".git"):
            continue
        if below.resolve() != path.resolve() / os.fsdecode(name):
            raise UnsafePlace(f"{below} is reached by a link")
        git_dir = git_dir_of(below, inside=(git.git_dir / "modules", below))
        inner = Git(directory=below, git_dir=git_dir, work_tree=below)
        yield _Inner(name, below, guarded(inner).bounded())


def _began_with(git: Git, name: bytes, start: str) -> str | None:
    """The commit that the run found there."""
    ended = git.ask("rev-parse", "--verify", "--quiet", b"%s:%s" % (start.encode(), name))
    return ended.out.decode("ascii").strip() if ended.code == 0 else None


def _has_own_commits(git: Git, began: str | None) -> bool:
    ours = ("HEAD", "--exclude=refs/tags/*", "--all", "--reflog")
    known = [began] if began and git.ask("cat-file", "-e", began).code == 0 else []
    return bool(git.out("rev-list", "--max-count=1", *ours, "--not", "--remotes", *known))
