"""Every plug point on one page: what the loop asks of the outside. No implementations here.

Results that take time come back as events of
`paddock.core.events`, never as return values, so a driver may be as slow as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from msgspec import Struct

from paddock.core.events import Event, Host
from paddock.core.fleet import Change
from paddock.core.group import GroupFacts
from paddock.core.heartbeat import Heartbeat
from paddock.core.run import Attempt, Outcome, Priority, Run, StepDone


class Launch(Struct, frozen=True, kw_only=True):
    """All a driver needs to start one attempt; decisions never see it.

    A struct, because it is made anew four times on its way to a driver.
    """

    attempt: Attempt
    command: tuple[str, ...]
    environment: Mapping[str, str]
    directory: Path
    limit_bytes: int
    resume: bool = False
    name: str = ""  # the run's, for people
    group: str = ""
    priority: Priority = Priority.NORMAL
    expected_bytes: int = 0  # what admission counted it with
    stdin: Path | None = None  # None: /dev/null
    labels: Mapping[str, str] = {}
    ours: Mapping[str, str] = {}  # variables that paddock adds
    reach: tuple[Path, ...] = ()  # besides its directory: what it must be able to write to


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantees:
    """What a driver promises on this host, as data, so that nobody asks for its name."""

    name: str
    hard_memory_wall: bool
    kills_whole_tree: bool
    can_freeze: bool
    survives_daemon: bool
    fleet_wall: bool = False  # around all its attempts, held by the kernel
    ends_strays: bool = False  # what an agent leaves behind ends with it
    away: bool = False  # its attempts use the memory of other machines
    unheld: frozenset[str] = frozenset()  # of cpu, pids and memory_high: what this host cannot hold


@dataclass(frozen=True, slots=True)
class Stop:
    """Why paddock kills. Kept with the attempt, because the kill may come before it is remembered:
    a daemon that dies in between must not leave a death by signal 9 that nobody can explain.
    """

    outcome: Outcome | None  # None: the agent ended by itself, this is for its strays
    because: str


class Driver(Protocol):
    """Where attempts live. Every method may be repeated without harm, and none of them waits.

    Reports through `tell`: Started or SpawnFailed once for each start, then Exited and Emptied.
    Exited is told when the attempt's output is all in its log, so that an end is an end.
    """

    @property
    def guarantees(self) -> Guarantees: ...

    def start(self, launch: Launch, tell: Callable[[Event], None]) -> None: ...

    def warn(self, attempt: Attempt) -> None:
        """Say that the soft timeout has come."""

    def ask_checkpoint(self, attempt: Attempt) -> None: ...

    def terminate(self, attempt: Attempt) -> None: ...

    def kill(self, attempt: Attempt, why: Stop) -> None:
        """Every process of the attempt, not only the main one."""

    def freeze(self, attempt: Attempt, *, reclaim: bool) -> None: ...

    def thaw(self, attempt: Attempt) -> None: ...

    def used_bytes(self) -> Mapping[Attempt, int]:
        """One look at all attempts, so that a tick costs one call."""

    def cpu_limits(self) -> Mapping[Attempt, float]:
        """In cores, of those that have such a wall."""

    def cpu_s(self) -> Mapping[Attempt, float]:
        """CPU time that each has used so far; only looked at when somebody wants to know. Who
        cannot be told is left out."""

    def adopt(self, tell: Callable[[Event], None]) -> frozenset[Attempt]:
        """After a restart: the attempts still there; from now on they report through `tell`.

        Those that ended meanwhile are among them, and their Exited is told; one that the last
        daemon had begun to kill first tells `StopFound`.
        """

    def forget(self, attempt: Attempt) -> None:
        """Its end is remembered: the driver need not keep anything of it but its output."""


@runtime_checkable
class Counts(Protocol):
    """A driver that can see the processes of its attempts."""

    def processes(self) -> Mapping[Attempt, int]:
        """How many each has; only looked at when somebody wants to know. Who cannot be told is
        left out."""


@runtime_checkable
class Ranks(Protocol):
    """A driver that wrote down how urgent an attempt is, for rescues and for the kernel."""

    def set_priority(self, attempt: Attempt, priority: Priority) -> None:
        """From now on; may be repeated without harm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How the attempts of a run are started; decisions never see it."""

    command: tuple[str, ...]
    directory: Path
    # Kept nowhere but in the store, and there until the run ends: None from then on.
    environment: Mapping[str, str] | None = field(repr=False)
    stdin: Path | None = None  # None: /dev/null
    labels: Mapping[str, str] = field(default_factory=dict)


class Step(Struct, frozen=True, kw_only=True):
    """What one step changed, as values that no later step touches."""

    at: float
    changes: tuple[Change, ...] = ()
    steps_done: tuple[StepDone, ...] = ()  # the checkpoints of runs among these changes
    groups: Mapping[str, GroupFacts] = {}
    heartbeats: tuple[Heartbeat, ...] = ()
    removed_heartbeats: tuple[str, ...] = ()
    # Of new runs, by id. A beat without one of its own gets a copy of its heartbeat's.
    recipes: Mapping[str, Recipe] = {}
    heartbeat_recipes: Mapping[str, Recipe] = {}
    epoch: int | None = None  # None: as before
    boot_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """All that `core.restore` needs, and what the daemon must know of the one before it."""

    runs: tuple[Run, ...] = ()  # all that have not ended, then the newest that have
    groups: Mapping[str, GroupFacts] = field(default_factory=dict)
    heartbeats: tuple[Heartbeat, ...] = ()
    at: float = 0.0  # the fleet's time at the last step
    sequence: int = 0  # the highest ever given, also to runs that are no longer there
    epoch: int = 0
    boot_id: str = ""


@dataclass(frozen=True, slots=True)
class Move:
    """One line of a run's story; one with `moves` above 1 stands for as many that are not kept."""

    at: float
    state: str
    attempt: int
    because: str
    moves: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which ended runs are asked for; None asks for any."""

    name: str | None = None
    group: str | None = None
    outcome: Outcome | None = None
    since_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """How much of the past is kept. What has not ended is never removed."""

    runs: int = 10_000
    age_s: float = 30 * 86400.0
    groups: int = 1_000
    beats: int = 20  # of each heartbeat; one a second would push all others out within hours


@dataclass(frozen=True, slots=True)
class Tidied:
    """What one tidying removed; false when there was nothing more to remove."""

    runs: tuple[str, ...] = ()
    groups: int = 0

    def __bool__(self) -> bool:
        return bool(self.runs or self.groups)


class Rollup(NamedTuple):
    """What is known of a span of time that began at a full minute, hour or day by the wall clock.

    `data` is a packed span (`storage.rollup`): of one group, or without one of host and fleet.
    """

    step_s: int
    at: int
    group: str | None
    data: bytes


class LedgerEntry(Struct, frozen=True, kw_only=True):
    """What went on for a while: an alert and what followed it, or a daemon's life."""

    kind: str
    subject: str
    at: float
    until_at: float | None = None  # None: still so
    verdict: str = ""  # of an alert that is over: true, false, unknown
    facts: Mapping[str, float] = {}
    because: str = ""


class Store(Protocol):
    """What is remembered. One writer; trouble is told as a `storage.errors.StoreError`."""

    def load(self, *, ended: int = 1000) -> Remembered:
        """Everything that has not ended, and of the rest the newest, within 10 MB (REPO-5)."""

    def remember(self, step: Step) -> None:
        """One transaction; on return it survives a power loss. Raised: nothing of it is kept."""

    def remember_many(self, steps: Sequence[Step]) -> None:
        """All of them in one transaction, for the price of one."""

    def run(self, run: str) -> Run | None: ...

    def find(self, text: str) -> tuple[Run, ...]:
        """By id, by name (the newest), by prefix of an id; several when a prefix fits several."""

    def ended(
        self,
        wanted: Wanted = Wanted(),
        *,
        before: tuple[float, str] | None = None,
        limit: int = 100,
    ) -> tuple[Run, ...]:
        """The newest first. The next page begins before (time of the end, id) of the last."""

    def outcomes(self) -> Mapping[str, int]:
        """How many of the ended runs that are kept ended how."""

    def story(self, run: str) -> tuple[Move, ...]: ...

    def steps_done(self, run: str) -> tuple[StepDone, ...]:
        """Its checkpoints, in order."""

    def recipe(self, run: str) -> Recipe | None: ...

    def heartbeat_recipe(self, name: str) -> Recipe | None: ...

    def inputs(self) -> frozenset[str]:
        """The stdin files of all runs that have not ended."""

    def tidy(self, *, now_at: float, keep: Keep = Keep()) -> Tidied:
        """Remove one small batch of what is too old or too much; what went."""

    def record(
        self, rollups: Sequence[Rollup], entries: Sequence[LedgerEntry] = (), *, now_at: float
    ) -> None:
        """One transaction: each is added to what is kept of its span, an entry takes the place of
        an older one of its kind, subject and time; what is too old by the wall clock goes."""

    def rollups(
        self, step_s: int, *, since: tuple[int, str], until_at: float, limit: int
    ) -> tuple[Rollup, ...]:
        """In order of time and group name, after `since`: the (time, group) of the last one."""

    def ledger(self, *, since_at: float, limit: int = 10_000) -> tuple[LedgerEntry, ...]:
        """Those that lasted beyond that time, the oldest first."""

    def is_ours(self) -> bool:
        """Whether nobody else has made another in its place; one that is only gone is put back."""

    def missing(self) -> bool:
        """Whether somebody removed or replaced its files. Quick, and may be asked at any time."""

    def mend(self) -> None:
        """After `StoreGone`: put back what somebody removed, from what is still open."""

    def close(self) -> None: ...


class Fate(Enum):
    """What is to become of the output that waits in an attempt's pipe."""

    KEEP = "move it to the end of its file"
    DISCARD = "the disk is too full: take it, count it, and let it go"
    HOLD = "not yet: who writes faster than can be packed waits"


class Capture(Protocol):
    """Whoever keeps output: asked before a driver moves some of it, and told what was moved."""

    def expect(self, launch: Launch) -> int:
        """It is about to begin; how its output is to be kept is in its labels. The answer: so many
        bytes of it may gather while no daemon is there."""

    def fate(self, attempt: Attempt) -> Fate: ...

    def when_free(self, attempt: Attempt, then: Callable[[], None]) -> None:
        """`then` is called once it is not to be held any more: at once, or in another thread. Asked
        again with the same, it is still called once."""

    def moved(self, attempt: Attempt, size_bytes: int) -> None:
        """So large is its file now."""

    def discard(self, attempt: Attempt, fifo_fd: int, count: int) -> bool:
        """So many bytes lie in its pipe: some of them are taken and counted, and are gone. False:
        not now."""

    def refused(self, attempt: Attempt) -> None:
        """The file system had no room for it: asked again, there is other advice."""

    def closed(self, attempt: Attempt) -> None:
        """Nothing more of it comes by this driver."""


class HostProbe(Protocol):
    """One look at the machine."""

    def sample(self) -> Host:
        """What cannot be read is None, never a guess: the ladder then fails closed."""

    def glance(self, last: Host) -> Host | None:
        """Between two looks, and many times cheaper: the last one, with what is available now."""
