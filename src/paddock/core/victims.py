"""Who gives way when memory must be freed: ranks only, kills nobody."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

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


def choose(
    candidates: Collection[Candidate], enough: Callable[[Sequence[Candidate]], bool]
) -> list[Candidate]:
    """The least harmful set that is enough, or as far as everybody together goes.

    Taken by rank until it is enough; then whoever turned out not to be needed is let off, the
    most valuable first.
    """
    chosen: list[Candidate] = []
    for candidate in ranked(candidates):
        if enough(chosen):
            break
        chosen.append(candidate)
    if not enough(chosen):
        return chosen
    for candidate in reversed(chosen[:]):
        others = [c for c in chosen if c is not candidate]
        if enough(others):
            chosen = others
    return chosen


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
