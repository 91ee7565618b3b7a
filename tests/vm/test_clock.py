"""Somebody sets the clock while agents run: nobody ends early or late for it, nobody is lost."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.wire.views import RunView
from tests.kit.house import House, a_house, patiently, shell
from tests.kit.waiting import until

HOUR_S = 3600.0
BRIEF_S = 15.0
LASTING_S = HOUR_S / 2  # over at once, for whoever believes in a clock that was set by an hour
PATIENCE_S = 240.0  # a busy host's guest; and far less than an hour
CONFIG = "performance: {max_concurrent_agents: 2}\n"


@pytest.fixture
def _the_clock_is_put_right() -> Iterator[None]:
    wall_at, began = time.time(), time.monotonic()
    yield
    time.clock_settime(time.CLOCK_REALTIME, wall_at + time.monotonic() - began)


def set_clock_by(seconds: float) -> None:
    """As `date -s` does."""
    time.clock_settime(time.CLOCK_REALTIME, time.time() + seconds)


def view(house: House, run: str) -> RunView:
    def ask() -> RunView:
        with house.client() as client:
            return client.run(run)

    return patiently(ask, within_s=PATIENCE_S)


def begin(house: House, name: str, text: str, **more: float) -> str:
    (run,) = house.submit(shell(name, text, **more)).runs
    return run.id


def is_running(house: House, run: str) -> bool:
    return view(house, run).state == "running"


@pytest.mark.guest
@pytest.mark.timeout(1200)
@pytest.mark.usefixtures("_the_clock_is_put_right")
def test_a_clock_that_is_set_by_an_hour_ends_nobody_early_or_late(tmp_path: Path) -> None:
    with a_house(tmp_path, config=CONFIG) as house:
        start = functools.partial(house.paddock, "daemon", "start", within_s=PATIENCE_S)
        until(lambda: start().returncode == 0, within_s=PATIENCE_S)
        lasting = begin(house, "lasting", "sleep 1200", timeout_s=LASTING_S)
        for number, step_s in enumerate((HOUR_S, -2 * HOUR_S, HOUR_S)):
            _ends_in_time(house, f"{number}", step_s)
            assert is_running(house, lasting), view(house, lasting)
        _outlives_its_daemon(house, lasting, HOUR_S)
        _outlives_its_daemon(house, lasting, -2 * HOUR_S)
        assert house.ended([begin(house, "after", "exit 0")], within_s=PATIENCE_S)


def _ends_in_time(house: House, number: str, step_s: float) -> None:
    """One whose time is over soon, and one that waits for its place."""
    began = time.monotonic()
    brief = begin(house, f"brief-{number}", "sleep 1200", timeout_s=BRIEF_S)
    next_one = begin(house, f"next-{number}", "exit 0")
    until(lambda: is_running(house, brief), within_s=PATIENCE_S)
    set_clock_by(step_s)
    ended, followed = house.ended([brief, next_one], within_s=PATIENCE_S)
    assert time.monotonic() - began >= BRIEF_S
    assert (ended.outcome, followed.outcome) == ("timeout_exceeded", "succeeded")


def _outlives_its_daemon(house: House, run: str, step_s: float) -> None:
    """The next one reads from the disk since when it runs."""
    before = house.daemon()["epoch"]
    set_clock_by(step_s)
    assert house.kill_daemon()
    until(lambda: patiently(house.daemon, PATIENCE_S)["epoch"] > before, within_s=PATIENCE_S)
    until(lambda: is_running(house, run), within_s=PATIENCE_S)
    with house.client() as client:
        assert [one.state for one in client.runs() if one.id == run] == ["running"]
