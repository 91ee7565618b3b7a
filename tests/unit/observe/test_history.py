"""The recorder counts what a fleet really did."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.cluster.client import Refused
from paddock.core.events import (
    CancelRequested,
    Event,
    Exited,
    PolicyChanged,
    Sampled,
    SpawnFailed,
    Started,
    Submitted,
    TimePassed,
)
from paddock.core.fleet import Fleet
from paddock.core.run import Attempt, Exit, RunSpec
from paddock.core.step import step
from paddock.core.units import GIB
from paddock.observe.changes import OVER_QUOTA
from paddock.observe.history import MOST_ENTRIES, MOST_MINUTES, Recorder, Seen
from paddock.ports import LedgerEntry
from paddock.storage.rollup import FleetSpan, GroupSpan, edge, put, quantile
from tests.kit.factories import a_host, a_policy, a_spec

WALL_AT = 1_790_000_000.0 // 3600 * 3600


class Played:
    """A fleet and its recorder, on a clock of the test's own."""

    def __init__(self, **policy: Any) -> None:
        self.fleet = Fleet(a_policy(**policy))
        self.recorder = Recorder(self.fleet)
        self.feed(Sampled(0.0, a_host()))
        self.look(0.0)

    def feed(self, event: Event) -> None:
        self.recorder.heard(event)
        step(self.fleet, event)
        for change in self.fleet.changes:
            self.recorder.changed(change)

    def look(self, at: float, seen: Seen = Seen(), **used: int) -> None:  # noqa: B008 - frozen
        attempts = {Attempt(run, 1): size for run, size in used.items()}
        self.feed(Sampled(at, a_host(), attempts))
        self.recorder.look(seen, at=WALL_AT + at)

    def submit(self, at: float, *specs: RunSpec) -> None:
        self.feed(Submitted(at, specs))

    def start(self, at: float, *specs: RunSpec) -> None:
        self.submit(at, *specs)
        for spec in specs:
            self.feed(Started(at + 1, Attempt(spec.id, 1)))

    def end(self, at: float, run: str, *, attempt: int = 1, **how: object) -> None:
        ended = Exit(**{"code": 0, **how})  # type: ignore[arg-type]
        self.feed(Exited(at, Attempt(run, attempt), ended))

    def hour(self) -> FleetSpan:
        [span] = self.recorder.gathered.hours.values()
        return span

    def quota_refusals(self) -> int:
        return sum(span.quota_refusals for span in self.recorder.gathered.hours.values())

    def group(self, name: str = "coder") -> GroupSpan:
        [found] = [span for (_, n), span in self.recorder.gathered.groups.items() if n == name]
        return found


def test_levels_are_averages_over_what_was_seen() -> None:
    played = Played()
    played.start(0.0, a_spec("one"), a_spec("two"))
    played.look(10.0, one=GIB, two=GIB // 2)
    played.look(20.0, one=GIB, two=GIB // 2)
    span = played.hour()
    assert span.seconds == 20 and span.agents_max == 2
    assert span.agents_s == pytest.approx(2 * 19)  # they ran from second 1 on
    assert span.used_s == pytest.approx(1.5 * GIB * 20) and span.used_max == 1.5 * GIB
    assert span.limits_s == pytest.approx(4 * GIB * 19)
    assert played.group().seconds == pytest.approx(38)


def test_what_lived_between_two_looks_is_counted_too() -> None:
    played = Played()
    played.start(2.0, a_spec("short"))
    played.end(5.0, "short", peak_bytes=GIB)
    played.look(10.0)
    group = played.group()
    assert group.seconds == pytest.approx(2.0) and group.limits_s == pytest.approx(2.0 * 2 * GIB)
    assert group.ends == {"succeeded": 1} and group.attempts == 1
    assert quantile(group.peaks, 1.0, 1024.0 * 1024) == pytest.approx(GIB, rel=0.05)
    assert played.hour().agents_max == 1 and played.hour().starts == 1


def test_an_out_of_memory_kill_counts_whether_it_is_tried_again_or_not() -> None:
    played = Played()
    played.start(0.0, a_spec("again", retries=1), a_spec("over"))
    played.end(5.0, "again", code=None, signal=9, oom=True)
    played.end(5.0, "over", code=None, signal=9, oom=True)
    assert (played.hour().ooms, played.hour().fleet_ooms) == (2, 0)
    assert played.hour().ends == {"memory_limit_exceeded": 1}
    assert played.group().ooms == 2


def test_a_kill_at_the_fleets_wall_is_another_matter() -> None:
    played = Played()
    played.start(0.0, a_spec("a"))
    played.end(5.0, "a", code=None, signal=9, oom=True, fleet_oom=True)
    assert (played.hour().ooms, played.hour().fleet_ooms) == (0, 1)


def test_waits_and_starts_are_told_apart() -> None:
    played = Played()
    played.start(0.0, a_spec("large", memory="12G"), a_spec("small"))
    played.end(61.0, "large")
    waits = played.hour().waits
    assert sum(waits.values()) == 2
    assert quantile(waits, 0.99, 0.01) == pytest.approx(61.0, rel=0.06)
    assert quantile(played.hour().begins, 0.5, 0.01) == pytest.approx(1.0, rel=0.06)


def test_agents_close_to_their_own_wall_are_pressed() -> None:
    played = Played()
    played.start(0.0, a_spec("near"), a_spec("far"))
    played.look(11.0, near=int(1.9 * GIB), far=GIB)
    assert played.hour().pressed_s == pytest.approx(10.0)


def test_a_machine_that_slept_was_not_seen_meanwhile() -> None:
    played = Played()
    played.look(8 * 3600.0)
    assert sum(span.seconds for span in played.recorder.gathered.hours.values()) == 60


def test_what_nobody_could_tell_is_not_zero() -> None:
    played = Played()
    played.look(10.0)
    assert played.hour().workspace_bytes is None and played.hour().cpu_of_s == 0
    played.look(20.0, Seen(cores=2, cpu_s=10.0, workspace_bytes=5))
    assert played.hour().workspace_bytes == 5
    assert played.hour().cpu_s / played.hour().cpu_of_s == 0.5


def test_while_nothing_can_be_written_minutes_go_and_hours_stay() -> None:
    played = Played()
    for minute in range(3 * MOST_MINUTES):
        played.look(minute * 60.0)
    gathered = played.recorder.take()
    assert len(gathered.minutes) == MOST_MINUTES
    assert sum(span.seconds for span in gathered.hours.values()) == (3 * MOST_MINUTES - 1) * 60


def test_a_sketch_is_right_within_its_bins() -> None:
    sketch: dict[int, int] = {}
    for value in range(1, 1001):
        put(sketch, value, 0.01)
    for share in (0.1, 0.5, 0.95):
        found = quantile(sketch, share, 0.01)
        assert found is not None and 1000 * share <= found <= 1000 * share * 1.0501
    assert quantile({}, 0.5, 0.01) is None and edge(0, 2.0) == 2.0


def test_a_run_that_only_waits_is_counted_and_makes_no_group() -> None:
    played = Played()
    played.start(0.0, a_spec("a", memory="12G"))
    played.recorder.take()
    played.feed(Submitted(1.0, (a_spec("b", memory="12G", group="newer"),)))
    assert played.hour().submitted == 1
    assert played.recorder.gathered.groups == {}


def test_what_was_taken_is_not_added_to_any_more() -> None:
    played = Played()
    played.feed(Submitted(0.0, (a_spec("a"),)))
    [taken] = played.recorder.take().hours.values()
    played.feed(Submitted(1.0, (a_spec("b"),)))
    played.look(3700.0)
    played.feed(Submitted(3701.0, (a_spec("c"),)))
    assert taken.submitted == 1
    hours = played.recorder.gathered.hours
    assert [hours[at].submitted for at in sorted(hours)] == [1, 1]


def test_while_the_store_cannot_be_written_the_newest_of_the_ledger_wait_for_it() -> None:
    recorder = Played().recorder
    for number in range(MOST_ENTRIES + 100):
        recorder.note(LedgerEntry(kind="alert", subject="a", at=float(number)))
    newest = LedgerEntry(kind="alert", subject="a", at=MOST_ENTRIES + 99.0, until_at=1e9)
    recorder.note(newest)  # its end: the same entry, not one more
    kept = list(recorder.gathered.entries.values())
    assert len(kept) == MOST_ENTRIES
    assert kept[0].at == 100.0 and kept[-1] == newest


def test_a_run_that_is_turned_away_at_a_full_queue_failed_at_a_quota() -> None:
    played = Played(queue_depth=1)
    played.submit(1.0, a_spec("large", memory="12G"))
    played.submit(2.0, a_spec("waits", memory="12G"))
    played.submit(3.0, a_spec("one"), a_spec("two"))
    assert "one" not in played.fleet.runs
    assert (played.hour().submitted, played.hour().quota_refusals) == (2, 2)
    played.submit(4.0, a_spec("waits", memory="12G"))  # the same again: it was answered before
    assert played.hour().quota_refusals == 2


def test_a_run_that_ends_at_the_fleets_wall_failed_at_a_quota_and_one_at_its_own_did_not() -> None:
    played = Played()
    played.start(0.0, a_spec("own"))
    played.end(5.0, "own", code=None, signal=9, oom=True)
    assert played.hour().quota_refusals == 0
    allowed = played.fleet.policy.retry.fleet_ooms
    played.start(6.0, a_spec("shared"))
    for attempt in range(1, allowed + 2):
        played.end(1000.0 * attempt, "shared", attempt=attempt, code=None, signal=9, fleet_oom=True)
        if attempt <= allowed:
            assert played.quota_refusals() == 0  # it is tried again
            played.feed(TimePassed(1000.0 * attempt + 900))
            played.feed(Started(1000.0 * attempt + 901, Attempt("shared", attempt + 1)))
    assert played.quota_refusals() == 1


def test_a_run_for_which_the_limits_became_too_low_failed_at_a_quota() -> None:
    played = Played()
    played.submit(1.0, a_spec("large", memory="12G"), a_spec("waits", memory="11G"))
    played.feed(PolicyChanged(2.0, a_policy(total="8G")))
    assert played.hour().ends == {"refused": 1}
    assert played.hour().quota_refusals == 1


def test_one_that_could_not_be_remembered_failed_at_no_quota() -> None:
    played = Played()
    played.submit(1.0, a_spec("large", memory="12G"), a_spec("waits", memory="11G"))
    played.feed(CancelRequested(2.0, "waits", refused="the disk is full"))
    assert played.hour().ends == {"refused": 1}
    assert played.hour().quota_refusals == 0


def test_a_run_that_a_clusters_quota_gave_no_pod_failed_at_it() -> None:
    said = 'pods "x" is forbidden: exceeded quota: compute, requested: cpu=2'
    assert Refused(403, "Forbidden", said).over_quota and OVER_QUOTA in said
    for reason, count in ((f"it did not run within 600 s ({said})", 1), ("no such image", 0)):
        played = Played()
        played.submit(1.0, a_spec("pod", away=True))
        played.feed(SpawnFailed(2.0, Attempt("pod", 1), reason, permanent=True))
        assert played.hour().ends == {"spawn_failed": 1}
        assert played.hour().quota_refusals == count


def test_runs_that_began_on_full_cores_are_told_apart() -> None:
    played = Played()
    full, free = Seen(cores=2, cpu_s=19.0), Seen(cores=2, cpu_s=10.0)
    played.look(10.0, full)
    played.start(10.0, a_spec("crowded"), a_spec("pod", away=True))
    played.look(20.0, free)
    played.start(20.0, a_spec("free"))
    played.look(30.0, full)  # later is no matter
    for run in ("crowded", "pod", "free"):
        played.end(40.0, run)
    assert sum(played.group().run_times.values()) == 3
    assert sum(played.group().crowded_times.values()) == 1
    assert quantile(played.group().crowded_times, 1.0, 0.01) == pytest.approx(29.0, rel=0.06)
