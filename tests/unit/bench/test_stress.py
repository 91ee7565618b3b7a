"""Where a measurement ends, whatever it has found so far."""

from __future__ import annotations

import signal

import pytest

from paddock.bench.cells import Limits, Outcome, Span, Unsafe, check, check_ends, span_of
from paddock.bench.watching import Watched
from paddock.wire.views import MoveView
from tests.kit.fleet_views import a_run_view

KILLED = a_run_view("hog", state="ended", outcome="failed", signal=signal.SIGKILL)


def test_more_than_half_of_the_swap_or_little_free_memory_ends_all() -> None:
    check(Watched(swap_percent=50.0, least_free_mib=512.0), Limits())
    with pytest.raises(Unsafe, match="51 % of swap are in use"):
        check(Watched(swap_percent=51.0), Limits())
    with pytest.raises(Unsafe, match="only 511 MiB were free"):
        check(Watched(least_free_mib=511.0), Limits())


def test_a_kill_for_memory_at_no_wall_of_ours_is_the_hosts_end() -> None:
    with pytest.raises(Unsafe, match="the host was out of memory: the kernel killed hog"):
        check_ends([KILLED], kills=1)


def test_a_kill_by_somebody_or_at_a_wall_is_not() -> None:
    check_ends([KILLED], kills=0)
    walled = a_run_view("w", state="ended", outcome="memory_limit_exceeded", signal=signal.SIGKILL)
    failed = a_run_view("f", state="ended", outcome="failed", exit_code=1)
    check_ends([walled, failed], kills=2)


def a_story(*moves: tuple[float, str]) -> list[MoveView]:
    return [MoveView(at=at, state=state, attempt=1, because="") for at, state in moves]


def test_the_span_of_an_agent_is_that_of_its_last_attempt() -> None:
    once = a_story((1.0, "queued"), (3.0, "starting"), (3.1, "running"), (4.25, "ended"))
    assert span_of(once) == (3.0, 4.25)
    again = a_story((1.0, "starting"), (9.0, "queued"), (10.0, "starting"), (12.0, "ended"))
    assert span_of(again) == (10.0, 12.0)
    assert span_of(a_story((1.0, "queued"), (2.0, "ended"))) is None


@pytest.mark.parametrize(
    ("spans", "at_once"),
    [
        ((), 0),
        (((0.0, 2.0), (1.0, 3.0)), 2),
        (((0.0, 2.0), (0.0, 2.0), (2.0, 4.0), (2.1, 4.0)), 2),
        (((0.0, 9.0), (1.0, 2.0), (3.0, 4.0)), 2),
    ],
)
def test_at_once_are_those_that_were_there_together(
    spans: tuple[tuple[float, float], ...], at_once: int
) -> None:
    found = Outcome(9.0, [], Watched(), 0.0, tuple(Span(*each) for each in spans))
    assert found.at_once == at_once
    assert found.took_s == tuple(until - since for since, until in spans)
