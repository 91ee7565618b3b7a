"""Any bytes at any target: a few in every run, as many as time allows in `make hunt`."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from .every import TARGETS
from .mutating import anything
from .target import Target, run

IS_HUNT = os.environ.get("HYPOTHESIS_PROFILE") == "long"
EXAMPLES = 20_000 if IS_HUNT else 60


@pytest.mark.timeout(3600 if IS_HUNT else 120)
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_nothing_comes_out_but_what_is_documented(target: Target) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(anything(target))
    def feed(data: bytes) -> None:
        run(target, data)

    feed()
