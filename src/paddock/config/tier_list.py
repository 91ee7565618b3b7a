"""Tiers of one's own: how much agents of a role or model get in a cluster (K8S-2)."""

from __future__ import annotations

import re
from typing import Any, Final

from paddock.cluster.tiers import OTHER, STANDARD_VOLUME, Tier
from paddock.core.units import GIB, MIB

from .kinds import Number, Size, Whole, Wrong, as_items, as_table
from .located import Scalar, Value, describe
from .mistakes import nearest, quoted

MOST_TIERS: Final = 100
_WORD: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}")
_CPUS: Final = Number(0.1, 1024)
_MEMORY: Final = Size(16 * MIB, 1024 * GIB)
_VOLUME: Final = Size(GIB, 100 * 1024 * GIB)
_SHARE: Final = Whole(1, 100)
_KEYS: Final = (
    *("role", "model", "cpu_request", "cpu_limit", "memory_request", "memory_limit", "volume"),
    "share",
)


class Tiers:
    @property
    def allowed(self) -> str:
        return (
            "a list of {role: testing, model: NAME, cpu_request: 2, cpu_limit: 4, "
            "memory_request: 8G, memory_limit: 16G, volume: 50G, share: 100}"
        )

    def read(self, value: Value) -> tuple[Tier, ...]:
        items = as_items(value, self.allowed)
        if len(items) > MOST_TIERS:
            raise Wrong(describe(value), f"{MOST_TIERS} tiers at most")
        return tuple(self._tier(item) for item in items)

    def _tier(self, value: Value) -> Tier:
        entries = as_table(value, self.allowed)
        for key in entries:
            if key not in _KEYS:
                near = nearest(key, _KEYS)
                raise Wrong(f"an unknown key {quoted(key)}", self.allowed, near=near, at=value.at)
        words = {}
        for key in ("role", "model"):
            said = entries.get(key)
            if said is not None and not (isinstance(said, Scalar) and _WORD.fullmatch(said.text)):
                raise Wrong(f"{key} {describe(said)}", "a word", at=said.at)
            words[key] = said.text if isinstance(said, Scalar) else ""
        cpus = [_CPUS.read(entries[k]) if k in entries else d for k, d in _usual_cpus()]
        sizes = [_MEMORY.read(entries[k]) if k in entries else d for k, d in _usual_sizes()]
        volume = _VOLUME.read(entries["volume"]) if "volume" in entries else STANDARD_VOLUME
        if cpus[0] > cpus[1] or sizes[0] > sizes[1]:
            raise Wrong("a request above its limit", "requests of at most the limit", at=value.at)
        share = _SHARE.read(entries["share"]) if "share" in entries else 100
        of = (cpus[0], cpus[1], sizes[0], sizes[1], volume)
        return Tier(words["role"], *of, words["model"], share)

    def schema(self) -> dict[str, Any]:
        word = {"type": "string", "pattern": f"^{_WORD.pattern}$"}
        tier = {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "role": word,
                "model": word,
                "cpu_request": _CPUS.schema(),
                "cpu_limit": _CPUS.schema(),
                "memory_request": _MEMORY.schema(),
                "memory_limit": _MEMORY.schema(),
                "volume": _VOLUME.schema(),
                "share": _SHARE.schema(),
            },
        }
        return {"type": "array", "maxItems": MOST_TIERS, "items": tier}

    def show(self, value: Any) -> str:
        return "[" + ", ".join(map(_shown, value)) + "]"


def _usual_cpus() -> tuple[tuple[str, float], ...]:
    return ("cpu_request", OTHER.cpu_request), ("cpu_limit", OTHER.cpu_limit)


def _usual_sizes() -> tuple[tuple[str, int], ...]:
    return (
        ("memory_request", OTHER.memory_request_bytes),
        ("memory_limit", OTHER.memory_limit_bytes),
    )


def words_of(tier: Tier) -> dict[str, Any]:
    """As a file would say it, sizes exactly; what is as usual is left out."""
    found = {
        "role": tier.role,
        "model": tier.model,
        "cpu_request": _plain(tier.cpu_request),
        "cpu_limit": _plain(tier.cpu_limit),
        "memory_request": _MEMORY.show(tier.memory_request_bytes),
        "memory_limit": _MEMORY.show(tier.memory_limit_bytes),
        "volume": _VOLUME.show(tier.volume_bytes),
        "share": "" if tier.share == 100 else tier.share,
    }
    return {key: value for key, value in found.items() if value != ""}


def _plain(number: float) -> float:
    return int(number) if number == int(number) else number


def _shown(tier: Tier) -> str:
    facts = words_of(tier)
    return "{" + ", ".join(f"{key}: {value}" for key, value in facts.items()) + "}"
