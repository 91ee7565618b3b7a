"""The past in rollups: it adds up, comes in pages and stays bounded, in every store."""

from __future__ import annotations

import pytest

from paddock.ports import LedgerEntry, Rollup, Store
from paddock.storage import history
from paddock.storage.rollup import (
    DAY_S,
    HOUR_S,
    MINUTE_S,
    OTHERS,
    FleetSpan,
    GroupSpan,
    fleet_span,
    group_span,
    packed,
)
from tests.contract.store.conftest import Shelf

NOW_AT = 1_790_000_000 // DAY_S * DAY_S


def minute(at: int, **facts: float) -> Rollup:
    return Rollup(MINUTE_S, at, None, packed(FleetSpan(**facts)))  # type: ignore[arg-type]


def of_group(name: str, *, step_s: int = DAY_S, at: int = NOW_AT, ooms: int = 1) -> Rollup:
    return Rollup(step_s, at, name, packed(GroupSpan(ooms=ooms, peaks={3: ooms})))


def all_of(store: Store, step_s: int) -> tuple[Rollup, ...]:
    return store.rollups(step_s, since=(0, ""), until_at=9e18, limit=10_000)


def test_what_is_recorded_twice_of_one_span_adds_up(shelf: Shelf) -> None:
    shelf.store.record([minute(NOW_AT, seconds=10, starts=1, agents_max=3)], now_at=NOW_AT)
    store = shelf.reopened()
    store.record([minute(NOW_AT, seconds=20, starts=2, agents_max=2)], now_at=NOW_AT)
    [found] = all_of(store, MINUTE_S)
    span = fleet_span(found.data)
    assert (span.seconds, span.starts, span.agents_max) == (30, 3, 3)


def test_groups_add_up_apart_from_the_fleet(store: Store) -> None:
    store.record([of_group("a"), of_group("b"), of_group("a")], now_at=NOW_AT)
    found = {rollup.group: group_span(rollup.data) for rollup in all_of(store, DAY_S)}
    assert found["a"].peaks == {3: 2} and found["b"].ooms == 1


def test_pages_go_on_after_the_last_one(store: Store) -> None:
    store.record([of_group(name) for name in "abcd"], now_at=NOW_AT)
    first = store.rollups(DAY_S, since=(0, ""), until_at=9e18, limit=3)
    rest = store.rollups(DAY_S, since=(NOW_AT, first[-1].group or ""), until_at=9e18, limit=3)
    assert [rollup.group for rollup in (*first, *rest)] == ["a", "b", "c", "d"]
    assert store.rollups(DAY_S, since=(0, ""), until_at=NOW_AT, limit=3) == ()


def a_day(at: int) -> list[Rollup]:
    """Its last minute, the hour of it, and a group."""
    last = at + DAY_S - MINUTE_S
    hour = last // HOUR_S * HOUR_S
    fleet = Rollup(HOUR_S, hour, None, packed(FleetSpan(starts=1)))
    return [minute(last), fleet, of_group("a", step_s=HOUR_S, at=hour), of_group("a", at=at)]


def days_go_by(store: Store, many: int, *, first: int = 0) -> int:
    """Recorded as they go. When the last of them is over."""
    for day in range(first, first + many):
        at = NOW_AT + day * DAY_S
        store.record(a_day(at), now_at=at + DAY_S)
    return NOW_AT + (first + many) * DAY_S


def days_kept(store: Store) -> dict[str, set[int]]:
    """By kind of row, counted from the first day."""
    found: dict[str, set[int]] = {}
    for step_s in (MINUTE_S, HOUR_S, DAY_S):
        for one in all_of(store, step_s):
            kind = f"{step_s} {one.group or 'fleet'}"
            found.setdefault(kind, set()).add((one.at - NOW_AT) // DAY_S)
    return found


def test_old_spans_go_each_in_its_time(store: Store) -> None:
    days_go_by(store, 95)
    last = 94
    assert days_kept(store) == {
        "60 fleet": set(range(last - 2, last + 1)),
        "3600 fleet": set(range(last - 90, last + 1)),
        "3600 a": set(range(last - 8, last + 1)),
        "86400 a": set(range(last - 90, last + 1)),
    }


@pytest.mark.parametrize("days", [1, 5, 91])
def test_a_clock_that_is_wrong_for_a_moment_takes_nothing_with_it(store: Store, days: int) -> None:
    now_at = days_go_by(store, days)
    began = LedgerEntry(kind="pressure", subject="host", at=NOW_AT, until_at=NOW_AT)
    store.record([], [began], now_at=now_at)
    before = days_kept(store)
    for years in (1, 10, -30):
        wrong_at = now_at + years * 365 * DAY_S
        for n in range(5):
            store.record([minute(wrong_at + n * MINUTE_S)], now_at=wrong_at + n * MINUTE_S)
    store.record([], now_at=now_at)
    after = days_kept(store)
    assert {kind: days & after[kind] for kind, days in before.items()} == before
    assert began in store.ledger(since_at=0)


def test_a_day_that_never_was_counts_as_one_day(store: Store) -> None:
    now_at = days_go_by(store, 91)
    before = days_kept(store)
    wrong = a_day(now_at + 500 * DAY_S)
    store.record(wrong, now_at=now_at + 501 * DAY_S)
    gone = {kind: days - days_kept(store)[kind] for kind, days in before.items()}
    assert all(len(days) <= 1 for days in gone.values())


def test_after_long_away_the_old_goes_as_the_new_comes(store: Store) -> None:
    days_go_by(store, 91)
    days_go_by(store, 10, first=1000)
    assert len(days_kept(store)["3600 fleet"]) == 91
    assert min(days_kept(store)["3600 a"]) == 1001
    days_go_by(store, 81, first=1010)
    assert min(days_kept(store)["3600 fleet"]) == 1000


def test_too_many_groups_of_one_span_are_not_told_apart(store: Store) -> None:
    names = [f"group {n}" for n in range(history.MOST_GROUPS + 5)]
    store.record([of_group(name) for name in names], now_at=NOW_AT)
    store.record([of_group(names[0]), of_group(names[-1])], now_at=NOW_AT)
    found = {rollup.group: group_span(rollup.data).ooms for rollup in all_of(store, DAY_S)}
    assert len(found) == history.MOST_GROUPS + 1
    assert (found[names[0]], found[OTHERS]) == (2, 6)


def test_an_entry_of_the_ledger_takes_the_place_of_its_beginning(shelf: Shelf) -> None:
    began = LedgerEntry(kind="pressure", subject="host", at=NOW_AT, because="at 91 %")
    ended = LedgerEntry(
        kind="pressure", subject="host", at=NOW_AT, until_at=NOW_AT + 5, verdict="true",
        facts={"killed": 2.0},
    )  # fmt: skip
    shelf.store.record([], [began], now_at=NOW_AT)
    assert shelf.store.ledger(since_at=NOW_AT + 3600) == (began,)  # it lasts
    shelf.store.record([], [ended], now_at=NOW_AT)
    store = shelf.reopened()
    assert store.ledger(since_at=NOW_AT) == (ended,)
    assert store.ledger(since_at=NOW_AT + 3600) == ()
    days_go_by(store, 92)
    assert store.ledger(since_at=0) == ()


def test_the_ledger_keeps_the_newest(store: Store) -> None:
    entries = [
        LedgerEntry(kind="memory", subject=str(n), at=NOW_AT + n, until_at=NOW_AT + n)
        for n in range(history.MOST_ENTRIES + 3)
    ]
    store.record([], entries, now_at=NOW_AT)
    found = store.ledger(since_at=0, limit=20_000)
    assert [entry.subject for entry in found][:1] == ["3"]
    assert [entry.subject for entry in store.ledger(since_at=0, limit=2)] == ["10001", "10002"]


def test_names_that_no_text_can_hold_are_kept_all_the_same(store: Store) -> None:
    store.record([of_group("odd \udcff"), of_group("x" * 500)], now_at=NOW_AT)
    assert all_of(store, DAY_S)
