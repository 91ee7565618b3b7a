"""Advice on sizes: above every peak that was seen, and silent where too little was."""

from __future__ import annotations

import pytest

from paddock.core.units import GIB, MIB
from paddock.observe.sizing_advice import advise
from tests.kit.uses import a_use


def test_small_agents_need_less() -> None:
    found = advise(a_use([(600.0 * MIB, 200), (700.0 * MIB, 20)]))
    assert (found.change, found.confidence) == ("lower", "high")
    assert found.limit_bytes is not None and 1.15 * 700 * MIB <= found.limit_bytes < GIB
    assert found.request_bytes is not None and found.request_bytes <= found.limit_bytes
    assert found.saving_byte_s == pytest.approx((4 * GIB - found.limit_bytes) * 3600)


def test_peaks_that_lie_far_apart_get_a_wider_margin() -> None:
    near = advise(a_use([(900.0 * MIB, 190), (1000.0 * MIB, 10)], limit_bytes=32 * GIB))
    apart = advise(a_use([(300.0 * MIB, 190), (1000.0 * MIB, 10)], limit_bytes=32 * GIB))
    assert near.limit_bytes is not None and apart.limit_bytes is not None
    assert near.limit_bytes < apart.limit_bytes


def test_a_limit_that_fits_is_kept() -> None:
    found = advise(a_use([(3.6 * GIB, 100)]))
    assert (found.change, found.limit_bytes, found.saving_byte_s) == ("keep", 4 * GIB, 0.0)


def test_who_was_killed_at_the_limit_gets_more() -> None:
    found = advise(a_use([(3.9 * GIB, 100)], ooms=3))
    assert found.change == "raise" and found.limit_bytes is not None
    assert found.limit_bytes >= 1.2 * 4 * GIB and found.saving_byte_s < 0
    assert "3 of 100" in found.because


def test_a_few_attempts_say_nothing() -> None:
    found = advise(a_use([(600.0 * MIB, 19)]))
    assert (found.change, found.limit_bytes, found.confidence) == ("unknown", None, "none")
    assert "20 are needed" in found.because


@pytest.mark.parametrize(
    ("attempts", "days", "told"),
    [(20, 30, "low"), (60, 30, "medium"), (200, 6, "medium"), (200, 7, "high")],
)
def test_confidence_goes_by_how_much_was_seen(attempts: int, days: int, told: str) -> None:
    assert advise(a_use([(600.0 * MIB, attempts)], days=days)).confidence == told
