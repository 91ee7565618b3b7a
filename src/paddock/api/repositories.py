"""The repositories of a submission: are they there, how large are they, what follows from it.

Looks at files and starts git: never in the loop's thread. Of an address only its branches are
asked for, and only if it answers at once; a password in it is in no answer and in no label.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Generic, TypeVar
from urllib.parse import urlsplit

import msgspec

from paddock.core.units import MIB
from paddock.supervisor.wanted import ADDRESS, REPOSITORY_LABEL, Wanted
from paddock.wire.run_request import RunRequest
from paddock.workspaces import remotes
from paddock.workspaces.errors import GitTimedOut, NotThere, WorkspaceError
from paddock.workspaces.secrets import is_address, parted, without_secrets
from paddock.workspaces.size_rules import FLAGS, Level, judge, timeout_factor
from paddock.workspaces.sizes import Size, measure
from paddock.workspaces.worktrees import find_source, resolve

from .defaults import Given
from .problems import Declined, bad_request, large, refused, trouble

SECRET_LABEL: Final = "repo_secret"  # the label's address is not all of it
PATIENCE_S: Final = 45.0  # below the client's: a tree of 100,000 files on a cold disk takes seconds
ADDRESSES_S: Final = 20.0  # for all of a submission together; each has `remotes.ASK_S`
KEPT_S: Final = 10.0
MOST_KEPT: Final = 256
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Seen:
    """What a submission's repositories mean for its runs."""

    factors: Mapping[str, float] = field(default_factory=dict)  # of timeouts, by repository
    notes: tuple[str, ...] = ()


class Lately(Generic[T]):
    """Found out once, however many runs of the same repository come within some seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._guard = threading.Lock()
        self._turns: dict[Hashable, threading.Lock] = {}
        self._kept: dict[Hashable, tuple[float, T]] = {}

    def of(self, what: Hashable, find: Callable[[], T]) -> T:
        with self._guard:
            if len(self._turns) >= MOST_KEPT:
                self._turns.clear()
                self._kept.clear()
            turn = self._turns.setdefault(what, threading.Lock())
        with turn:
            known = self._kept.get(what)
            if known is not None and self._now() - known[0] < KEPT_S:
                return known[1]
            found = find()
            self._kept[what] = (self._now(), found)
            return found


class Repositories:
    """What is asked of them before a run is taken."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._sizes: Lately[Size] = Lately(now)
        self._answers: Lately[WorkspaceError | None] = Lately(now)

    def size(self, path: str) -> Size:
        return self._sizes.of(path, lambda: measure(Path(path)))

    def problem(self, address: str, branch: str | None) -> WorkspaceError | None:
        """NotThere, or why it could not be asked; one that does not answer is not asked at once
        again."""
        return self._answers.of((address, branch), lambda: _asked(address, branch))


def _asked(address: str, branch: str | None) -> WorkspaceError | None:
    try:
        remotes.check(address, branch)
    except WorkspaceError as error:
        return error
    return None


# -- before it is taken -------------------------------------------------------------------------


def has_address(requests: Sequence[RunRequest]) -> bool:
    return any(one.repo is not None and is_address(one.repo) for one in requests)


def look(
    requests: Sequence[RunRequest],
    given: Mapping[str | None, Given],
    repositories: Repositories | None,
) -> Seen:
    """In a thread. `repositories`: None where there are no workspaces."""
    asking = [request for request in requests if request.repo is not None]
    if asking and repositories is None:
        raise bad_request(
            f"{asking[0].name}: this daemon has no workspaces: say the directory to run in (dir)"
        )
    factors: dict[str, float] = {}
    notes: dict[str, None] = {}
    looked: set[tuple[str, str | None]] = set()
    give_up_at = time.monotonic() + ADDRESSES_S
    for request in asking:
        assert request.repo is not None and repositories is not None
        if (request.repo, request.branch) not in looked:
            looked.add((request.repo, request.branch))
            if is_address(request.repo):
                _check_address(request)
                note = _ask_address(request, repositories, give_up_at)
                notes |= {note: None} if note else {}
            else:
                _check_place(request)
        if is_address(request.repo):
            continue
        size = _size(request, repositories)
        factors[request.repo] = timeout_factor(size)
        note = _judged(request, size, given[request.performance_profile])
        if note:
            notes[f"{request.repo}: {note}"] = None
    return Seen(factors, tuple(notes))


def _check_place(request: RunRequest) -> None:
    """Is it a repository at all, and is the branch there?"""
    assert request.repo is not None
    if not request.repo.startswith("/"):
        raise bad_request(f"{request.name}: repo: allowed: an absolute path, or an address")
    try:
        resolve(find_source(Path(request.repo)), request.branch)
    except WorkspaceError as error:
        raise _declined(request, error) from None


def _check_address(request: RunRequest) -> None:
    assert request.repo is not None
    try:
        urlsplit(request.repo)
    except ValueError:
        raise bad_request(f"{request.name}: repo: found what is no address") from None
    if request.repo.startswith(("-", "ext:")):
        allowed = "https://host/x.git, git@host:x.git, ssh://… or a path"
        raise bad_request(f"{request.name}: repo: found what is no address; allowed: {allowed}")


def _ask_address(request: RunRequest, repositories: Repositories, give_up_at: float) -> str:
    """What is said of one that could not be asked: it may be there when the run begins."""
    assert request.repo is not None
    problem: WorkspaceError | None = WorkspaceError("too many others did not answer")
    if time.monotonic() < give_up_at:
        problem = repositories.problem(request.repo, request.branch)
    if isinstance(problem, NotThere):
        raise bad_request(f"{request.name}: repo: {problem}")
    shown = without_secrets(parted(request.repo).url)
    told = f"{shown} could not be asked for its branches, so its run will find out: {problem}"
    return "" if problem is None else told


def _size(request: RunRequest, repositories: Repositories) -> Size:
    assert request.repo is not None
    try:
        return repositories.size(request.repo)
    except WorkspaceError as error:
        raise _declined(request, error) from None


def _declined(request: RunRequest, error: WorkspaceError) -> Declined:
    message = f"{request.name}: repo: {error}"
    return trouble(message) if isinstance(error, GitTimedOut) else bad_request(message)


def _judged(request: RunRequest, size: Size, given: Given) -> str:
    """What is said of its size, if it may be taken."""
    found = judge(size, ask_mb=given.run.max_repo_bytes // MIB)
    if found.level is Level.REFUSE:
        raise refused(f"{request.name}: {found.because}")
    if found.level is not Level.ASK:
        return found.because
    if not (request.any_size or request.shallow or request.sparse):
        raise large(f"{request.name}: {found.because} ({FLAGS})")
    return ""


# -- what its recipe gets -----------------------------------------------------------------------


def labels_of(request: RunRequest, *, max_bytes: int) -> dict[str, str]:
    if request.repo is None:
        return {}
    plain = _without_password(request.repo)
    wanted = Wanted(
        repository=plain,
        branch=request.branch,
        shallow=request.shallow,
        sparse=request.sparse,
        submodules=request.submodules,
        any_size=request.any_size,
        ask_mb=max_bytes // MIB,
    )
    found = {REPOSITORY_LABEL: msgspec.json.encode(wanted).decode()}
    return found if plain == request.repo else {**found, SECRET_LABEL: "1"}


def variables_of(request: RunRequest) -> dict[str, str]:
    """The whole address, if it holds what may not be written down."""
    if request.repo is None or _without_password(request.repo) == request.repo:
        return {}
    return {ADDRESS: request.repo}


def _without_password(repository: str) -> str:
    if "://" not in repository:
        return repository
    # Whom ssh logs in as is no secret, and without it nothing works.
    parts = urlsplit(repository)
    if parts.scheme == "ssh" and parts.password is None and not parts.query:
        return repository
    return without_secrets(parted(repository).url)
