"""A generator of fleets in trouble: it aims at live attempts, and tells stale news now and then."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis import seed as with_seed
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from msgspec import structs

from paddock.core import explain
from paddock.core.actions import Action
from paddock.core.events import (
    AttemptLost,
    BreakerReset,
    CancelRequested,
    CheckpointWritten,
    Emptied,
    Event,
    Exited,
    FreezeRequested,
    HeartbeatDeclared,
    HeartbeatRemoved,
    Host,
    LimitPassed,
    Noticed,
    PlacesFreed,
    PolicyChanged,
    PriorityChanged,
    RepositoryWeighed,
    Sampled,
    SpawnFailed,
    Started,
    StartPutOff,
    StartTakesLonger,
    StopFound,
    Submitted,
    ThawRequested,
    TimePassed,
)
from paddock.core.fleet import Fleet
from paddock.core.policy import Admission, Policy
from paddock.core.restore import owed
from paddock.core.run import (
    Attempt,
    Ended,
    Exit,
    Outcome,
    Priority,
    Queued,
    Run,
    RunSpec,
    Starting,
    Stopping,
)
from paddock.core.step import AttemptEvent, step
from paddock.core.units import GIB
from tests.kit.factories import a_policy, a_spec, with_parts
from tests.kit.promises import Move
from tests.kit.yard import Yard

MEMORY = st.sampled_from(["1G", "2G", "3G", "5G", "8G", "12G"])
GROUPS = st.sampled_from(["a", "b", "c"])
PRIORITIES = st.sampled_from(Priority)
EXITS = st.one_of(
    st.just(Exit(0)),
    st.just(Exit(1)),
    st.just(Exit(75)),
    st.just(Exit(None, signal=9)),
    st.just(Exit(None, signal=9, oom=True)),
    st.just(Exit(None, signal=9, oom=True, fleet_oom=True)),
    st.just(Exit(1, retry_after_s=7.0)),
    st.just(Exit(1, session_lost=True)),
    st.just(Exit(0, oom=True)),
)
PICK = st.integers(0, 10_000)
SPECS = st.builds(
    a_spec,
    memory=MEMORY,
    priority=PRIORITIES,
    group=GROUPS,
    retries=st.integers(0, 2),
    steps=st.sampled_from([(), (), ("one", "two"), ("one", "two", "three")]),
    soft_limit_bytes=st.sampled_from([None, None, 2 * GIB]),
)
HOSTS = st.builds(
    lambda percent, free_gib, stall: Host(
        _free_bytes(percent, free_gib), percent, 16 * GIB, memory_stall_percent=stall
    ),
    st.sampled_from([20.0, 50.0, 72.0, 81.0, 86.0, 86.0, 96.0, None]),
    st.sampled_from([None, None, 0.1, 3.0]),
    st.sampled_from([0.0, 0.0, 30.0]),
)


def _free_bytes(percent: float | None, free_gib: float | None) -> int | None:
    if free_gib is not None:
        return int(free_gib * GIB)
    return None if percent is None else int(16 * GIB * (100 - percent) / 100)


def a_small_policy(
    admission: Admission, agents: int | None, times_s: tuple[float, float], keep_ended: int
) -> Policy:
    """Small numbers, so that a short life gets everywhere."""
    min_run_s, ageing_s = times_s
    policy = a_policy(
        admission=admission,
        max_agents=agents,
        min_run_s=min_run_s,
        ageing_s=ageing_s,
        keep_ended=keep_ended,
        backfill_s=120.0,
        queue_depth=24,
    )
    return with_parts(
        policy, sizing={"evidence": 2}, timeouts={"evidence": 3}, breaker={"failures": 2}
    )


POLICIES = st.builds(
    a_small_policy,
    st.sampled_from(Admission),
    st.sampled_from([None, 4, 2]),
    st.tuples(st.sampled_from([0.0, 60.0]), st.sampled_from([3600.0, 600.0, 0.0])),
    st.sampled_from([3, 1000]),
)


class FleetMachine(RuleBasedStateMachine):
    """Every step goes through `Promises`; the end of a life is a drain, a replay and a rebirth."""

    reached: ClassVar[set[Move]] = set()  # over all lives, for those who ask which moves were seen

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

    def some_live(self) -> bool:
        return bool(self.fleet.live)

    def some_starting(self) -> bool:
        return any(isinstance(run.state, Starting) for run in self.fleet.live_runs())

    def some_stopping(self) -> bool:
        return any(isinstance(run.state, Stopping) for run in self.fleet.live_runs())

    def some_run(self) -> bool:
        return bool(self.fleet.runs)

    # -- what happens ---------------------------------------------------------------------

    @initialize(policy=POLICIES, specs=st.lists(SPECS, max_size=6))
    def begin(self, policy: Policy, specs: list[RunSpec]) -> None:
        self.yard = Yard(policy, sampled=False)
        self.first_policy = self.yard.fleet.policy
        self.tell(Sampled(0.0, Host(15 * GIB, 6.0, 16 * GIB)))
        self.the_house_fills(specs)

    @rule(size=st.integers(1, 3), spec=SPECS, needs=st.lists(PICK, max_size=2))
    def submit(self, size: int, spec: RunSpec, needs: list[int]) -> None:
        names = [f"r{self.count + i}" for i in range(size)]
        self.count += size
        known = [*self.fleet.runs, *names]
        wanted = [{known[n % len(known)] for n in needs} - {name} for name in names]
        self._submit(
            tuple(
                structs.replace(spec, id=name, name=name, needs=tuple(sorted(need)))
                for name, need in zip(names, wanted, strict=True)
            )
        )

    @rule(spec=SPECS)
    def submit_one(self, spec: RunSpec) -> None:
        self.count += 1
        name = f"r{self.count - 1}"
        self._submit((structs.replace(spec, id=name, name=name),))

    def _submit(self, specs: tuple[RunSpec, ...]) -> None:
        self.tell(Submitted(self.yard.now, specs))

    @rule(specs=st.lists(SPECS, min_size=3, max_size=6))
    def the_house_fills(self, specs: list[RunSpec]) -> None:
        """Many come, and all that start do run: what follows has somebody to happen to."""
        for spec in specs:
            self.submit_one(spec)
        for run in list(self.fleet.live_runs()):
            self.tell(Started(self.yard.now, run.attempt))

    @precondition(some_live)
    @rule(
        spec=SPECS,
        memory=st.sampled_from([6 * GIB, 10 * GIB]),
        priority=st.sampled_from([Priority.CRITICAL, Priority.HIGH, Priority.NORMAL]),
        seconds=st.sampled_from([30.0, 61.0]),
    )
    def an_urgent_one_comes(
        self, spec: RunSpec, memory: int, priority: Priority, seconds: float
    ) -> None:
        for run in list(self.fleet.live_runs()):
            self.tell(Started(self.yard.now, run.attempt))
        self.host_is_calm(6.0, 10.0)
        self.time_passes(seconds)
        self.submit_one(structs.replace(spec, priority=priority, limit_bytes=memory))

    @precondition(some_live)
    @rule(percent=st.sampled_from([86.0, 92.0, 96.0]), times=st.integers(1, 4))
    def pressure_stays(self, percent: float, times: int) -> None:
        """The agents are at their limits, and it does not get better by itself."""
        for _ in range(times):
            used = {run.attempt: run.limit_bytes for run in self.fleet.live_runs()}
            host = Host(int(16 * GIB * (100 - percent) / 100), percent, 16 * GIB)
            self.tell(Sampled(self.yard.now + 5.0, host, used))

    @precondition(some_starting)
    @rule(number=PICK)
    def start_is_confirmed(self, number: int) -> None:
        run = self.pick(number, Starting)
        assert run is not None
        self.tell(Started(self.yard.now, run.attempt))

    @precondition(some_starting)
    @rule(number=PICK, permanent=st.booleans())
    def spawn_fails(self, number: int, *, permanent: bool) -> None:
        run = self.pick(number, Starting)
        assert run is not None
        self.tell(SpawnFailed(self.yard.now, run.attempt, "no such file", permanent))

    @precondition(some_live)
    @rule(number=PICK, ended=EXITS, empty=st.booleans())
    def attempt_exits(self, number: int, ended: Exit, *, empty: bool) -> None:
        self.tell(Exited(self.yard.now, self.pick_live(number).attempt, ended, empty))

    @precondition(some_live)
    @rule(group=GROUPS, code=st.sampled_from([1, 1, 75]))
    def a_group_goes_wrong(self, group: str, code: int) -> None:
        for run in list(self.fleet.live_runs()):
            if run.spec.group == group:
                self.tell(Exited(self.yard.now, run.attempt, Exit(code)))

    @precondition(some_stopping)
    @rule(number=PICK, ended=EXITS, empty=st.booleans())
    def stopping_attempt_exits(self, number: int, ended: Exit, *, empty: bool) -> None:
        run = self.pick(number, Stopping)
        assert run is not None
        self.tell(Exited(self.yard.now, run.attempt, ended, empty))

    @precondition(some_live)
    @rule(number=PICK)
    def attempt_empties(self, number: int) -> None:
        self.tell(Emptied(self.yard.now, self.pick_live(number).attempt))

    @precondition(some_live)
    @rule(number=PICK, permanent=st.booleans())
    def attempt_is_lost(self, number: int, *, permanent: bool = False) -> None:
        attempt = self.pick_live(number).attempt
        self.tell(AttemptLost(self.yard.now, attempt, "reboot", permanent=permanent))

    @precondition(some_starting)
    @rule(number=PICK, retry_s=st.sampled_from([0.0, 2.0]))
    def a_start_is_put_off(self, number: int, retry_s: float) -> None:
        run = self.pick(number, Starting)
        assert run is not None
        why, placeless = "no room on the disk", retry_s > 0 and number % 2 == 0
        self.tell(StartPutOff(self.yard.now, run.attempt, why, retry_s, placeless))

    @rule(count=st.integers(0, 3))
    def places_come_free(self, count: int) -> None:
        self.tell(PlacesFreed(self.yard.now, count))

    @precondition(some_starting)
    @rule(number=PICK, factor=st.sampled_from([1.0, 1.25, 2.0]))
    def its_repository_is_weighed(self, number: int, factor: float) -> None:
        run = self.pick(number, Starting)
        assert run is not None
        self.tell(RepositoryWeighed(self.yard.now, run.attempt, factor))

    @precondition(some_starting)
    @rule(number=PICK)
    def a_start_takes_longer(self, number: int) -> None:
        run = self.pick(number, Starting)
        assert run is not None
        self.tell(StartTakesLonger(self.yard.now, run.attempt, "its repository is cloned"))

    @precondition(some_live)
    @rule(
        number=PICK,
        outcome=st.sampled_from([Outcome.CANCELLED, Outcome.TIMEOUT_EXCEEDED]),
    )
    def a_stop_is_found(self, number: int, outcome: Outcome) -> None:
        attempt = self.pick_live(number).attempt
        self.tell(StopFound(self.yard.now, attempt, outcome, "an emergency"))

    @precondition(some_live)
    @rule(number=PICK)
    def limit_is_passed(self, number: int) -> None:
        self.tell(LimitPassed(self.yard.now, self.pick_live(number).attempt, "throttled for 30 s"))

    @precondition(some_live)
    @rule(number=PICK)
    def something_is_noticed(self, number: int) -> None:
        run = self.pick_live(number)
        self.tell(Noticed(self.yard.now, run.attempt, "its processes are all in use"))

    @precondition(some_stopping)
    @rule(number=PICK)
    def checkpoint_is_written(self, number: int) -> None:
        run = self.pick(number, Stopping)
        assert run is not None
        self.tell(CheckpointWritten(self.yard.now, run.attempt))

    @rule(
        host=HOSTS,
        used=st.lists(st.sampled_from([0.2, 0.9, 1.8, 4.5]), max_size=6),
        seconds=st.sampled_from([0.0, 1.0, 6.0]),
    )
    def host_is_sampled(self, host: Host, used: list[float], seconds: float) -> None:
        live = [run.attempt for run in self.fleet.live_runs()]
        sizes = {attempt: int(u * GIB) for attempt, u in zip(live, used, strict=False)}
        self.tell(Sampled(self.yard.now + seconds, host, sizes))

    @rule(
        others_gib=st.sampled_from([0.5, 2.0, 4.0, 8.0]),
        shares=st.lists(st.sampled_from([0.1, 0.4, 0.9, 1.0]), min_size=1, max_size=4),
        slowdown=st.sampled_from([1.0, 1.0, 1.5, 3.0]),
        seconds=st.sampled_from([0.0, 1.0, 6.0, 60.0]),
    )
    def memory_is_used(
        self, others_gib: float, shares: list[float], slowdown: float, seconds: float
    ) -> None:
        """What the agents use and what the host has free belong together, as they do in life."""
        used = {
            run.attempt: int(run.limit_bytes * shares[number % len(shares)])
            for number, run in enumerate(self.fleet.live_runs())
        }
        taken = sum(used.values()) + int(others_gib * GIB)
        free = max(0, 16 * GIB - taken)
        host = Host(free, 100 * (1 - free / (16 * GIB)), 16 * GIB, slowdown=slowdown)
        self.tell(Sampled(self.yard.now + seconds, host, used))

    @rule(seconds=st.sampled_from([5.0, 6.0]), percent=st.sampled_from([10.0, 30.0]))
    def host_is_calm(self, seconds: float, percent: float) -> None:
        for _ in range(2):
            host = Host(int(16 * GIB * (100 - percent) / 100), percent, 16 * GIB)
            self.tell(Sampled(self.yard.now + seconds, host))

    @rule(seconds=st.sampled_from([0.0, 1.0, 20.0, 61.0, 700.0, 4000.0]))
    def time_passes(self, seconds: float) -> None:
        self.tell(TimePassed(self.yard.now + seconds))

    @rule(times=st.integers(1, 4))
    def next_deadline_comes(self, times: int) -> None:
        for _ in range(times):
            at = self.fleet.next_deadline
            if at is not None:
                self.tell(TimePassed(at))

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

    # -- the daemon dies ------------------------------------------------------------------

    @rule()
    def daemon_is_killed(self) -> None:
        before = self.yard
        self.yard = before.reborn()
        self.yard.promises.moves |= before.promises.moves
        self.reborn = True
        assert _not_ended(self.fleet) == _not_ended(before.fleet)
        assert self.fleet.waiting == before.fleet.waiting
        assert set(self.fleet.live) == set(before.fleet.live)
        told = {action.attempt for action in owed(self.fleet) if hasattr(action, "attempt")}
        assert {r.attempt for r in self.fleet.live_runs() if not _runs(r)} <= told

    # -- the end ---------------------------------------------------------------------------

    def teardown(self) -> None:
        FleetMachine.reached.update(self.yard.promises.moves)
        if not self.reborn:
            self._replay()
        twin = self.yard.reborn()
        self.yard.drain()
        FleetMachine.reached.update(self.yard.promises.moves)
        twin.drain()
        submitted = self.yard.promises.submitted
        assert set(self.yard.outcomes()) == set(twin.outcomes()) == submitted, "no end for some"
        ends, others = self.yard.outcomes(), twin.outcomes()
        different = {run: (end, others[run]) for run, end in ends.items() if end != others[run]}
        assert different == {}, f"a restart changed an end: {different}"
        assert Outcome.PREEMPTED not in self.yard.outcomes().values()

    def _replay(self) -> None:
        """The same events give the same actions."""
        fleet = Fleet(self.first_policy)
        for event, actions in self.told:
            assert step(fleet, event) == actions
        assert fleet.runs == self.fleet.runs


def _not_ended(fleet: Fleet) -> dict[str, Run]:
    """Of the ended, no more than `keep_ended` come back."""
    return {run.id: run for run in fleet.runs.values() if not isinstance(run.state, Ended)}


def _runs(run: Run) -> bool:
    return not isinstance(run.state, Starting | Stopping)


def live_through(*, lives: int, steps: int, seed: int = 0) -> None:
    """Some lives of a fleet, the same ones each time; AssertionError from the first that fails."""

    class Seeded(FleetMachine):
        pass

    quick = settings(
        max_examples=lives,
        stateful_step_count=steps,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        print_blob=False,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(with_seed(seed)(Seeded), settings=quick)
