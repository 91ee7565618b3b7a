"""A peak beside a curve: the two say how they fit together."""

from __future__ import annotations

import pytest

from paddock.core.units import MIB
from paddock.supervisor.black_boxes import peak_text


@pytest.mark.parametrize(
    ("peak", "seen", "said"),
    [
        (300, [100, 120], "300 MiB, between two looks"),
        (121, [100, 120], "121 MiB"),
        (300, [], "300 MiB"),
    ],
)
def test_a_peak_that_no_look_came_near_says_so(peak: int, seen: list[int], said: str) -> None:
    assert peak_text(peak * MIB, [used * MIB for used in seen]) == said
