"""RUN-1 and RUN-2: how long an attempt may take."""

from __future__ import annotations

import math
from typing import Any

import pytest

from paddock.core.policy import TimeoutPolicy
from paddock.core.run import Complexity
from paddock.core.timeouts import hard_timeout_s, soft_timeout_s
from tests.kit.factories import a_spec

POLICY = TimeoutPolicy()


def hard(**facts: Any) -> float | None:
    return hard_timeout_s(a_spec(**facts), POLICY, durations_s=[])


@pytest.mark.parametrize(
    ("complexity", "factor", "seconds"),
    [
        (Complexity.SIMPLE, 1.0, 900.0),
        (Complexity.MEDIUM, 1.0, 1800.0),
        (Complexity.COMPLEX, 1.0, 2700.0),
        (Complexity.SIMPLE, 2.0, 1800.0),
        (Complexity.COMPLEX, 2.0, 3600.0),  # the ceiling
    ],
)
def test_by_complexity_and_repository(
    complexity: Complexity, factor: float, seconds: float
) -> None:
    assert hard(complexity=complexity, repository_factor=factor) == seconds


def test_with_nothing_said_fifteen_and_thirty_minutes() -> None:
    spec = a_spec()
    hard_s = hard_timeout_s(spec, POLICY, durations_s=[])
    assert (soft_timeout_s(spec, hard_s=hard_s), hard_s) == (900.0, 1800.0)


def test_what_is_said_counts_and_may_be_above_the_ceiling() -> None:
    assert hard(hard_timeout_s=7200.0) == 7200.0
    assert hard(hard_timeout_s=math.inf) is None


@pytest.mark.parametrize(
    ("durations", "seconds"),
    [
        ([400.0] * 9, 1800.0),  # too little evidence
        ([700.0] * 10, 2100.0),
        ([700.0] * 19 + [3000.0], 2100.0),  # one in twenty is the odd one out
        ([10.0] * 10, 1800.0),  # never shorter than without history
        ([3000.0] * 10, 3600.0),  # never longer than the ceiling
    ],
)
def test_learned_from_the_group(durations: list[float], seconds: float) -> None:
    assert hard_timeout_s(a_spec(), POLICY, durations_s=durations) == seconds


def test_a_soft_timeout_that_comes_too_late_is_none() -> None:
    assert soft_timeout_s(a_spec(soft_timeout_s=60.0), hard_s=60.0) is None
    assert soft_timeout_s(a_spec(soft_timeout_s=59.0), hard_s=60.0) == 59.0
    assert soft_timeout_s(a_spec(soft_timeout_s=59.0), hard_s=None) == 59.0
    assert soft_timeout_s(a_spec(), hard_s=None) is None
