"""From right-sizing to the tiers of a cluster: what the runs of a role needed, wherever they ran.

Only memory is advised on: of a group's CPU there is no history. Models are not told apart either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from paddock.cluster.tiers import TIERS, Tier, tier_of
from paddock.observe.sizing_advice import Advice, Change, Confidence, GroupUse, advise, grown

# With less, what is advised is shown and not written.
SURE_ENOUGH: Final = ("medium", "high")
PARTS: Final = 3  # agent × repository × role: what a group is named by


@dataclass(frozen=True, slots=True, kw_only=True)
class TierAdvice:
    role: str
    groups: tuple[str, ...]
    change: Change
    request_now_bytes: int
    limit_now_bytes: int
    request_bytes: int | None
    limit_bytes: int | None
    confidence: Confidence
    because: str

    @property
    def is_sure(self) -> bool:
        return self.change != "unknown" and self.confidence in SURE_ENOUGH


def advise_tiers(uses: Sequence[GroupUse], own: Sequence[Tier] = ()) -> tuple[TierAdvice, ...]:
    """By role, of all groups that have it; `own` are the tiers of the configuration."""
    members: defaultdict[str, list[GroupUse]] = defaultdict(list)
    known = {tier.role for tier in (*own, *TIERS) if tier.role}
    for use in uses:
        if (role := role_of(use.group, known)) is not None:
            members[role].append(use)
    return tuple(_of_role(role, found, own) for role, found in sorted(members.items()))


def role_of(group: str, known: set[str]) -> str | None:
    """The last part of its name, where there is one that can be a role."""
    *before, last = group.split("/")
    return last if last and before and (last in known or len(before) + 1 == PARTS) else None


def _tier_of(role: str, own: Sequence[Tier]) -> Tier:
    """That of all its runs: one that only some get is being tried out."""
    return tier_of(role, "", [tier for tier in own if tier.share == 100])


def _of_role(role: str, uses: Sequence[GroupUse], own: Sequence[Tier]) -> TierAdvice:
    tier = _tier_of(role, own)
    found, limit, request = _advised(role, uses, tier)
    return TierAdvice(
        role=role,
        groups=tuple(use.group for use in uses),
        change=found.change if limit != tier.memory_limit_bytes else _as_it_is(found.change),
        request_now_bytes=tier.memory_request_bytes,
        limit_now_bytes=tier.memory_limit_bytes,
        request_bytes=request,
        limit_bytes=limit,
        confidence=found.confidence,
        because=found.because,
    )


def _as_it_is(change: Change) -> Change:
    return change if change == "unknown" else "keep"


def _advised(
    role: str, uses: Sequence[GroupUse], tier: Tier
) -> tuple[Advice, int | None, int | None]:
    """Who was killed at a lower wall than the tier's says how much is too little, and no more."""
    limit_now = tier.memory_limit_bytes
    walls = {use.limit_bytes: use.ooms for use in uses if use.ooms and use.limit_bytes}
    found = advise(
        GroupUse(
            group=role,
            days=max(use.days for use in uses),
            attempts=sum(use.attempts for use in uses),
            ooms=sum(ooms for wall, ooms in walls.items() if wall >= limit_now),
            agent_s=sum(use.agent_s for use in uses),
            limit_bytes=limit_now,
            limits_bytes=None,
            peaks=[peak for use in uses for peak in use.peaks],
        )
    )
    if found.limit_bytes is None or found.request_bytes is None:
        return found, None, None
    least = max((grown(wall) for wall in walls if wall < limit_now), default=0)
    limit = max(found.limit_bytes, min(least, limit_now))
    return found, limit, found.request_bytes


def with_advice(own: Sequence[Tier], advice: Sequence[TierAdvice]) -> tuple[Tier, ...]:
    """One's own tiers as they should be; where nothing is sure, as they are."""
    changed = {tier.role: tier for tier in _changed(own, advice)}
    plain = [not tier.model and tier.share == 100 for tier in own]
    kept = [
        changed.pop(tier.role, tier) if is_plain else tier
        for tier, is_plain in zip(own, plain, strict=True)
    ]
    return (*kept, *changed.values())


def _changed(own: Sequence[Tier], advice: Sequence[TierAdvice]) -> Iterator[Tier]:
    for one in advice:
        if not one.is_sure or one.limit_bytes is None or one.request_bytes is None:
            continue
        tier = replace(
            _tier_of(one.role, own),
            role=one.role,
            model="",
            memory_request_bytes=one.request_bytes,
            memory_limit_bytes=one.limit_bytes,
        )
        if tier != _tier_of(one.role, own):
            yield tier
