"""Who gives way when memory must be freed: ranks only, kills nobody."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from .run import Priority
from .units import format_size


@dataclass(frozen=True, slots=True)
class Candidate:
    run: str
    name: str
    priority: Priority
    used_bytes: int
    expected_bytes: int
    started_at: float
    sequence: int
    protected: bool = False  # preempted often already: the last of its priority

    @property
    def over_bytes(self) -> int:
        return self.used_bytes - self.expected_bytes


def ranked(candidates: Collection[Candidate]) -> list[Candidate]:
    """ADM-3: lowest priority, then the largest use over its expected size, then the newest."""
    return sorted(
        candidates,
        key=lambda c: (-c.priority, c.protected, -c.over_bytes, -c.started_at, -c.sequence),
    )


class Need(Protocol):
    """What must come free, as a running sum: a thousand candidates must not cost a million sums."""

    def take(self, candidate: Candidate) -> None: ...

    def spare(self, candidate: Candidate) -> None: ...

    def is_met(self) -> bool: ...


@dataclass(slots=True)
class Bytes:
    """So many bytes in use."""

    needed: float
    freed: int = 0

    def take(self, candidate: Candidate) -> None:
        self.freed += candidate.used_bytes

    def spare(self, candidate: Candidate) -> None:
        self.freed -= candidate.used_bytes

    def is_met(self) -> bool:
        return self.freed >= self.needed


def choose(candidates: Collection[Candidate], need: Need) -> list[Candidate]:
    """The least harmful set that is enough, or as far as everybody together goes.

    Taken by rank until the need is met; then whoever turned out not to be needed is let off, the
    most valuable first.
    """
    chosen: list[Candidate] = []
    for candidate in ranked(candidates):
        if need.is_met():
            break
        need.take(candidate)
        chosen.append(candidate)
    if not need.is_met():
        return chosen
    spared = set()
    for candidate in reversed(chosen):
        need.spare(candidate)
        if need.is_met():
            spared.add(candidate.run)
        else:
            need.take(candidate)
    return [candidate for candidate in chosen if candidate.run not in spared]


def because(victim: Candidate, *, cause: str, spared: Sequence[Candidate]) -> str:
    """Why this one, what it frees, and who was spared."""
    facts = [f"{victim.priority.word} priority"]
    if victim.over_bytes > 0:
        facts.append(f"{format_size(victim.over_bytes)} over its expected size")
    text = f"{cause}; frees {format_size(victim.used_bytes)} ({', '.join(facts)})"
    if spared:
        names = ", ".join(f"{c.name} ({c.priority.word})" for c in spared[:3])
        more = f" and {len(spared) - 3} more" if len(spared) > 3 else ""
        text += f"; spared {names}{more}"
    return text
