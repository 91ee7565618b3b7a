"""May a workspace go? Pure: facts in, a verdict with a sentence out. What is not known, stays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_NAMED: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What would be lost with the directory, and with what git keeps for it alone."""

    unknown: str = ""  # why it could not be looked at
    operation: str = ""  # a rebase, merge, … that is not finished
    locked: str = ""
    processes: tuple[str, ...] = ()
    uncommitted: tuple[str, ...] = ()  # changed or staged
    untracked: tuple[str, ...] = ()  # and not ignored; also repositories inside
    hidden: tuple[str, ...] = ()  # git was told not to look at them
    submodules: tuple[str, ...] = ()  # with something that exists only there
    worktrees: tuple[str, ...] = ()  # likewise, of the same repository
    nowhere_else: int = 0  # commits of a detached HEAD that no branch, tag or remote has
    stashes: tuple[str, ...] = ()
    # Commits that only this worktree's log of HEAD still knows: amended or reset away.
    left_behind: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Keep:
    because: str


@dataclass(frozen=True, slots=True)
class Removable:
    """`pins` first get a reference of their own, so that these commits stay as well."""

    because: str
    pins: tuple[str, ...] = ()


def verdict(facts: Facts) -> Keep | Removable:
    reasons = list(_reasons(facts))
    if reasons:
        return Keep("; ".join(reasons))
    because = "all of its work is committed, on branches that stay"
    if facts.left_behind:
        count = _count(len(facts.left_behind), "commit")
        because += f" ({count} that were amended or reset away are kept as refs/paddock/kept)"
    return Removable(because, facts.left_behind)


def _reasons(facts: Facts) -> Iterator[str]:
    if facts.unknown:
        yield f"nobody knows what is in it: {facts.unknown}"
    if facts.processes:
        verb = "is" if len(facts.processes) == 1 else "are"
        yield f"{_listed(facts.processes)} {verb} at work in it"
    if facts.locked:
        yield f"it is locked: {facts.locked}"
    if facts.operation:
        yield f"{facts.operation} is not finished"
    if facts.nowhere_else:
        yield f"{_count(facts.nowhere_else, 'commit')} on no branch, tag or remote"
    for what, names in (
        ("not committed", facts.uncommitted),
        ("not known to git", facts.untracked),
        ("git was told not to look for changes in", facts.hidden),
        ("submodules with work that is only here", facts.submodules),
        ("worktrees with work that is only here", facts.worktrees),
        ("stashed here", facts.stashes),
    ):
        if names:
            yield f"{what}: {_listed(names)}"


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:_NAMED])
    more = len(names) - _NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def _count(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number} {what}s"
