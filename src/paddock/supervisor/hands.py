"""ACT: hands a step's actions to the drivers. Decides nothing; every action may come twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final, assert_never

from msgspec import structs

from paddock.core.actions import (
    Action,
    AskCheckpoint,
    FreezeAttempt,
    KillAttempt,
    Refuse,
    StartAttempt,
    TerminateAttempt,
    ThawAttempt,
    WarnAttempt,
)
from paddock.core.events import CheckpointDeclined, Emptied, Event, SpawnFailed, StartPutOff
from paddock.core.fleet import Fleet
from paddock.core.run import Attempt, Priority, Run, Running, Starting, Stopping
from paddock.ports import Counts, Driver, Launch, Ranks, Recipe, Stop
from paddock.supervisor.grounds import Grounds
from paddock.supervisor.keepsakes import Keepsakes
from paddock.supervisor.sessions import Sessions
from paddock.supervisor.signs import Signs
from paddock.supervisor.stepping import Work, resumes, work_of
from paddock.supervisor.witness import Witness

DRIVER_LABEL: Final = "driver"
DRIVER_RETRY_S: Final = 10.0
# Its wall, or where there is none what is sampled: an agent cannot read that from any cgroup.
MEMORY_LIMIT: Final = "PADDOCK_MEMORY_LIMIT"

Tell = Callable[[Event], None]
OfAttempts = (
    WarnAttempt | AskCheckpoint | TerminateAttempt | KillAttempt | FreezeAttempt | ThawAttempt
)
_STOPS: Final = (AskCheckpoint, TerminateAttempt, KillAttempt)


def is_urgent(action: Action) -> bool:
    """Never waits for the store: a full disk or a slow fsync must not stop a rescue.

    A kill takes its reason along, so that it can be explained even if it is never remembered.
    """
    return isinstance(action, KillAttempt | FreezeAttempt)


class Hands:
    grounds: Grounds | None = None  # without: everybody runs where they were submitted
    last_look: Callable[[Event], bool] | None = None  # takes an end, and passes it on
    witness: Witness | None = None  # without: of a step, only its exit is kept
    keepsakes: Keepsakes | None = None  # without: nothing lies between two attempts
    sessions: Sessions | None = None  # without: an agent begins anew each time
    signs: Signs | None = None  # without: an end is what its exit code says
    absent: Mapping[str, str] = MappingProxyType({})  # drivers that are not there, and why

    def __init__(self, drivers: Mapping[str, Driver], default: str, tell: Tell) -> None:
        self._drivers = drivers
        self._default = default
        self._post = tell
        self._begun: dict[Attempt, Driver] = {}
        self._ranked: dict[Attempt, Priority] = {}  # since a launch was made that still waits

    def _tell(self, event: Event) -> None:
        if self.last_look is None or not self.last_look(event):
            self.pass_on(event)

    def pass_on(self, event: Event) -> None:
        if isinstance(event, CheckpointDeclined) and self._is_mistaken(event.attempt):
            return
        if self.signs is None or not self.signs.takes(event):
            self.post(event)

    def post(self, event: Event) -> None:
        if self.witness is None or not self.witness.takes(event):
            self._post(event)

    def _is_mistaken(self, attempt: Attempt) -> bool:
        """One that has no handler may look at the file: whoever has used the directory does."""
        return self.keepsakes is not None and self.keepsakes.is_used(attempt.run)

    def driver_of(self, attempt: Attempt) -> Driver | None:
        return self._begun.get(attempt)

    def adopt(self) -> frozenset[Attempt]:
        """What earlier daemons began and is still there, or ended while nobody looked."""
        found = frozenset[Attempt]().union(*(self.adopt_from(name) for name in self._drivers))
        if self.grounds is not None:
            self.grounds.adopt(found)
        return found

    def adopt_from(self, name: str) -> frozenset[Attempt]:
        """Likewise, of one driver."""
        driver = self._drivers[name]
        found = driver.adopt(self._tell)
        self._begun |= dict.fromkeys(found, driver)
        return found

    def is_unheard(self, run: Run) -> bool:
        """Whether it lives where nobody of ours can look: its driver is not there."""
        return run.spec.away and not any(one.guarantees.away for one in self._drivers.values())

    def used_bytes(self) -> dict[Attempt, int]:
        used: dict[Attempt, int] = {}
        for driver in self._drivers.values():
            used |= driver.used_bytes()
        return used

    def cpu_s(self) -> dict[Attempt, float]:
        found: dict[Attempt, float] = {}
        for driver in self._drivers.values():
            found |= driver.cpu_s()
        return found

    def processes(self) -> dict[Attempt, int]:
        found: dict[Attempt, int] = {}
        for driver in self._drivers.values():
            if isinstance(driver, Counts):
                found |= driver.processes()
        return found

    def perform(self, action: Action, fleet: Fleet, recipe: Recipe | None = None) -> None:
        if isinstance(action, Refuse):
            return  # told to whoever asked
        if isinstance(action, StartAttempt):
            self._start(action, fleet, recipe)
            return
        driver = self._begun.get(action.attempt)
        if driver is None:
            self._not_begun(action)
        else:
            self._do(driver, action, fleet)

    def _do(self, driver: Driver, action: OfAttempts, fleet: Fleet) -> None:
        match action:
            case WarnAttempt():
                driver.warn(action.attempt)
            case AskCheckpoint():
                driver.ask_checkpoint(action.attempt)
            case TerminateAttempt():
                driver.terminate(action.attempt)
            case KillAttempt():
                driver.kill(action.attempt, _why(action, fleet))
            case FreezeAttempt():
                driver.freeze(action.attempt, reclaim=action.reclaim)
            case ThawAttempt():
                # A freeze does not wait for the store: a later one may have been done before this.
                if not _stands_still(action.attempt, fleet):
                    driver.thaw(action.attempt)
            case _:
                assert_never(action)

    def _not_begun(self, action: Action) -> None:
        """What is still being prepared is dropped; else `_start` sees that it is not wanted."""
        if self.grounds is not None and isinstance(action, _STOPS):
            self.grounds.drop(action.attempt)

    def amended(self, run: Run) -> None:
        """Its priority may be another: whoever ranks without us must know."""
        driver = self._begun.get(run.attempt)
        if driver is None:
            self._ranked[run.attempt] = run.priority
        elif isinstance(driver, Ranks):
            driver.set_priority(run.attempt, run.priority)

    def forget(self, attempt: Attempt, *, lives: bool = False) -> None:
        """`lives`: it goes on without us, and keeps what it stands on."""
        if self.grounds is not None and not lives:
            self.grounds.clear(attempt)
        self._ranked.pop(attempt, None)
        driver = self._begun.pop(attempt, None)
        if driver is not None:
            driver.forget(attempt)

    def _start(self, action: StartAttempt, fleet: Fleet, recipe: Recipe | None) -> None:
        attempt = action.attempt
        run = fleet.runs.get(attempt.run)
        if run is None or run.attempt != attempt or not run.live:
            return
        if isinstance(run.state, Stopping) and attempt not in self._begun:
            if self.grounds is not None and self.grounds.is_coming(attempt):
                return
            self._tell(Emptied(fleet.now, attempt))  # stopped before it could begin
            return
        if not isinstance(run.state, Starting):
            return
        if recipe is None or recipe.environment is None:
            reason = "how to start it is not remembered"
            self._tell(SpawnFailed(fleet.now, attempt, reason, permanent=True))
            return
        name = recipe.labels.get(DRIVER_LABEL, self._default)
        driver = self._drivers.get(name)
        if driver is None:
            # It was taken by a daemon that had it, so it may come back: nothing of the run is lost.
            reason = f"its driver {name} {self.absent.get(name, 'is not there')}"
            self._tell(StartPutOff(fleet.now, attempt, reason, retry_s=DRIVER_RETRY_S))
            return
        try:
            launch = self._equipped(_launch(action, run, recipe), work_of(action, run, recipe))
        except OSError as error:
            reason = f"no place for its checkpoints: {error.strerror}"
            self._tell(SpawnFailed(fleet.now, attempt, reason))
            return
        if self.grounds is None or attempt in self._begun or driver.guarantees.away:
            self._begin(driver, launch)
        else:
            self.grounds.lay(launch, partial(self._begin, driver))

    def _equipped(self, launch: Launch, work: Work) -> Launch:
        """With what lies between its attempts. Raises OSError where there is no place for it."""
        launch = structs.replace(
            launch, command=work.command, ours={**launch.ours, **work.variables}
        )
        if launch.attempt in self._begun:
            return launch
        if self.sessions is not None and work.agent is not None:
            launch = self.sessions.given(launch, work.agent)
        return launch if self.keepsakes is None else self.keepsakes.given(launch)

    def _begin(self, driver: Driver, launch: Launch) -> None:
        self._begun[launch.attempt] = driver
        priority = self._ranked.pop(launch.attempt, launch.priority)
        driver.start(structs.replace(launch, priority=priority), self._tell)


def _launch(action: StartAttempt, run: Run, recipe: Recipe) -> Launch:
    assert isinstance(run.state, Starting)
    return Launch(
        attempt=action.attempt,
        command=recipe.command,
        environment=recipe.environment or {},
        directory=recipe.directory,
        limit_bytes=action.limit_bytes,
        resume=resumes(run, recipe),
        name=run.spec.name,
        group=run.spec.group,
        priority=run.priority,
        expected_bytes=run.state.hold.expected_bytes,
        stdin=recipe.stdin,
        labels=recipe.labels,
        ours={MEMORY_LIMIT: str(run.soft_limit_bytes or action.limit_bytes)},
    )


def _stands_still(attempt: Attempt, fleet: Fleet) -> bool:
    run = fleet.runs.get(attempt.run)
    state = run.state if run is not None and run.attempt == attempt else None
    return isinstance(state, Running) and state.frozen is not None


def _why(action: KillAttempt, fleet: Fleet) -> Stop:
    run = fleet.runs.get(action.attempt.run)
    outcome = run.state.outcome if run is not None and isinstance(run.state, Stopping) else None
    return Stop(outcome, action.because)
