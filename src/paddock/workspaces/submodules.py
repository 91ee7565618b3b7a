"""Submodules of a workspace: filled as the repository asks, and looked into before it goes.

Of a worktree git keeps their repositories for it alone: with the worktree they would be gone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from .git import Git
from .guards import guarded
from .size_rules import clone_timeout_s

_GITLINK: Final = b"160000"
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
    asking = git.with_settings({"submodule.active": "."}).lasting(clone_timeout_s(None))
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
    """Those with commits or stashes that no remote of theirs has. Files are seen by `status`."""
    found = []
    for name in _present(git, path) if depth < _DEEPEST else ():
        below = path / os.fsdecode(name)
        inner = guarded(Git(directory=below))
        began = _began_with(git, name, start)
        if _has_own_commits(inner, began):
            found.append(name.decode("utf-8", "replace"))
        deeper = with_work(inner, below, start=began or "HEAD", depth=depth + 1)
        found += [f"{name.decode('utf-8', 'replace')}/{one}" for one in deeper]
    return tuple(found)


def _present(git: Git, path: Path) -> Iterator[bytes]:
    for entry in git.out("ls-files", "-z", "--stage").split(b"\0"):
        facts, _, name = entry.partition(b"\t")
        if facts.startswith(_GITLINK) and (path / os.fsdecode(name) / ".git").exists():
            yield name


def _began_with(git: Git, name: bytes, start: str) -> str | None:
    """The commit that the run found there."""
    ended = git.ask("rev-parse", "--verify", "--quiet", b"%s:%s" % (start.encode(), name))
    return ended.out.decode("ascii").strip() if ended.code == 0 else None


def _has_own_commits(git: Git, began: str | None) -> bool:
    ours = ("HEAD", "--exclude=refs/tags/*", "--all", "--reflog")
    known = [began] if began and git.ask("cat-file", "-e", began).code == 0 else []
    return bool(git.out("rev-list", "--max-count=1", *ours, "--not", "--remotes", *known))
