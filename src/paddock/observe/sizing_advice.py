"""Right-sizing: from what a group's attempts were seen to need, what to give them. Pure.

The limit is a wall: it stands above every peak that was seen, by more the further the largest peaks
lie apart. The request is what one agent should be counted with. Both are advice; nobody is changed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from paddock.core.units import GIB, MIB, format_size

LEAST_ATTEMPTS: Final = 20  # fewer say nothing of how large the next one gets
SURE_ATTEMPTS: Final = 200
SURE_DAYS: Final = 7
LEAST_MARGIN: Final = 1.15
OOM_GROWTH: Final = 0.20
OOM_GROWTH_BYTES: Final = 100 * MIB
LEAST_BYTES: Final = 64 * MIB
WORTH: Final = 0.05  # of the limit: a smaller change is not worth anybody's time

Confidence = Literal["none", "low", "medium", "high"]
Change = Literal["lower", "raise", "keep", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupUse:
    """What is known of a group over some time."""

    group: str
    days: int
    attempts: int
    ooms: int  # at their own walls
    agent_s: float
    limit_bytes: int | None  # of the newest attempt
    limits_bytes: float | None  # on average over its agents' time
    peaks: Sequence[tuple[float, int]]  # at most so much: so many attempts
    last_run: str | None = None  # a name for people, where the group's is a checksum


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    group: str
    change: Change
    limit_now_bytes: int | None
    limit_bytes: int | None
    request_bytes: int | None
    saving_byte_s: float  # over the time looked at, had they had that limit; below 0: it costs
    confidence: Confidence
    because: str
    last_run: str | None = None


def advise(use: GroupUse) -> Advice:
    seen = sum(count for _, count in use.peaks)
    if seen < LEAST_ATTEMPTS or use.limit_bytes is None:
        ended = "1 attempt" if use.attempts == 1 else f"{use.attempts} attempts"
        text = f"{ended} ended; {LEAST_ATTEMPTS} are needed to say anything"
        return _advice(use, "unknown", None, None, text)
    highest, p95 = _quantile(use.peaks, 1.0), _quantile(use.peaks, 0.95)
    request = _rounded(p95)
    if use.ooms:
        limit = _rounded(max(grown(use.limit_bytes), highest * LEAST_MARGIN))
        text = f"{use.ooms} of {use.attempts} attempts were killed at the limit"
        return _advice(use, "raise", limit, min(request, limit), text)
    limit = min(_rounded(highest * _margin(use.peaks)), use.limit_bytes)
    sizes = format_size(int(highest)), format_size(int(p95))
    text = f"largest of {seen} peaks {sizes[0]}, 95 % below {sizes[1]}"
    if limit >= use.limit_bytes * (1 - WORTH):
        request = min(request, use.limit_bytes)
        return _advice(use, "keep", use.limit_bytes, request, f"{text}: the limit fits")
    return _advice(use, "lower", limit, min(request, limit), text)


def grown(limit_bytes: int) -> int:
    """What comes after a wall at which somebody was killed."""
    return _rounded(limit_bytes + max(OOM_GROWTH_BYTES, int(limit_bytes * OOM_GROWTH)))


def _margin(peaks: Sequence[tuple[float, int]]) -> float:
    """How much further the next ones may go: by how far the largest lies beyond the usual."""
    beyond = _quantile(peaks, 1.0) / max(_quantile(peaks, 0.9), 1.0)
    return max(LEAST_MARGIN, math.sqrt(beyond))


def _advice(
    use: GroupUse, change: Change, limit: int | None, request: int | None, because: str
) -> Advice:
    held = use.limits_bytes if use.limits_bytes is not None else use.limit_bytes
    saving = 0.0
    if change in ("lower", "raise") and limit is not None and held is not None:
        saving = (held - limit) * use.agent_s
    return Advice(
        group=use.group,
        change=change,
        limit_now_bytes=use.limit_bytes,
        limit_bytes=limit,
        request_bytes=request,
        saving_byte_s=saving,
        confidence=_confidence(use),
        because=because,
        last_run=use.last_run,
    )


def _confidence(use: GroupUse) -> Confidence:
    seen = sum(count for _, count in use.peaks)
    if seen < LEAST_ATTEMPTS:
        return "none"
    if seen >= SURE_ATTEMPTS and use.days >= SURE_DAYS:
        return "high"
    return "medium" if seen >= 3 * LEAST_ATTEMPTS else "low"


def _quantile(peaks: Sequence[tuple[float, int]], share: float) -> float:
    left = share * sum(count for _, count in peaks)
    for value, count in sorted(peaks):
        left -= count
        if left <= 1e-9:
            return value
    return max(value for value, _ in peaks)


def _rounded(size: float) -> int:
    step = 64 * MIB if size < 2 * GIB else 256 * MIB
    return max(LEAST_BYTES, math.ceil(size / step) * step)
