"""Every plug point on one page: what the loop asks of the outside. No implementations here.

The methods are those the design implies today. Results that take time come back as events of
`paddock.core.events`, never as return values, so a driver may be as slow as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from paddock.core.events import Event, Host
from paddock.core.run import Attempt, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """All a driver needs to start one attempt; decisions never see it."""

    attempt: Attempt
    command: tuple[str, ...]
    environment: Mapping[str, str]
    directory: Path
    limit_bytes: int
    resume: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantees:
    """What a driver promises on this host, as data, so that nobody asks for its name."""

    name: str
    hard_memory_wall: bool
    kills_whole_tree: bool
    can_freeze: bool
    survives_daemon: bool


class Driver(Protocol):
    """Where attempts live. Every method may be repeated without harm.

    Reports through `tell`: Started or SpawnFailed once for each start, then Exited and Emptied.
    """

    @property
    def guarantees(self) -> Guarantees: ...

    def start(self, launch: Launch, tell: Callable[[Event], None]) -> None: ...

    def warn(self, attempt: Attempt) -> None:
        """Say that the soft timeout has come."""

    def ask_checkpoint(self, attempt: Attempt) -> None: ...

    def terminate(self, attempt: Attempt) -> None: ...

    def kill(self, attempt: Attempt) -> None:
        """Every process of the attempt, not only the main one."""

    def freeze(self, attempt: Attempt, *, reclaim: bool) -> None: ...

    def thaw(self, attempt: Attempt) -> None: ...

    def used_bytes(self) -> Mapping[Attempt, int]:
        """One look at all attempts, so that a tick costs one call."""

    def adopt(self, tell: Callable[[Event], None]) -> frozenset[Attempt]:
        """After a restart: the attempts still there; from now on they report through `tell`."""


class Store(Protocol):
    """What is remembered. One writer."""

    def load(self) -> tuple[Run, ...]:
        """Every run that has not ended."""

    def save(self, event: Event, changed: Iterable[Run]) -> None:
        """One step in one transaction; on return it survives a power loss."""

    def story(self, run: str) -> tuple[Event, ...]: ...


class Workspaces(Protocol):
    """Directories for attempts to work in."""

    def prepare(self, run: str, *, repository: Path, branch: str | None) -> Path:
        """The run's own workspace; the same one again for a later attempt."""

    def release(self, run: str) -> None:
        """Give it back. What exists nowhere else stays."""


class LogStore(Protocol):
    """What agents wrote, as one stream a run, wherever its parts lie."""

    def append(self, attempt: Attempt, data: bytes) -> None: ...

    def read(self, run: str, *, since_byte: int = 0) -> Iterator[bytes]: ...

    def forget(self, run: str) -> None: ...


class HostProbe(Protocol):
    """One look at the machine."""

    def sample(self) -> Host:
        """What cannot be read is None, never a guess: the ladder then fails closed."""
