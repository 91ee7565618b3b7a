"""Which commits of a worktree would be gone with it, and which it made."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .git import Git

# References of the repository, which stay; those of the one worktree go with it.
_STAYING: Final = (
    *("--exclude=refs/worktree/*", "--exclude=refs/bisect/*", "--exclude=refs/rewritten/*"),
    "--glob=refs/*",
)
_MOVED_TO: Final = re.compile(rb"checkout: moving from .+ to (.+)")
_STASHED_ON: Final = re.compile(rb"(?:WIP on|On) (\(no branch\)|[^:]+): ?(.*)", re.DOTALL)
_LONGEST_TEXT: Final = 80
_LAST_AT: Final = 253402300799  # the year 9999
_MOST_DIGITS: Final = 20
PADDOCK_EMAIL: Final = "paddock@localhost"


@dataclass(frozen=True, slots=True)
class Commit:
    id: str
    subject: str
    at: int
    by_paddock: bool = False


def nowhere_else(git: Git) -> int:
    """Commits of HEAD that no reference of the repository has."""
    return int(git.line("rev-list", "--count", "HEAD", "--not", *_STAYING))


def left_behind(git: Git) -> tuple[str, ...]:
    """Commits that only the log of HEAD knows, or references of this worktree; the newest ones."""
    tips = {*_log_of_head(git), *_own_references(git)}
    if not tips:
        return ()
    given = "".join(f"{tip}\n" for tip in sorted(tips)).encode()
    lines = git.out("rev-list", "--parents", "--stdin", "--not", *_STAYING, given=given)
    found: list[str] = []
    parents: set[str] = set()
    for line in lines.decode("ascii").splitlines():
        commit, *above = line.split()
        found.append(commit)
        parents.update(above)
    return tuple(commit for commit in found if commit not in parents)


def _log_of_head(git: Git) -> list[str]:
    return git.out("log", "--walk-reflogs", "--format=%H", "HEAD", "--").decode("ascii").split()


def _own_references(git: Git) -> list[str]:
    """Also HEAD and ORIG_HEAD: where there is no log they may be the last that know a commit."""
    words = ("for-each-ref", "--format=%(objecttype) %(objectname)", "refs/worktree", "refs/bisect")
    lines = git.out(*words).decode("ascii").splitlines()
    found = [line.split()[1] for line in lines if line.startswith("commit ")]
    for name in ("HEAD", "ORIG_HEAD"):
        ended = git.ask("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        found += ended.out.decode("ascii").split() if ended.code == 0 else []
    return found


def pin(git: Git, run: str, commits: tuple[str, ...]) -> None:
    for commit in commits:
        git.out("update-ref", f"refs/paddock/kept/{run}/{commit[:12]}", commit)


def stashes(git: Git, *, branch: str) -> tuple[str, ...]:
    """Those made here. All worktrees share one list; each entry names the branch it was made on."""
    if not git.says_yes("show-ref", "--verify", "--quiet", "refs/stash"):
        return ()
    words = ("log", "--walk-reflogs", "-z", "--format=%P%n%gs", "refs/stash", "--")
    logged, branches = set(_log_of_head(git)), _branches_here(git) | {branch.encode()}
    found = []
    for entry in git.out(*words).split(b"\0"):
        parents, _, said = entry.partition(b"\n")
        match = _STASHED_ON.fullmatch(said.strip())
        first = parents.split(b" ")[0].decode("ascii")
        # One that does not say where it was made is ours if it began where we have been.
        nameless = match is None or match[1] == b"(no branch)"
        if (nameless and first in logged) or (match and match[1] in branches):
            text = said.decode("utf-8", "replace").strip()
            found.append(" ".join(text.split())[:_LONGEST_TEXT])
    return tuple(found)


def _branches_here(git: Git) -> set[bytes]:
    """All that were ever checked out in this worktree."""
    lines = git.out("log", "--walk-reflogs", "-z", "--format=%gs", "HEAD", "--").split(b"\0")
    return {match[1] for line in lines if (match := _MOVED_TO.fullmatch(line.strip()))}


def made_since(git: Git, *, start: str, tips: tuple[str, ...]) -> tuple[Commit, ...]:
    """The newest first: on HEAD and on these branches, and not there at the start."""
    words = ("log", "-z", "--format=%H%n%ct%n%ce%n%s", "--no-show-signature", *tips)
    found = []
    for entry in git.out(*words, "--not", start, "--").split(b"\0"):
        if entry:
            id_, at, email, subject = entry.decode("utf-8", "replace").split("\n", 3)
            found.append(Commit(id_, subject.strip(), _time(at), email == PADDOCK_EMAIL))
    return tuple(found)


def _time(said: str) -> int:
    """A commit can be made by hand, with no time or with one that no calendar has: 0 then."""
    at = int(said) if said.isascii() and said.isdigit() and len(said) <= _MOST_DIGITS else 0
    return at if at <= _LAST_AT else 0
