"""The ledger says which alerts were right."""

from __future__ import annotations

from paddock.core.events import BreakerReset, Event, Exited, Host, Sampled, Started, Submitted
from paddock.core.fleet import Fleet
from paddock.core.run import Attempt, Exit, RunSpec
from paddock.core.step import step
from paddock.core.units import GIB
from paddock.observe import alerts
from paddock.observe.history import Recorder, Seen
from paddock.observe.history_alerts import BREAKER, DISK, MEMORY, PRESSURE, Alerts
from paddock.ports import LedgerEntry
from tests.kit.factories import a_host, a_policy, a_spec

TIGHT = Host(available_bytes=int(2.9 * GIB), used_percent=82.0, total_bytes=16 * GIB)


class Watched:
    def __init__(self) -> None:
        self.fleet = Fleet(a_policy())
        self.recorder = Recorder(self.fleet)
        self.alerts = Alerts(self.fleet, self.recorder)

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
