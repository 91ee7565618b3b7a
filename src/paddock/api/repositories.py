"""The repositories of a submission: are they there, how large are they, what follows from it.

Looks at files and starts git: never in the loop's thread. An address is looked at by nobody
before its run begins; what it may hold besides is in no answer and in no label.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from paddock.core.units import MIB
from paddock.supervisor.grounds import ADDRESS, REPOSITORY_LABEL, Wanted
from paddock.wire.run_request import RunRequest
from paddock.workspaces.errors import GitTimedOut, WorkspaceError
from paddock.workspaces.secrets import is_address, parted, without_secrets
from paddock.workspaces.size_rules import Level, judge, timeout_factor
from paddock.workspaces.sizes import Size, measure
from paddock.workspaces.worktrees import find_source, resolve

from .defaults import Given
from .problems import Declined, bad_request, large, refused, trouble

SECRET_LABEL: Final = "repo_secret"  # the label's address is not all of it
PATIENCE_S: Final = 45.0  # below the client's: a tree of 100,000 files on a cold disk takes seconds
KEPT_S: Final = 10.0
MOST_KEPT: Final = 256
_FLAGS: Final = "--yes, --shallow or --sparse DIR; in a file any_size, shallow or sparse"


@dataclass(frozen=True, slots=True)
class Seen:
    """What a submission's repositories mean for its runs."""

    factors: Mapping[str, float] = field(default_factory=dict)  # of timeouts, by repository
    notes: tuple[str, ...] = ()


class Sizes:
    """Measured once, however many runs of the same repository come within some seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._guard = threading.Lock()
        self._turns: dict[str, threading.Lock] = {}
        self._kept: dict[str, tuple[float, Size]] = {}

    def of(self, path: str) -> Size:
        with self._guard:
            if len(self._turns) >= MOST_KEPT:
                self._turns.clear()
                self._kept.clear()
            turn = self._turns.setdefault(path, threading.Lock())
        with turn:
            known = self._kept.get(path)
            if known is not None and self._now() - known[0] < KEPT_S:
                return known[1]
            size = measure(Path(path))
            self._kept[path] = (self._now(), size)
            return size


# -- before it is taken -------------------------------------------------------------------------


def look(
    requests: Sequence[RunRequest], given: Mapping[str | None, Given], sizes: Sizes | None
) -> Seen:
    """In a thread. `sizes`: None where there are no workspaces."""
    asking = [request for request in requests if request.repo is not None]
    if asking and sizes is None:
        raise bad_request(
            f"{asking[0].name}: this daemon has no workspaces: say the directory to run in (dir)"
        )
    factors: dict[str, float] = {}
    notes: dict[str, None] = {}
    looked: set[tuple[str, str | None]] = set()
    for request in asking:
        assert request.repo is not None and sizes is not None
        if (request.repo, request.branch) not in looked:
            _check_place(request)
            looked.add((request.repo, request.branch))
        if is_address(request.repo):
            continue
        size = _size(request, sizes)
        factors[request.repo] = timeout_factor(size)
        note = _judged(request, size, given[request.performance_profile])
        if note:
            notes[f"{request.repo}: {note}"] = None
    return Seen(factors, tuple(notes))


def _check_place(request: RunRequest) -> None:
    """Is it a repository at all, and is the branch there?"""
    assert request.repo is not None
    if is_address(request.repo):
        _check_address(request)
        return
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


def _size(request: RunRequest, sizes: Sizes) -> Size:
    assert request.repo is not None
    try:
        return sizes.of(request.repo)
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
        raise large(f"{request.name}: {found.because} ({_FLAGS})")
    return ""


# -- what its recipe gets -----------------------------------------------------------------------


def labels_of(request: RunRequest) -> dict[str, str]:
    if request.repo is None:
        return {}
    plain = _without_password(request.repo)
    wanted = Wanted(
        repository=plain,
        branch=request.branch,
        shallow=request.shallow,
        sparse=request.sparse,
        submodules=request.submodules,
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
