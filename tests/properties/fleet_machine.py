"""A generator of fleets in trouble: all that can happen to attempts, hosts and the daemon."""

from __future__ import annotations

from typing import ClassVar

from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis import seed as with_seed
from hypothesis import strategies as st
from hypothesis.stateful import (
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from msgspec import structs

from paddock.core.events import (
    AttemptLost,
    CheckpointWritten,
    Emptied,
    Exited,
    Host,
    LimitPassed,
    Noticed,
    PlacesFreed,
    RepositoryWeighed,
    Sampled,
    SpawnFailed,
    Started,
    StartPutOff,
    StartTakesLonger,
    StopFound,
    Submitted,
    TimePassed,
)
from paddock.core.fleet import Fleet
from paddock.core.policy import Policy
from paddock.core.restore import owed
from paddock.core.run import (
    Ended,
    Exit,
    Outcome,
    Priority,
    Run,
    RunSpec,
    Starting,
    Stopping,
)
from paddock.core.step import step
from paddock.core.units import GIB
from tests.kit.promises import Move
from tests.kit.yard import Yard
from tests.properties.aimed_machine import AimedMachine, some_live, some_starting, some_stopping
from tests.properties.fleet_strategies import (
    EXITS,
    GROUPS,
    HOSTS,
    PICK,
    POLICIES,
    SPECS,
)


class FleetMachine(AimedMachine):
    """The end of a life is a drain, a replay and a rebirth."""

    reached: ClassVar[set[Move]] = set()  # over all lives, for those who ask which moves were seen

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
