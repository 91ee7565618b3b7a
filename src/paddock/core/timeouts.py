"""How long an attempt may take: said, learned from its group, or guessed from its complexity."""

from __future__ import annotations

import math
from collections.abc import Collection

from .policy import TIMES_SIMPLE, TimeoutPolicy
from .run import RunSpec


def hard_timeout_s(
    spec: RunSpec, policy: TimeoutPolicy, *, durations_s: Collection[float], factor: float = 1.0
) -> float | None:
    """None for a run that was explicitly given no timeout. `factor`: of a repository whose size
    was found out later than the spec was made."""
    if spec.hard_timeout_s is not None:
        return None if math.isinf(spec.hard_timeout_s) else spec.hard_timeout_s
    simple_s = policy.simple_s if spec.simple_s is None else spec.simple_s
    times = TIMES_SIMPLE[spec.complexity] * max(spec.repository_factor, factor)
    guessed = simple_s * times
    if len(durations_s) >= policy.evidence:
        # Three times what nearly all needed: room for the odd one, and a hang still ends. History
        # only ever makes it longer: ten small changes say nothing of a large one.
        slowest = sorted(durations_s)[math.ceil(0.95 * len(durations_s)) - 1]
        guessed = max(guessed, 3 * slowest)
    return min(guessed, policy.ceiling_s)


def soft_timeout_s(spec: RunSpec, *, hard_s: float | None) -> float | None:
    """Half of the hard one unless set; none where it would come too late to be of use."""
    soft_s = spec.soft_timeout_s
    if soft_s is None:
        return None if hard_s is None else hard_s / 2
    return soft_s if hard_s is None or soft_s < hard_s else None
