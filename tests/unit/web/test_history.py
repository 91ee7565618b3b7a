"""The last ten minutes: bounded, without holes where a second was late, with holes where it was
long."""

from __future__ import annotations

from paddock.web import charts
from paddock.web.history import BIN_S, MISSED_S, MOST_AGENTS, POINTS, SECONDS, History
from paddock.wire.views import RunView

NOW = 1_000_000


def a_view(run: str, limit_bytes: int) -> RunView:
    return RunView(
        id=run,
        name=run,
        state="running",
        outcome=None,
        exit_code=None,
        priority="normal",
        group="g",
        attempt=1,
        memory_bytes=1,
        limit_bytes=limit_bytes,
        waits_for=None,
        needs=(),
    )


def a_history(seconds: int = 30, agents: int = 2) -> History:
    history = History()
    for second in range(NOW, NOW + seconds):
        history.reach(second)
        history.host_percent.put(second, 40.0)
        history.fleet_bytes.put(second, 1 << 30)
        history.waiting.put(second, 3)
        history.at_work.put(second, agents)
        for number in range(agents):
            ring = history.of_agent(f"run{number}", f"name {number}")
            ring.put(second, (number + 1) << 20)
    return history


def test_a_second_that_was_late_is_as_the_one_before() -> None:
    history = a_history()
    history.reach(history.now + 3)
    assert history.host_percent.get(history.now - 1) == 40.0
    assert history.agents["run0"].get(history.now - 1) == 1 << 20
    assert history.host_percent.get(history.now) is None


def test_a_long_silence_is_a_hole() -> None:
    history = a_history()
    history.reach(history.now + MISSED_S + 10)
    assert history.host_percent.get(history.now - 2) is None


def test_what_is_older_than_ten_minutes_is_written_over() -> None:
    history = a_history()
    history.reach(NOW + 3 * SECONDS)
    values = history.curve(history.host_percent, history.seconds())
    assert set(values) == {None}


def test_only_so_many_agents_are_kept_and_those_seen_last_stay() -> None:
    history = a_history(agents=1)
    for number in range(MOST_AGENTS):
        history.of_agent(f"other{number}", "x")
    assert len(history.agents) == len(history.names) == MOST_AGENTS
    assert "run0" not in history.agents and "other0" in history.agents


def test_starts_ends_and_kills_are_counted_apart() -> None:
    history = a_history()
    for state, outcome in (
        *(("starting", None), ("running", None), ("starting", None)),
        *(("ended", "succeeded"), ("ended", "failed"), ("ended", "memory_limit_exceeded")),
    ):
        history.happened(float(history.now), state, outcome)
    begins_at = history.now // BIN_S * BIN_S
    for kind, count in ((0, 2), (1, 2), (2, 1)):
        bins = dict(history.bins(kind))
        assert bins.pop(begins_at) == count
        assert set(bins.values()) == {0}


def test_what_was_counted_and_heard_of_is_one_whichever_is_known_first() -> None:
    begin = NOW // 60 * 60
    for heard_first in (True, False):
        history = a_history()
        if heard_first:
            history.happened(begin + 25.0, "starting", None)
        history.counted(begin, begin + 60, starts=3, ends={"failed": 1, "cancelled": 2})
        if not heard_first:
            history.happened(begin + 25.0, "starting", None)
        # Two starts that nobody told of lie where the minute begins; one is where it was.
        assert {at: n for at, n in history.bins(0) if n} == {begin: 2, begin + 20: 1}
        assert {at: n for at, n in history.bins(1) if n} == {begin: 1}
        assert {at: n for at, n in history.bins(2) if n} == {begin: 2}


def test_more_heard_of_than_were_counted_yet_is_as_many_as_were_heard_of() -> None:
    begin = NOW // 60 * 60
    history = a_history()
    history.counted(begin, begin + 60, starts=1, ends={})
    for _ in range(4):
        history.happened(begin + 30.0, "starting", None)
    assert {at: n for at, n in history.bins(0) if n} == {begin + 30: 4}


def test_the_largest_have_names_and_the_rest_is_one() -> None:
    history = a_history(agents=12)
    options = charts.by_agent(history)
    shown = options["legend"]["data"]
    assert shown == [*(f"name {n}" for n in (10, 11, 4, 5, 6, 7, 8, 9)), "others"]
    others = options["series"][-1]["data"][-1][1]
    named = sum(one["data"][-1][1] for one in options["series"][:-1])
    assert others + named == 1 << 30


def test_an_agent_has_no_memory_where_it_was_not_seen() -> None:
    history = a_history(seconds=60, agents=1)
    history.of_agent("late", "late").put(history.now, 5 << 20)
    options = charts.by_agent(history)
    late = next(one for one in options["series"] if one["name"] == "late")
    assert late["data"][-1][1] == 5 << 20
    assert {used for _, used in late["data"][:-1]} == {None}
    assert charts.is_known(history, "late") and not charts.is_known(history, "another")


def test_what_was_before_the_first_look_is_remembered_and_changes_nothing_seen() -> None:
    history = a_history()
    history.remember(NOW - 60, NOW + 10, levels=(55.0, None, 1.0, 2.0))
    assert history.host_percent.get(NOW - 60) == 55.0
    assert history.host_percent.get(NOW + 5) == 40.0
    assert history.fleet_bytes.get(NOW - 1) is None
    assert history.seconds()[0] <= NOW - 60


def test_a_chart_has_as_many_points_however_long_it_is_open() -> None:
    history = a_history()
    counts = []
    for second in range(history.now, history.now + 2 * SECONDS):
        history.reach(second)
        counts.append(len(history.seconds()))
    assert max(counts) <= POINTS + 2
    assert min(counts) > POINTS / 2 - 2
    assert history.seconds()[0] > history.now - SECONDS


def test_an_empty_history_makes_charts_too() -> None:
    history = History()
    history.reach(NOW)
    assert charts.by_agent(history)["legend"]["data"] == []
    assert charts.queue(history)["series"][0]["data"]
    assert charts.host(history, {})["series"][0]["markLine"]["data"] == []


def test_the_ladders_lines_are_where_the_daemon_says() -> None:
    rungs = {name: 70.0 + 5 * n for n, name in enumerate(charts.RUNGS)}
    lines = charts.host(a_history(), rungs)["series"][0]["markLine"]["data"]
    assert [line["yAxis"] for line in lines] == list(rungs.values())


def test_the_wall_is_drawn_once_an_agent_comes_near_it() -> None:
    history = a_history()
    far, near = (charts.one(history, a_view("run0", size)) for size in (1 << 30, 2 << 20))
    assert far["series"][0]["markLine"]["data"] == []
    assert near["series"][0]["markLine"]["data"][0]["yAxis"] == 2 << 20
    assert near["yAxis"][0]["max"] >= 2 << 20


def test_a_peak_is_drawn_where_no_look_came_near_it() -> None:
    history = a_history()
    for peak_mib, drawn in ((1, []), (9, [9 << 20])):
        view = a_view("run0", 1 << 30)
        view.peak_bytes = peak_mib << 20
        chart = charts.one(history, view)
        assert [mark["yAxis"] for mark in chart["series"][0]["markLine"]["data"]] == drawn
        assert chart["yAxis"][0]["max"] >= peak_mib << 20


def test_the_axis_of_time_has_some_whole_minutes_however_long_it_is() -> None:
    history = a_history()
    for second in range(history.now, history.now + SECONDS + 60):
        history.reach(second)
        words = charts.queue(history)["xAxis"]["axisLabel"]["customValues"]
        assert 1 <= len(words) <= charts.MOST_WORDS
        assert all(at % 60_000 == 0 for at in words)
        assert history.seconds()[0] * 1000 <= words[0] <= words[-1] <= history.now * 1000


def test_an_axis_of_memory_has_whole_steps() -> None:
    history = a_history()
    axis = charts.by_agent(history)["yAxis"][0]
    assert axis["interval"] & (axis["interval"] - 1) == 0
    assert axis["max"] % axis["interval"] == 0 and axis["max"] > 1 << 30
