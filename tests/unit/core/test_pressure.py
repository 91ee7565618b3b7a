"""ADM-1 and ADM-2: up at once, down with a margin and after a dwell."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from paddock.core.policy import LadderPolicy
from paddock.core.pressure import Ladder, Rung, climb
from tests.kit.factories import a_host

POLICY = LadderPolicy()


def rung_at(percent: float | None, **facts: Any) -> Rung:
    return climb(Ladder(), a_host(used_percent=percent, total="64G", **facts), POLICY, at=0.0).rung


class Walk:
    """A ladder that is shown one percentage after the other."""

    def __init__(self, rung: Rung = Rung.CALM) -> None:
        self.ladder = Ladder(rung, "before")
        self.at = 0.0

    def see(self, percent: float, *, after_s: float = 1.0) -> Rung:
        self.at += after_s
        host = a_host(used_percent=percent, total="64G")
        self.ladder = climb(self.ladder, host, POLICY, at=self.at)
        return self.ladder.rung


@pytest.mark.parametrize(
    ("percent", "rung"),
    [
        (0.0, Rung.CALM),
        (69.9, Rung.CALM),
        (70.0, Rung.SKIP_LOW),
        (80.0, Rung.QUEUE),
        (84.9, Rung.QUEUE),
        (85.0, Rung.PREEMPT),
        (95.0, Rung.EMERGENCY),
        (100.0, Rung.EMERGENCY),
    ],
)
def test_each_step_is_taken_at_its_percentage(percent: float, rung: Rung) -> None:
    assert rung_at(percent) is rung


def test_up_goes_at_once_and_over_several_steps() -> None:
    walk = Walk()
    assert walk.see(96.0) is Rung.EMERGENCY
    assert "host memory at 96 % (step at 95 %)" in walk.ladder.because


def test_a_step_is_left_three_points_lower_and_only_after_two_seconds() -> None:
    walk = Walk(Rung.PREEMPT)
    assert walk.see(84.0) is Rung.PREEMPT
    assert walk.see(82.0, after_s=60.0) is Rung.PREEMPT
    assert walk.see(81.9) is Rung.PREEMPT
    assert walk.see(81.9, after_s=1.9) is Rung.PREEMPT
    assert walk.see(81.9, after_s=0.2) is Rung.QUEUE


def test_one_sample_back_in_the_margin_starts_the_dwell_anew() -> None:
    walk = Walk(Rung.QUEUE)
    walk.see(60.0)
    walk.see(79.0, after_s=0.8)
    assert walk.see(60.0, after_s=0.8) is Rung.QUEUE
    assert walk.see(60.0, after_s=0.8) is Rung.QUEUE
    assert walk.see(60.0, after_s=0.2) is Rung.CALM


def test_use_around_a_step_does_not_make_it_flap() -> None:
    walk = Walk()
    seen = [walk.see(80.5 if tick % 4 < 2 else 79.5) for tick in range(100)]
    assert sum(a is not b for a, b in pairwise(seen)) <= 1


def test_it_comes_down_several_steps_together() -> None:
    walk = Walk(Rung.EMERGENCY)
    walk.see(20.0)
    assert walk.see(20.0, after_s=5.0) is Rung.CALM


@pytest.mark.parametrize(
    ("available", "rung"),
    [("700M", Rung.CALM), ("640M", Rung.SKIP_LOW), ("512M", Rung.QUEUE), ("384M", Rung.PREEMPT),
     ("192M", Rung.EMERGENCY)],
)  # fmt: skip
def test_small_hosts_have_floors_in_bytes(available: str, rung: Rung) -> None:
    host = a_host(used_percent=30.0, total="4G", available=available)
    assert climb(Ladder(), host, POLICY, at=0.0).rung is rung


def test_a_floor_says_so() -> None:
    ladder = climb(Ladder(), a_host(used_percent=30.0, available="500M"), POLICY, at=0.0)
    assert ladder.because == "only 500 MiB of host memory free (floor 512 MiB)"


def test_a_floor_is_left_with_a_margin_too() -> None:
    just_above = a_host(used_percent=30.0, total="4G", available="520M")
    ladder = Ladder(Rung.QUEUE, "floor")
    for at in (0.0, 10.0):
        ladder = climb(ladder, just_above, POLICY, at=at)
    assert ladder.rung is Rung.QUEUE


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"memory_stall_percent": 10.0}, "tasks stall on memory 10 % of the time"),
        ({"swap_percent": 51.0}, "swap is 51 % full"),
        ({"pageouts_rising": True}, "page-outs are rising"),
        ({"slowdown": 2.1}, "runs take 2.1 times as long as usual"),
    ],
)
def test_other_signs_of_pressure_stop_new_starts(facts: dict[str, Any], words: str) -> None:
    ladder = climb(Ladder(), a_host(used_percent=20.0, **facts), POLICY, at=0.0)
    assert (ladder.rung, ladder.because) == (Rung.QUEUE, words)


@pytest.mark.parametrize(
    "facts", [{"memory_stall_percent": 9.9}, {"swap_percent": 50.0}, {"slowdown": 2.0}]
)
def test_a_little_of_it_is_no_pressure(facts: dict[str, Any]) -> None:
    assert rung_at(20.0, **facts) is Rung.CALM


def test_other_signs_do_not_hide_a_higher_step() -> None:
    assert rung_at(96.0, swap_percent=90.0) is Rung.EMERGENCY


def test_memory_that_cannot_be_read_fails_closed_and_kills_nobody() -> None:
    assert rung_at(None) is Rung.QUEUE
    unreadable = a_host(used_percent=96.0)
    half = type(unreadable)(None, 96.0, unreadable.total_bytes)
    ladder = climb(Ladder(), half, POLICY, at=0.0)
    assert ladder.because == "the host's memory cannot be read"
    assert ladder.rung is Rung.QUEUE
