"""A fleet on a virtual clock without any driver: the test says what happens, `step` decides.

After every step the invariants and the promises of `promises.py` are checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, TypeVar

from paddock.core import explain
from paddock.core.actions import Action, Refuse, StartAttempt
from paddock.core.events import (
    AttemptLost,
    CancelRequested,
    CheckpointWritten,
    Emptied,
    Event,
    Exited,
    HeartbeatRemoved,
    Host,
    Sampled,
    SpawnFailed,
    Started,
    Submitted,
    ThawRequested,
    TimePassed,
)
from paddock.core.fleet import Fleet
from paddock.core.policy import Policy
from paddock.core.restore import restore
from paddock.core.run import (
    Attempt,
    Ended,
    Exit,
    Outcome,
    Queued,
    Run,
    Running,
    RunSpec,
    Starting,
    State,
    Stopping,
)
from paddock.core.units import parse_size
from tests.kit.factories import a_host, a_policy
from tests.kit.promises import Promises

A = TypeVar("A")
S = TypeVar("S")


class Yard:
    """`host=None` leaves the host unread, as after a start of the daemon."""

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        host: Host | None = None,
        sampled: bool = True,
        fleet: Fleet | None = None,
    ) -> None:
        self.fleet = fleet or Fleet(policy or a_policy())
        self.now = self.fleet.now
        self.promises = Promises(self.fleet)
        self.events: list[Event] = []
        self.answers: list[list[Action]] = []  # the actions of each event
        self.all_actions: list[Action] = []
        if sampled:
            self.sample(host)

    # -- what happens ---------------------------------------------------------------------

    def tell(self, event: Event) -> list[Action]:
        self.now = max(self.now, event.at)
        self.events.append(event)
        actions = self.promises.step(event)
        self.answers.append(list(actions))
        self.all_actions += actions
        return actions

    def submit(self, *specs: RunSpec, known: Mapping[str, Outcome] | None = None) -> list[Action]:
        return self.tell(Submitted(self.now, specs, known or {}))

    def run(self, *specs: RunSpec) -> None:
        """Submit, and confirm every start."""
        self.submit(*specs)
        self.confirm()

    def confirm(self, *names: str) -> None:
        """The driver says that these run; without names, all that are starting."""
        starting = [r.id for r in self.fleet.live_runs() if isinstance(r.state, Starting)]
        for name in names or starting:
            self.tell(Started(self.now, self.attempt(name)))

    def end(self, name: str, code: int | None = 0, *, empty: bool = True, **facts: Any) -> None:
        self.tell(Exited(self.now, self.attempt(name), Exit(code, **facts), empty))

    def empty(self, name: str) -> list[Action]:
        return self.tell(Emptied(self.now, self.attempt(name)))

    def fail_to_spawn(self, name: str, *, permanent: bool = False) -> list[Action]:
        return self.tell(SpawnFailed(self.now, self.attempt(name), "no such file", permanent))

    def lose(self, name: str) -> list[Action]:
        return self.tell(AttemptLost(self.now, self.attempt(name), "the host was rebooted"))

    def checkpoint(self, name: str) -> list[Action]:
        return self.tell(CheckpointWritten(self.now, self.attempt(name)))

    def cancel(self, name: str, *, force: bool = False) -> list[Action]:
        return self.tell(CancelRequested(self.now, name, force))

    def sample(self, host: Host | None = None, /, **used: str) -> list[Action]:
        """One look at the host and at some runs: `yard.sample(a_host(used_percent=86), a="1G")`."""
        seen = {self.attempt(name): parse_size(size) for name, size in used.items()}
        total = self.fleet.policy.total_bytes
        return self.tell(Sampled(self.now, host or a_host(total=str(total)), seen))

    def advance(self, seconds: float) -> list[Action]:
        """Let time go on, with a stop at every deadline on the way."""
        until = self.now + seconds
        actions: list[Action] = []
        while (at := self.fleet.next_deadline) is not None and at <= until:
            actions += self.tell(TimePassed(at))
        return actions + self.tell(TimePassed(until))

    # -- what is seen ---------------------------------------------------------------------

    def __getitem__(self, name: str) -> Run:
        return self.fleet.runs[name]

    def attempt(self, name: str) -> Attempt:
        return self.fleet.runs[name].attempt

    def state(self, name: str) -> State:
        return self.fleet.runs[name].state

    def states(self, kind: type[S]) -> list[str]:
        return [run.id for run in self.fleet.runs.values() if isinstance(run.state, kind)]

    @property
    def queued(self) -> list[str]:
        return self.states(Queued)

    @property
    def live(self) -> list[str]:
        return sorted(self.fleet.live)

    @property
    def running(self) -> list[str]:
        return self.states(Running)

    @property
    def stopping(self) -> list[str]:
        return self.states(Stopping)

    def in_state(self, name: str, kind: type[S]) -> S:
        state = self.state(name)
        assert isinstance(state, kind), f"{name} is {state}"
        return state

    def outcome(self, name: str) -> Outcome:
        return self.in_state(name, Ended).outcome

    def outcomes(self) -> dict[str, Outcome]:
        return {name: ended.outcome for name, ended in self.promises.ended.items()}

    def why(self, name: str) -> str:
        return explain.sentence(self.fleet, self[name])

    def order_of_starts(self) -> list[str]:
        return [a.attempt.run for a in self.all_actions if isinstance(a, StartAttempt)]

    def last_start(self, name: str) -> StartAttempt:
        starts = [a for a in self.all_actions if isinstance(a, StartAttempt)]
        return [start for start in starts if start.attempt.run == name][-1]

    # -- the end, and a new beginning -----------------------------------------------------

    def reborn(self) -> Yard:
        """The same fleet after a crash of the daemon, built from what was remembered."""
        old = self.fleet
        fleet = restore(
            old.policy,
            old.runs.values(),
            groups=deepcopy(old.groups),
            heartbeats=old.heartbeats.values(),
            now=old.now,
        )
        yard = Yard(fleet=fleet, sampled=False)
        yard.promises.ended = dict(self.promises.ended)
        yard.promises.submitted = set(self.promises.submitted)
        yard.promises.done = set(self.promises.done)
        return yard

    def drain(self, *, within: int = 400) -> None:
        """Attempts end, time goes on, the host is calm: then nothing may wait for ever."""
        for name in list(self.fleet.heartbeats):
            self.tell(HeartbeatRemoved(self.now, name))
        idle = a_host(total=str(self.fleet.policy.total_bytes), used_percent=0.0)
        for _ in range(within):
            self.sample(idle)
            self._end_all_that_lives()
            if self.fleet.live:
                continue  # others took their places; they are not to run into a timeout
            if not self.queued:
                return
            at = self.fleet.next_deadline
            step_s = self.fleet.policy.ladder.dwell_s
            self.advance(step_s if at is None else max(0.0, min(at - self.now, 3600.0)))
        waiting = {name: self.why(name) for name in [*self.queued, *self.fleet.live]}
        raise AssertionError(f"still not over: {waiting}")

    def _end_all_that_lives(self) -> None:
        for name in list(self.fleet.live):
            run = self.fleet.runs.get(name)
            if run is None or not run.live:
                continue
            if isinstance(run.state, Starting):
                self.confirm(name)
            if isinstance(self.state(name), Stopping):
                self.end(name, None, signal=15)
            else:
                self.tell(ThawRequested(self.now, name))
                self.end(name)


def only(actions: list[Action], kind: type[A]) -> list[A]:
    """The actions of one kind."""
    return [action for action in actions if isinstance(action, kind)]


def refusals(actions: list[Action]) -> list[str]:
    return [action.because for action in actions if isinstance(action, Refuse)]
