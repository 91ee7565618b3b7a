"""Values that must agree with each other, whichever files they come from."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from .kinds import compact_size
from .mistakes import Mistakes, Place
from .settings import (
    EMERGENCY,
    LADDER_QUEUE,
    MAX_WORKTREES,
    MEMORY_HIGH,
    MEMORY_LIMIT,
    PREEMPT,
    RELIEF_TARGET,
    SKIP_LOW,
    WORKTREES_UNPREPARED,
    Setting,
    Settings,
)


def check_agreement(settings: Settings, mistakes: Mistakes) -> None:
    for lower, upper in pairwise((SKIP_LOW, LADDER_QUEUE, PREEMPT, EMERGENCY)):
        _below(settings, lower, upper, mistakes)
    _below(settings, RELIEF_TARGET, PREEMPT, mistakes)
    high, limit = settings[MEMORY_HIGH], settings[MEMORY_LIMIT]
    if isinstance(high, int) and high >= limit:
        allowed = f"a share, or less than the limit of {compact_size(limit)}"
        _add(
            settings,
            MEMORY_HIGH,
            allowed=_with_source(settings, MEMORY_LIMIT, allowed),
            to=mistakes,
        )
    if settings[MAX_WORKTREES] > WORKTREES_UNPREPARED and settings.profile.value != "host":
        allowed = f"{WORKTREES_UNPREPARED} at most, or up to 500 with performance_profile: host"
        _add(settings, MAX_WORKTREES, allowed=allowed, to=mistakes)


def _below(
    settings: Settings, lower: Setting[float], upper: Setting[float], mistakes: Mistakes
) -> None:
    if settings[lower] < settings[upper]:
        return
    # The one that is written in a file is the one to mend.
    wrong, other, word = lower, upper, "below"
    if settings.where(lower).at is None:
        wrong, other, word = upper, lower, "above"
    allowed = f"{word} {other.key}, which is {settings[other]:g}"
    _add(settings, wrong, allowed=_with_source(settings, other, allowed), to=mistakes)


def _with_source(settings: Settings, setting: Setting[Any], text: str) -> str:
    return f"{text} ({settings.where(setting).source})"


def _add(settings: Settings, setting: Setting[Any], *, allowed: str, to: Mistakes) -> None:
    held = settings.where(setting)
    at = held.at or Place(held.source)
    to.add(at, setting.key, found=setting.kind.show(held.value), allowed=allowed)
