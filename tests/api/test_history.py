"""The past over the API: points, groups and the ledger; bounded answers, plain refusals."""

from __future__ import annotations

import time

import pytest

from paddock.client import BadRequest, Client
from paddock.ports import LedgerEntry, Rollup
from paddock.storage.rollup import DAY_S, HOUR_S, MINUTE_S, FleetSpan, GroupSpan, packed, put
from tests.kit.desk import ServedDesk, an_agent

GIB = 1 << 30


def hour_of(at: float) -> int:
    return int(at // HOUR_S * HOUR_S)


def fill(desk: ServedDesk) -> float:
    """Two hours of minutes and ten days of hours, up to now."""
    now_at = time.time()
    minute = int(now_at // MINUTE_S * MINUTE_S)
    span = FleetSpan(
        seconds=60.0,
        agents_s=120.0,
        agents_max=3,
        used_s=60.0 * GIB,
        readable_s=60.0,
        used_percent_s=60 * 40.0,
        rungs_s={0: 50.0, 2: 10.0},
        rung_max=2,
        cpu_s=60.0,
        cpu_of_s=120.0,
        starts=1,
        ends={"succeeded": 1},
    )
    put(span.waits, 2.0, 0.01)
    rollups = [Rollup(MINUTE_S, minute - n * 60, None, packed(span)) for n in range(120)]
    hours = [Rollup(HOUR_S, hour_of(now_at) - n * HOUR_S, None, packed(span)) for n in range(240)]
    group = GroupSpan(seconds=100.0, limits_s=400.0 * GIB, attempts=4, limit_bytes=4 * GIB)
    put(group.peaks, GIB, 1024.0 * 1024)
    day = int(now_at // DAY_S * DAY_S)
    days = [Rollup(DAY_S, day - n * DAY_S, "coder", packed(group)) for n in range(3)]
    entry = LedgerEntry(kind="memory", subject="r", at=now_at - 60, until_at=now_at, verdict="true")
    desk.store.record([*rollups, *hours, *days], [entry], now_at=now_at)
    return now_at


def test_a_day_by_minutes_unless_asked_otherwise(desk: ServedDesk, client: Client) -> None:
    fill(desk)
    found = client.history()
    assert found.step_s == 60 and len(found.points) == 120
    point = found.points[-1]
    assert (point.agents, point.agents_max, point.memory_percent) == (2.0, 3, 40.0)
    assert (point.cpu_percent, point.ladder, point.starts) == (50.0, "queue", 1)
    assert point.ladder_s == {"calm": 50.0, "queue": 10.0}
    assert point.ends == {"succeeded": 1} and point.wait_p95_s == pytest.approx(2.0, rel=0.06)
    assert point.workspace_bytes is None
    assert (found.groups, found.ledger) == ((), ())


def test_coarser_points_add_up(desk: ServedDesk, client: Client) -> None:
    now_at = fill(desk)
    found = client.history(since_at=now_at - 3600, step_s=600)
    assert sum(point.starts for point in found.points) in range(60, 71)  # the first one is whole
    assert {point.agents for point in found.points} == {2.0}
    assert all(point.at % 600 == 0 for point in found.points)


def test_long_ago_is_told_by_hours(desk: ServedDesk, client: Client) -> None:
    now_at = fill(desk)
    found = client.history(since_at=now_at - 9 * DAY_S)
    assert found.step_s == 3600 and len(found.points) == 9 * 24 + 1
    by_days = client.history(since_at=now_at - 9 * DAY_S, step_s=86400)
    assert len(by_days.points) == 10


def test_groups_and_the_ledger_when_asked_for(desk: ServedDesk, client: Client) -> None:
    now_at = fill(desk)
    found = client.history(since_at=now_at - 5 * DAY_S, groups=True, ledger=True)
    [group] = found.groups
    assert (group.group, group.days, group.attempts, group.agent_s) == ("coder", 3, 12, 300.0)
    assert group.limits_bytes == 4 * GIB and sum(count for _, count in group.peaks) == 3
    [entry] = found.ledger
    assert (entry.kind, entry.verdict) == ("memory", "true")


def test_a_group_has_the_name_of_its_last_run(desk: ServedDesk, client: Client) -> None:
    now_at = fill(desk)
    for expected in (None, "nightly"):
        [group] = client.history(since_at=now_at - 5 * DAY_S, groups=True).groups
        assert group.last_run == expected
        desk.submit(an_agent("nightly", "sleep=60", group="coder"))


def test_more_groups_than_a_page_come_all(desk: ServedDesk, client: Client) -> None:
    now_at = time.time()
    day = int(now_at // DAY_S * DAY_S)
    data = packed(GroupSpan(seconds=1.0))
    for back in range(4):
        rollups = [Rollup(DAY_S, day - back * DAY_S, f"g{n}", data) for n in range(390)]
        desk.store.record(rollups, now_at=now_at)
    found = client.history(since_at=now_at - 10 * DAY_S, groups=True).groups
    assert len(found) == 390 and {group.days for group in found} == {4}


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"since_at": 2e9, "until_at": 1e9}, "since: "),
        ({"step_s": 61}, "step: found 61; allowed: 60, "),
        ({"since_at": 1.0, "step_s": 60}, "3600 or more"),
        ({"since_at": float("nan")}, "since: found 'nan'"),
    ],
)
def test_what_cannot_be_answered_is_declined(
    client: Client, asked: dict[str, float], told: str
) -> None:
    with pytest.raises(BadRequest) as declined:
        client.history(**asked)  # type: ignore[arg-type]
    assert told in str(declined.value)


def test_rows_that_rotted_are_gaps(desk: ServedDesk, client: Client) -> None:
    now_at = fill(desk)
    rotten = [
        Rollup(MINUTE_S, int(now_at // MINUTE_S * MINUTE_S) - 7200, None, b"\xc1"),
        Rollup(DAY_S, int(now_at // DAY_S * DAY_S), "rotten", b"\xc1"),
    ]
    desk.store.record(rotten, now_at=now_at)
    found = client.history(groups=True)
    assert sum(point.starts for point in found.points) == 120
    assert [group.group for group in found.groups] == ["coder"]
