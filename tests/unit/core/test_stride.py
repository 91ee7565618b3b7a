"""What a burst takes between two looks is what was seen lately, and never less than a little."""

from __future__ import annotations

from paddock.core.stride import LEAST, MOST, Stride
from paddock.core.units import MIB


def looked(stride: Stride, looks: int, *, every_s: float, grown_mib: int, at: float = 0.0) -> float:
    """So many looks, in each of which somebody grew by so much; the time of the last."""
    for _ in range(looks):
        at += every_s
        stride.look(at=at)
        stride.grew(grown_mib * MIB)
    return at


def test_before_anything_was_seen_bursts_are_fast() -> None:
    assert Stride().size_bytes == MOST


def test_where_memory_is_slow_to_take_a_stride_becomes_small_but_never_nothing() -> None:
    stride = Stride()
    looked(stride, 100, every_s=0.1, grown_mib=100)
    assert 100 * MIB <= stride.size_bytes < 120 * MIB
    looked(stride, 200, every_s=0.1, grown_mib=20, at=10.0)
    assert stride.size_bytes == LEAST


def test_one_fast_burst_counts_at_once() -> None:
    stride = Stride()
    at = looked(stride, 200, every_s=0.1, grown_mib=40)
    assert stride.size_bytes < MOST // 2
    looked(stride, 1, every_s=0.1, grown_mib=240, at=at)
    assert stride.size_bytes == MOST


def test_late_looks_make_it_larger() -> None:
    stride = Stride()
    at = looked(stride, 200, every_s=0.1, grown_mib=80)
    soon = stride.size_bytes
    looked(stride, 1, every_s=0.2, grown_mib=160, at=at)  # as fast as before
    assert stride.size_bytes > 1.5 * soon


def test_time_in_which_nobody_grows_says_nothing() -> None:
    stride = Stride()
    at = looked(stride, 100, every_s=0.1, grown_mib=100)
    at = looked(stride, 1, every_s=0.1, grown_mib=0, at=at)
    before = stride.size_bytes
    looked(stride, 1000, every_s=0.1, grown_mib=0, at=at)
    assert stride.size_bytes == before


def test_looks_that_are_far_apart_do_not_make_a_burst_look_slow() -> None:
    stride = Stride()
    looked(stride, 100, every_s=1.0, grown_mib=200)
    assert stride.size_bytes == MOST


def test_a_look_at_the_same_moment_changes_nothing() -> None:
    stride = Stride()
    at = looked(stride, 100, every_s=0.1, grown_mib=100)
    before = stride.size_bytes
    stride.look(at=at)
    stride.grew(100 * MIB)
    assert stride.size_bytes == before
