"""Clones that paddock keeps: of an address, or of a repository that is wanted shallow or sparse.

Bare, so that no branch is checked out there; what was fetched is under refs/remotes/origin.
"""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from .errands import in_peace
from .errors import GitFailed, WorkspaceError
from .git import Git, failure, patiently
from .guards import check_the_way
from .locks import hold
from .looking import check_common
from .progress import Tell, listener
from .records import Home
from .remotes import definite
from .removal import delete_tree
from .secrets import parted, without_secrets
from .size_rules import clone_timeout_s
from .strategy import Strategy
from .worktrees import Source

REMOTE: Final = "origin"
_STAMP: Final = "paddock-fetched"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to clone; `address` may hold a password, which is used and not kept."""

    address: str
    strategy: Strategy
    branch: str | None = None
    size_bytes: int | None = None
    tell: Tell | None = None


def address_of(path: Path) -> str:
    """Of a repository on this machine: by its plain path git would not make a shallow clone."""
    return f"file://{quote(os.fsencode(path.resolve()))}"


def ensure_clone(home: Home, wanted: Wanted, *, top: Path, asked_at: float) -> Source:
    """Made, or brought up to date unless somebody did that after `asked_at`."""
    timeout_s = clone_timeout_s(wanted.size_bytes)
    shown = without_secrets(wanted.address)
    with hold(home.lock, who=f"a clone of {shown}", wait_s=timeout_s):
        if not home.clone.is_dir():
            _make(home, wanted, top=top, timeout_s=timeout_s)
        elif not _is_fresh(home.clone, asked_at):
            clone = _Clone(home.clone, wanted, timeout_s)
            check_common(home.clone)
            check_the_way(clone.git)
            clone.fetch(first=False)
    return Source(home.clone, home.clone, REMOTE)


def _make(home: Home, wanted: Wanted, *, top: Path, timeout_s: float) -> None:
    for left in home.directory.glob(".cloning-*"):  # of one that was killed: we hold the lock
        delete_tree(top, left)
    fresh = home.directory / f".cloning-{uuid.uuid4().hex}"
    fresh.mkdir(mode=0o700)
    try:
        clone = _Clone(fresh, wanted, timeout_s)
        clone.init()
        clone.fetch(first=True)
        fresh.rename(home.clone)
    except BaseException:
        with in_peace():
            delete_tree(top, fresh)
        raise


def _is_fresh(clone: Path, asked_at: float) -> bool:
    return used_at(clone) >= asked_at


def used_at(clone: Path) -> float:
    """When it was last fetched into, which every run of it does."""
    try:
        return (clone / _STAMP).stat().st_mtime
    except FileNotFoundError:
        return 0.0


class _Clone:
    def __init__(self, directory: Path, wanted: Wanted, timeout_s: float) -> None:
        address = parted(wanted.address)
        self._url, self._wanted, self._directory = address.url, wanted, directory
        plain = Git(directory=directory, git_dir=directory, timeout_s=timeout_s)
        self.git = plain.with_settings(address.headers).going_out()

    def init(self) -> None:
        self.git.out("init", "--quiet", "--bare", "--", self._directory)
        settings = {
            f"remote.{REMOTE}.url": self._url,
            f"remote.{REMOTE}.fetch": f"+refs/heads/*:refs/remotes/{REMOTE}/*",
            "core.logAllRefUpdates": "true",  # a bare repository has no log of its own accord
        }
        for key, value in settings.items():
            self.git.out("config", key, value)

    def fetch(self, *, first: bool) -> None:
        """Of a shallow clone later fetches take all that came since, so that it stays one piece."""
        strategy, lines = self._wanted.strategy, self._asked()
        head, refs = _default_branch(lines[0]), {"refs/heads/*": f"refs/remotes/{REMOTE}/*"}
        words = ["fetch", "--progress", "--no-recurse-submodules", "--no-write-fetch-head"]
        if strategy.depth is not None:
            refs = self._single(head, lines)
            known = all(self._knows(here) for here in refs.values())
            words += ["--no-tags", *([] if known else [f"--depth={strategy.depth}"])]
        if strategy.blobless and first:
            words.append("--filter=blob:none")
        wanted = [f"+{there}:{here}" for there, here in refs.items()]
        self._run(*words, "--end-of-options", REMOTE, *wanted)
        if head:
            link = f"refs/remotes/{REMOTE}/HEAD"
            self.git.out("symbolic-ref", link, f"refs/remotes/{REMOTE}/{head}")
        (self._directory / _STAMP).touch()

    def _single(self, head: str | None, lines: list[str]) -> dict[str, str]:
        """Of the other side's names ours: what it has checked out, and the branch or tag."""
        branch = self._wanted.branch
        names = [name for name in dict.fromkeys((head, branch)) if name]
        refs = {f"refs/heads/{name}": f"refs/remotes/{REMOTE}/{name}" for name in names}
        has = {line.partition("\t")[2] for line in lines}
        if f"refs/tags/{branch}" in has and f"refs/heads/{branch}" not in has:
            del refs[f"refs/heads/{branch}"]
            refs[f"refs/tags/{branch}"] = f"refs/tags/{branch}"
        return refs

    def _knows(self, ref: str) -> bool:
        return self.git.says_yes("show-ref", "--verify", "-q", ref)

    def _asked(self) -> list[str]:
        """What the other side has checked out, and whether the name asked for is one of a tag."""
        branch = self._wanted.branch
        names = [] if branch is None else [f"refs/heads/{branch}", f"refs/tags/{branch}"]
        words = ("ls-remote", "--symref", "--end-of-options", REMOTE, "HEAD", *names)
        try:
            lines = self.git.out(*words).decode("utf-8", "replace").splitlines()
        except GitFailed as error:
            raise self._explained(error) from None
        if not any(line.endswith("\tHEAD") for line in lines):
            shown = without_secrets(self._url)
            raise WorkspaceError(f"{shown} has no commit yet; a workspace begins with one")
        return lines

    def _run(self, *words: str) -> None:
        tell = self._wanted.tell
        hear = None if tell is None else listener(tell)

        def fetch() -> None:
            ended = self.git.ask(*words, hear=hear)
            if ended.code != 0:
                raise self._explained(failure(words, ended))

        patiently(fetch)

    def _explained(self, error: GitFailed) -> WorkspaceError:
        return definite(error, without_secrets(self._url)) or error


def _default_branch(line: str) -> str | None:
    """`ref: refs/heads/main HEAD`; None where no branch is checked out."""
    ref = line.partition("\t")[0].removeprefix("ref: ")
    return ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else None
