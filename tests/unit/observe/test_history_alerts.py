"""The ledger says which alerts were right."""

from __future__ import annotations

import math
from typing import Any

import pytest

from paddock.core.events import (
    BreakerReset,
    CancelRequested,
    Event,
    Exited,
    Host,
    Sampled,
    Started,
    Submitted,
)
from paddock.core.fleet import Change, Fleet
from paddock.core.run import Attempt, Exit, Hold, Outcome, RunSpec, StopPhase, Stopping
from paddock.core.step import step
from paddock.core.units import GIB, parse_duration
from paddock.observe import alerts
from paddock.observe.history import Recorder, Seen
from paddock.observe.history_alerts import (
    BREAKER,
    DISK,
    JUDGED,
    LASTS_S,
    MEMORY,
    NOT_JUDGED,
    PRESSURE,
    QUEUE,
    QUIET,
    QUOTA,
    STORMS,
    Alerts,
)
from paddock.ports import LedgerEntry
from tests.kit.factories import a_host, a_policy, a_run, a_spec

TIGHT = Host(available_bytes=int(2.9 * GIB), used_percent=82.0, total_bytes=16 * GIB)


class Watched:
    def __init__(self, **policy: Any) -> None:
        self.fleet = Fleet(a_policy(**policy))
        self.recorder = Recorder(self.fleet)
        self.written: dict[Attempt, tuple[int, float]] = {}
        self.alerts = Alerts(self.fleet, self.recorder)
        self.alerts.written = self.written.get

    def feed(self, event: Event) -> None:
        step(self.fleet, event)
        for change in self.fleet.changes:
            self.alerts.changed(change)

    def look(
        self,
        at: float,
        host: Host | None = None,
        seen: Seen = Seen(),  # noqa: B008 - frozen
        *,
        trouble: bool = False,
        **used: int,
    ) -> None:
        attempts = {Attempt(run, 1): size for run, size in used.items()}
        self.feed(Sampled(at, host or a_host(), attempts))
        self.alerts.look(seen, trouble=trouble, at=at)

    def start(self, at: float, *specs: RunSpec) -> None:
        self.feed(Sampled(at, a_host()))
        self.feed(Submitted(at, specs))
        for spec in specs:
            self.feed(Started(at, Attempt(spec.id, 1)))

    def fail(self, at: float, run: str, **how: object) -> None:
        self.feed(Exited(at, Attempt(run, 1), Exit(**{"code": 1, **how})))  # type: ignore[arg-type]

    def told(self, kind: str) -> LedgerEntry | None:
        found = [one for one in self.recorder.gathered.entries.values() if one.kind == kind]
        assert len(found) <= 1
        return found[0] if found else None


def verdict(watched: Watched, kind: str) -> str:
    entry = watched.told(kind)
    assert entry is not None and entry.until_at is not None
    return entry.verdict


def test_pressure_after_which_nothing_happened_was_a_false_alarm() -> None:
    watched = Watched()
    watched.look(0.0, TIGHT)
    begun = watched.told(PRESSURE)
    assert begun is not None and begun.until_at is None
    for at in (60.0, 120.0, 360.0, 430.0, 700.0):
        watched.look(at)
    assert verdict(watched, PRESSURE) == "false"


def test_pressure_that_held_somebody_back_was_right() -> None:
    watched = Watched()
    watched.look(0.0, TIGHT)
    watched.feed(Submitted(1.0, (a_spec("waits"),)))
    watched.look(2.0, TIGHT)
    for at in (60.0, 120.0, 430.0, 800.0):
        watched.look(at)
    assert verdict(watched, PRESSURE) == "true"


def test_an_agent_close_to_its_wall_for_long_that_was_killed_there() -> None:
    watched = Watched()
    watched.start(0.0, a_spec("near"))
    watched.look(10.0, near=int(1.9 * GIB))
    watched.look(200.0, near=int(1.9 * GIB))
    assert watched.told(MEMORY) is None  # not for long enough
    watched.look(311.0, near=int(1.9 * GIB))
    assert watched.told(MEMORY) is not None
    watched.fail(320.0, "near", code=None, signal=9, oom=True)
    watched.look(330.0)
    assert verdict(watched, MEMORY) == "true"


def test_one_that_came_to_a_good_end_there_was_warned_of_in_vain() -> None:
    watched = Watched()
    watched.start(0.0, a_spec("near"))
    for at in (10.0, 311.0):
        watched.look(at, near=int(1.9 * GIB))
    watched.fail(320.0, "near", code=0)
    watched.look(330.0)
    assert verdict(watched, MEMORY) == "false"


def test_a_breaker_is_right_when_the_next_one_fails_as_well() -> None:
    for again, expected in ((True, "true"), (False, "false")):
        watched = Watched()
        specs = [a_spec(f"run-{n}") for n in range(3)]
        watched.start(0.0, *specs)
        for spec in specs:
            watched.fail(1.0, spec.id)
        watched.look(2.0)
        if again:
            watched.feed(Sampled(100.0, a_host()))
            watched.start(100.0, a_spec("probe"))
            watched.fail(101.0, "probe")
            watched.look(102.0)
        watched.feed(BreakerReset(300.0, "coder"))
        watched.look(301.0)
        watched.look(700.0)
        assert verdict(watched, BREAKER) == expected


def test_a_full_disk_on_which_nothing_could_be_written_was_worth_an_alert() -> None:
    full = Seen(disk_bytes=100 * GIB, disk_free_bytes=GIB // 2)
    free = Seen(disk_bytes=100 * GIB, disk_free_bytes=50 * GIB)
    for trouble, expected in ((True, "true"), (False, "false")):
        watched = Watched()
        watched.look(0.0, seen=full, trouble=trouble)
        watched.look(10.0, seen=free)
        watched.look(320.0, seen=free)
        assert verdict(watched, DISK) == expected


def test_the_disk_is_nearly_full_where_the_table_of_alerts_says_so() -> None:
    share, least = alerts.LITTLE_DISK_SHARE, alerts.LITTLE_DISK_BYTES
    small, large = 100 * GIB, 4096 * GIB
    for total, edge in ((small, int(share * small)), (large, least)):
        for free, is_on in ((edge - 1, True), (edge, False)):
            watched = Watched()
            watched.look(0.0, seen=Seen(disk_bytes=total, disk_free_bytes=free))
            assert (watched.told(DISK) is not None) is is_on
    [rule] = [one for one in alerts.HOST if one.name == "PaddockDiskNearlyFull"]
    assert f"< {share} and" in rule.expr and rule.expr.endswith(f"< {least}")


def test_one_that_comes_back_before_it_is_judged_is_the_same() -> None:
    watched = Watched()
    full = Seen(disk_bytes=100 * GIB, disk_free_bytes=0)
    free = Seen(disk_bytes=100 * GIB, disk_free_bytes=50 * GIB)
    for at, seen in ((0.0, full), (10.0, free), (20.0, full), (30.0, free), (400.0, free)):
        watched.look(at, seen=seen)
    entry = watched.told(DISK)
    assert entry is not None and (entry.at, entry.until_at) == (0.0, 30.0)


def test_every_alert_of_the_table_is_judged_or_it_is_said_why_not() -> None:
    names = [alert.name for alert in alerts.HOST]
    assert sorted([*JUDGED.values(), *NOT_JUDGED]) == sorted(names)
    rules = {alert.name: alert for alert in alerts.HOST}
    for kind, lasts_s in LASTS_S.items():
        assert parse_duration(rules[JUDGED[kind]].lasts) == lasts_s


@pytest.mark.parametrize(("again", "expected"), [(True, "true"), (False, "false")])
def test_memory_nearly_used_up_is_right_when_somebody_has_to_give_way(
    *, again: bool, expected: str
) -> None:
    watched = Watched()
    half = f"{watched.fleet.policy.wall_bytes // 2 >> 20}M"
    watched.start(0.0, *(a_spec(name, memory=half) for name in ("a", "b")))
    high = int(0.41 * watched.fleet.policy.wall_bytes)
    for at in (10.0, 200.0):
        watched.look(at, a=high, b=high)
        assert watched.told(QUOTA) is None
    watched.look(320.0, a=high, b=high)
    begun = watched.told(QUOTA)
    assert begun is not None and begun.subject == "memory"
    if again:
        watched.fail(330.0, "a", code=None, signal=9, fleet_oom=True)
    for at in (340.0, 400.0, 700.0):
        watched.look(at, a=GIB, b=GIB)
    assert verdict(watched, QUOTA) == expected


@pytest.mark.parametrize(("more", "expected"), [(True, "true"), (False, "false")])
def test_a_queue_nearly_full_is_right_when_it_becomes_full(*, more: bool, expected: str) -> None:
    watched = Watched(queue_depth=10)
    watched.start(0.0, a_spec("at-work", memory="12G"))
    waiting = [a_spec(f"w{n}", memory="12G") for n in range(10)]
    watched.feed(Submitted(1.0, tuple(waiting[:9])))
    for at in (10.0, 320.0):
        watched.look(at)
    begun = watched.told(QUOTA)
    assert begun is not None and begun.subject == "queue"
    if more:
        watched.feed(Submitted(330.0, (waiting[9],)))
        watched.look(331.0)
    for spec in waiting:
        if spec.id in watched.fleet.runs:
            watched.feed(CancelRequested(340.0, spec.id))
    for at in (350.0, 700.0):
        watched.look(at)
    assert verdict(watched, QUOTA) == expected


def test_an_agent_that_is_quiet_for_long_is_warned_of_in_vain_if_it_comes_to_a_good_end() -> None:
    for code, expected in ((0, "false"), (1, "true")):
        watched = Watched()
        watched.start(0.0, a_spec("quiet", hard_timeout_s=math.inf))
        watched.written[Attempt("quiet", 1)] = (7, 600.0)  # its last word
        for at in (600.0 + alerts.QUIET_S, 600.0 + alerts.QUIET_S + 299):
            watched.look(at)
            assert watched.told(QUIET) is None
        watched.look(600.0 + alerts.QUIET_S + 301)
        assert watched.told(QUIET) is not None
        watched.fail(3000.0, "quiet", code=code)
        watched.look(3001.0)
        assert verdict(watched, QUIET) == expected


def test_an_agent_that_speaks_again_was_only_thinking() -> None:
    watched = Watched()
    watched.start(0.0, a_spec("thinks", hard_timeout_s=math.inf))
    watched.look(2200.0)
    watched.written[Attempt("thinks", 1)] = (7, 2205.0)
    for at in (2210.0, 2520.0):
        watched.look(at)
    assert verdict(watched, QUIET) == "false"


def test_a_queue_that_does_not_move_is_right_unless_others_are_at_work() -> None:
    for given_up, expected in ((False, "false"), (True, "true")):
        watched = Watched()
        watched.start(0.0, a_spec("at-work", memory="12G"))
        watched.feed(Submitted(1.0, (a_spec("waits", memory="12G"),)))
        watched.look(2.0)
        watched.look(2390.0)
        assert watched.told(QUEUE) is None
        watched.look(2410.0)
        assert watched.told(QUEUE) is not None
        if given_up:
            watched.feed(CancelRequested(2420.0, "waits"))
        watched.fail(2430.0, "at-work", code=0)
        for at in (2440.0, 2800.0):
            watched.look(at)
        assert verdict(watched, QUEUE) == expected


def test_a_queue_that_memory_holds_back_is_worth_an_alert() -> None:
    watched = Watched()
    watched.look(0.0, TIGHT)
    watched.feed(Submitted(1.0, (a_spec("waits"),)))
    for at in (2.0, 2410.0):
        watched.look(at, TIGHT)
    for at in (2420.0, 2500.0, 2600.0, 3000.0):
        watched.look(at)
    assert verdict(watched, QUEUE) == "true"


def test_a_storm_is_right_when_it_goes_on() -> None:
    for more, expected in ((0, "false"), (1, "true")):
        watched = Watched()
        watched.look(0.0)
        preempted(watched, alerts.STORM, at=10.0)
        watched.look(20.0)
        assert watched.told(STORMS) is None
        preempted(watched, 1, at=30.0)
        watched.look(40.0)
        assert watched.told(STORMS) is not None
        preempted(watched, more, at=50.0)
        for at in (700.0, 1010.0):
            watched.look(at)
        assert verdict(watched, STORMS) == expected


def preempted(watched: Watched, count: int, *, at: float) -> None:
    """So many that were stopped for others, and wait again."""
    hold = Hold(limit_bytes=GIB, expected_bytes=GIB)
    state = Stopping(
        since_at=at,
        attempt=1,
        hold=hold,
        started_at=at,
        outcome=Outcome.PREEMPTED,
        because="for another",
        phase=StopPhase.KILLED,
        deadline_at=at,
    )
    watched.feed(Sampled(at, a_host()))
    for number in range(count):
        run = a_run(a_spec(f"run-{at:g}-{number}"))
        watched.alerts.changed(Change(run, state, "it made room"))
