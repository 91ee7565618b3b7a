"""A machine that aims at live attempts: what people ask for, and stale news now and then."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    precondition,
    rule,
)
from msgspec import structs

from paddock.core import explain
from paddock.core.actions import Action
from paddock.core.events import (
    BreakerReset,
    CancelRequested,
    Event,
    Exited,
    FreezeRequested,
    HeartbeatDeclared,
    HeartbeatRemoved,
    PolicyChanged,
    PriorityChanged,
    ThawRequested,
)
from paddock.core.fleet import Fleet
from paddock.core.policy import Policy
from paddock.core.run import (
    Attempt,
    Exit,
    Priority,
    Queued,
    Run,
    Starting,
    Stopping,
)
from paddock.core.step import AttemptEvent
from paddock.core.units import GIB
from tests.kit.factories import a_spec
from tests.kit.yard import Yard
from tests.properties.fleet_strategies import EXITS, GROUPS, MEMORY, PICK, POLICIES, PRIORITIES


def some_live(machine: AimedMachine) -> bool:
    return bool(machine.fleet.live)


def some_starting(machine: AimedMachine) -> bool:
    return any(isinstance(run.state, Starting) for run in machine.fleet.live_runs())


def some_stopping(machine: AimedMachine) -> bool:
    return any(isinstance(run.state, Stopping) for run in machine.fleet.live_runs())


def some_run(machine: AimedMachine) -> bool:
    return bool(machine.fleet.runs)


class AimedMachine(RuleBasedStateMachine):
    """Every step goes through `Promises`."""

    def __init__(self) -> None:
        super().__init__()
        self.yard = Yard(sampled=False)
        self.first_policy = self.yard.fleet.policy
        self.told: list[tuple[Event, list[Action]]] = []
        self.reborn = False
        self.count = 0

    def tell(self, event: Event) -> None:
        self.told.append((event, self.yard.tell(event)))
        self._whatever_waits_says_why()

    def _whatever_waits_says_why(self) -> None:
        for run in self.fleet.runs.values():
            if isinstance(run.state, Queued):
                assert len(explain.waiting(self.fleet, run).sentence) > 10

    # -- aiming ---------------------------------------------------------------------------

    @property
    def fleet(self) -> Fleet:
        return self.yard.fleet

    def pick(self, number: int, *kinds: type) -> Run | None:
        runs = [r for r in self.fleet.runs.values() if not kinds or isinstance(r.state, kinds)]
        return runs[number % len(runs)] if runs else None

    def pick_live(self, number: int) -> Run:
        live = list(self.fleet.live_runs())
        return live[number % len(live)]

    # -- what people ask for --------------------------------------------------------------

    @precondition(some_run)
    @rule(number=PICK, force=st.booleans())
    def cancel(self, number: int, *, force: bool) -> None:
        run = self.pick(number)
        assert run is not None
        self.tell(CancelRequested(self.yard.now, run.id, force))

    @precondition(some_run)
    @rule(number=PICK, priority=PRIORITIES)
    def change_priority(self, number: int, priority: Priority) -> None:
        run = self.pick(number)
        assert run is not None
        self.tell(PriorityChanged(self.yard.now, run.id, priority))

    @precondition(some_live)
    @rule(number=PICK, thaw=st.booleans())
    def freeze_or_thaw(self, number: int, *, thaw: bool) -> None:
        request = ThawRequested if thaw else FreezeRequested
        self.tell(request(self.yard.now, self.pick_live(number).id))

    @rule(group=GROUPS)
    def reset_breaker(self, group: str) -> None:
        self.tell(BreakerReset(self.yard.now, group))

    @rule(name=st.sampled_from(["h1", "h2"]), every_s=st.sampled_from([30.0, 600.0]), memory=MEMORY)
    def declare_heartbeat(self, name: str, every_s: float, memory: str) -> None:
        self.count += 1
        if name not in self.fleet.heartbeats:
            name = f"{name}-{self.count}"
        template = a_spec(name, memory=memory, group="beat")
        self.tell(HeartbeatDeclared(self.yard.now, template, every_s))

    @rule(number=PICK)
    def remove_heartbeat(self, number: int) -> None:
        names = [*self.fleet.heartbeats, "nobody"]
        self.tell(HeartbeatRemoved(self.yard.now, names[number % len(names)]))

    @rule(reserve_gib=st.integers(1, 12), policy=POLICIES)
    def change_policy(self, reserve_gib: int, policy: Policy) -> None:
        changed = replace(policy, reserve_bytes=reserve_gib * GIB)
        self.tell(PolicyChanged(self.yard.now, changed))

    # -- old news -------------------------------------------------------------------------

    @precondition(some_run)
    @rule(number=PICK, back=st.integers(1, 2), ended=EXITS)
    def stale_exit_is_told(self, number: int, back: int, ended: Exit) -> None:
        run = self.pick(number)
        assert run is not None
        self.tell(Exited(self.yard.now, Attempt(run.id, run.attempts - back), ended))

    @rule(number=PICK)
    def unknown_attempt_ends(self, number: int) -> None:
        self.tell(Exited(self.yard.now, Attempt(f"nobody{number}", 1), Exit(0)))

    @rule(number=PICK)
    def an_old_event_is_told_again(self, number: int) -> None:
        old = [event for event, _ in self.told if isinstance(event, AttemptEvent)]
        if old:
            self.tell(structs.replace(old[number % len(old)], at=self.yard.now))
