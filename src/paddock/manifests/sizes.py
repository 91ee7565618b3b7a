"""The sizes of a cluster: what agents get, how much in all, and what lies between two. Pure.

A change of sizes is what can hurt agents that run, so it goes step by step: at a share of 25 every
fourth new run gets the new tier, and a quota has moved a quarter of its way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from paddock.cluster.quantities import number_of
from paddock.cluster.tiers import Tier, tier_of
from paddock.config.tier_list import words_of
from paddock.core.units import MIB

from .values import Values

WHOLE: Final = 100
_BYTES: Final = ("memory", "storage")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    tiers: tuple[Tier, ...] = ()
    quota: Mapping[str, str]  # all hard limits, of both quotas


def sizes_of(values: Values) -> Sizes:
    return Sizes(tiers=values.tiers, quota={**values.compute, **values.objects})


def with_sizes(values: Values, sizes: Sizes) -> Values:
    return replace(
        values,
        tiers=sizes.tiers,
        compute={name: sizes.quota[name] for name in values.compute},
        objects={name: sizes.quota[name] for name in values.objects},
    )


def same(one: Sizes, other: Sizes) -> bool:
    return not any(differences(one, other))


def differences(old: Sizes, new: Sizes) -> Iterator[str]:
    """What is otherwise, for people; nothing where both mean the same."""
    for role, model in _keys(old, new):
        before, after = tier_of(role, model, old.tiers), tier_of(role, model, new.tiers)
        if _unnamed(before) != _unnamed(after):
            whose = "/".join(filter(None, (role, model))) or "of others"
            yield f"tier {whose}: {', '.join(_told(before, after))}"
    for name, value in new.quota.items():
        before_text = old.quota.get(name)
        if before_text is None or number_of(before_text) != number_of(value):
            yield f"quota {name}: {before_text or '-'} → {value}"


def between(old: Sizes, new: Sizes, share: int) -> Sizes:
    """At that share of the way, in percent."""
    if share >= WHOLE:
        return new
    trial = tuple(
        replace(tier, share=max(1, tier.share * share // WHOLE)) for tier in changed(old, new)
    )
    quota = {
        name: _part(name, number_of(old.quota.get(name, value)), number_of(value), share)
        for name, value in new.quota.items()
    }
    return Sizes(tiers=(*trial, *old.tiers), quota=quota)


def changed(old: Sizes, new: Sizes) -> Iterator[Tier]:
    """The tiers that are new, each for whom it is."""
    for role, model in _keys(old, new):
        before, after = tier_of(role, model, old.tiers), tier_of(role, model, new.tiers)
        if _unnamed(before) != _unnamed(after):
            yield replace(after, role=role, model=model)


def _keys(old: Sizes, new: Sizes) -> list[tuple[str, str]]:
    return list(dict.fromkeys((tier.role, tier.model) for tier in (*new.tiers, *old.tiers)))


def _unnamed(tier: Tier) -> Tier:
    """For whom it is does not matter, only how much."""
    return replace(tier, role="", model="")


def _told(before: Tier, after: Tier) -> Iterator[str]:
    old: dict[str, Any] = words_of(_unnamed(before))
    for key, value in words_of(_unnamed(after)).items():
        if old.get(key) != value:
            yield f"{key} {old.get(key, '-')} → {value}"


def _part(name: str, old: Decimal, new: Decimal, share: int) -> str:
    exact = old + (new - old) * share / WHOLE
    if name.endswith(_BYTES):
        mebibytes = int(exact) // MIB
        return f"{mebibytes // 1024}Gi" if mebibytes % 1024 == 0 else f"{mebibytes}Mi"
    if name.endswith("cpu"):
        millis = int(exact * 1000)
        return f"{millis // 1000}" if millis % 1000 == 0 else f"{millis}m"
    return str(int(exact))


# -- from what is expected ------------------------------------------------------------------------

BUFFER: Final = Fraction(6, 5)  # a fifth above what is expected


def quota_for(expected: Mapping[str, int], tiers: tuple[Tier, ...]) -> dict[str, str]:
    """How much in all, for so many agents of each role at a time and a fifth more."""
    found: dict[str, Fraction] = {}
    for role, count in expected.items():
        for name, value in _asked(tier_of(role, "", tiers)).items():
            found[name] = found.get(name, Fraction(0)) + count * value
    return {name: _above(name, value) for name, value in found.items()}


def _asked(tier: Tier) -> dict[str, Fraction]:
    return {
        "requests.cpu": Fraction(tier.cpu_request),
        "requests.memory": Fraction(tier.memory_request_bytes),
        "limits.cpu": Fraction(tier.cpu_limit),
        "limits.memory": Fraction(tier.memory_limit_bytes),
        "pods": Fraction(1),
        "requests.storage": Fraction(tier.volume_bytes),
        "persistentvolumeclaims": Fraction(1),
    }


def _above(name: str, value: Fraction) -> str:
    """With the buffer, rounded up to what people write."""
    wanted = value * BUFFER
    if name.endswith(_BYTES):
        return f"{-int(-wanted // (1024 * MIB))}Gi"
    return str(-int(-wanted // 1))
