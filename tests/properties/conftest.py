"""How long the properties are looked for: modest by default, `HYPOTHESIS_PROFILE=long` to hunt."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings
from hypothesis.utils.conventions import not_set

from tests.conftest import IN_CI

# Without Phase.explain: it traces every line, which makes a failure take minutes to tell.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
SLOW_IS_NOT_WRONG = [HealthCheck.too_slow, HealthCheck.filter_too_much]

settings.register_profile(
    "modest",
    deadline=None,
    phases=PHASES,
    max_examples=60,
    stateful_step_count=40,
    suppress_health_check=SLOW_IS_NOT_WRONG,
    derandomize=IN_CI,
    database=None if IN_CI else not_set,
)
settings.register_profile(
    "long",
    deadline=None,
    phases=PHASES,
    max_examples=2000,
    stateful_step_count=100,
    suppress_health_check=SLOW_IS_NOT_WRONG,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "modest"))
