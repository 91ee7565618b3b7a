"""Traces for players: rotated, squeezed and drawn, without losing what matters; and the search."""

from __future__ import annotations

from random import Random

import pytest

from paddock.bench.find import MOST, Asked, Found, Trial, beforehand, largest
from paddock.bench.player import phases_in
from paddock.bench.traces import FASTEST, lines, of_levels, rotated, shape, squeezed
from paddock.simulate.trace import Trace

MIB = 1 << 20
LIFE = Trace([(10.0, 100 * MIB, 0.1), (1.0, 900 * MIB, 1.0), (9.0, 200 * MIB, 0.1)])


@pytest.mark.parametrize("seed", range(20))
def test_a_rotated_life_is_the_same_life(seed: int) -> None:
    turned = rotated(LIFE, Random(seed))
    assert turned.duration_s == pytest.approx(LIFE.duration_s)
    assert turned.byte_seconds == pytest.approx(LIFE.byte_seconds)
    assert turned.peak_bytes == LIFE.peak_bytes


def test_a_squeezed_life_keeps_its_levels_and_their_shares() -> None:
    short = squeezed(LIFE, into_s=5.0)
    assert short.duration_s == pytest.approx(5.0)
    assert short.byte_seconds / short.duration_s == pytest.approx(
        LIFE.byte_seconds / LIFE.duration_s
    )


def test_a_long_life_is_played_in_part_and_not_too_quickly() -> None:
    short = squeezed(LIFE, into_s=1.0)
    assert short.duration_s == pytest.approx(1.0)
    assert short.phases[0].duration_s == pytest.approx(10.0 / FASTEST, abs=0.3)
    assert short.peak_bytes == 100 * MIB


def test_phases_too_short_to_be_seen_become_one_with_the_highest() -> None:
    busy = Trace([(0.001, n * MIB, 0.0) for n in range(1, 201)])
    short = squeezed(busy, into_s=0.2)
    assert len(short.phases) < 15
    assert short.peak_bytes == 200 * MIB


def test_a_drawn_life_has_the_sizes_of_its_history() -> None:
    drawn = of_levels([(100 * MIB, 95.0), (900 * MIB, 5.0)], Random(1), phases=1000)
    high = sum(phase.bytes == 900 * MIB for phase in drawn.phases)
    assert 20 <= high <= 90
    assert set(drawn.levels_bytes) == {100 * MIB, 900 * MIB}


def test_a_player_reads_what_is_written_for_it() -> None:
    assert phases_in(lines(LIFE)) == [tuple(phase) for phase in LIFE.phases]
    with pytest.raises(SystemExit, match="line 2: found 'x'"):
        phases_in("1 2 0\nx\n")


def test_shapes_are_the_simulators() -> None:
    assert len(shape("steady", seed=1, many=3)) == 3
    with pytest.raises(ValueError, match="no workload"):
        shape("nosuch", seed=1, many=1)


@pytest.mark.parametrize("truth", [0, 1, 2, 3, 7, 8, 9, 100, 511, MOST, MOST + 50])
@pytest.mark.parametrize("begin", [1, 4, 50])
def test_the_search_finds_the_largest_that_holds(truth: int, begin: int) -> None:
    tried: list[int] = []

    def holds(agents: int) -> bool:
        tried.append(agents)
        return agents <= truth

    assert largest(holds, begin=begin) == min(truth, MOST)
    assert len(tried) <= 24


@pytest.mark.parametrize(
    ("peak_mib", "said"),
    [
        (
            900,
            "peaks at 900 MiB, and 9 GiB are for all of them: 10 fit by that sum; begins with 10",
        ),
        (1, ": 9,216 fit by that sum; begins with 1,000 at once, each a process; more than 1,000"),
        (10_000, ": 0 fit by that sum; begins with 1 at once"),
    ],
)
def test_before_a_crowd_is_started_its_size_and_why_are_said(peak_mib: int, said: str) -> None:
    trace = Trace([(1.0, peak_mib * MIB, 0.0)])
    asked = Asked(traces=(trace,), wall_bytes=9 << 30, total_bytes=16 << 30)
    assert said in beforehand(asked)


def test_confidence_grows_with_rounds() -> None:
    def found(rounds: int) -> Found:
        return Found(5, tuple(Trial(5, held=True, peak_bytes=1) for _ in range(rounds)), 1)

    assert found(0).risk == 1.0
    assert found(10).risk == pytest.approx(0.259, abs=0.001)
    assert found(59).risk < 0.05
