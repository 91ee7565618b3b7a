"""Who gives way: the rule of `core.victims` and `core.relief`, whose imports take 45 ms.

Tests hold both to each other. Ranks only, kills nobody.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from paddock.core.units import format_size

from .agents import Agent
from .records import CRITICAL

PRIORITIES = ("critical", "high", "normal", "low")


def ranked(agents: Collection[Agent]) -> list[Agent]:
    """ADM-3: lowest priority, then the largest use over its expected size, then the newest."""
    return sorted(agents, key=lambda one: (-one.facts.priority, -one.over_bytes, *_newest(one)))


def _newest(agent: Agent) -> tuple[float, int]:
    return -agent.facts.begun_at, -agent.facts.attempt


def choose(agents: Collection[Agent], needed_bytes: float) -> list[Agent]:
    """The least harmful set that is enough, or as far as everybody together goes: by rank until it
    is; then whoever turned out not to be needed is let off, the most valuable first."""
    taken: list[Agent] = []
    freed = 0
    for agent in ranked(agents):
        if freed >= needed_bytes:
            break
        freed += agent.used_bytes
        taken.append(agent)
    if freed < needed_bytes:
        return taken
    for agent in taken[::-1]:
        if freed - agent.used_bytes >= needed_bytes:
            freed -= agent.used_bytes
            taken.remove(agent)
    return taken


def killable(agents: Collection[Agent]) -> list[Agent]:
    """Who frees something; the critical only when a round without them was not enough."""
    useful = [agent for agent in agents if agent.used_bytes > 0]
    lesser = [agent for agent in useful if agent.facts.priority != CRITICAL]
    return lesser or useful


def because(victim: Agent, *, cause: str, spared: Sequence[Agent]) -> str:
    """Why this one, what it frees, and who was spared."""
    facts = [f"{word_of(victim)} priority"]
    if victim.over_bytes > 0:
        facts.append(f"{format_size(victim.over_bytes)} over its expected size")
    text = f"{cause}; frees {format_size(victim.used_bytes)} ({', '.join(facts)})"
    if spared:
        names = ", ".join(f"{one.facts.name} ({word_of(one)})" for one in spared[:3])
        more = f" and {len(spared) - 3} more" if len(spared) > 3 else ""
        text += f"; spared {names}{more}"
    return text


def word_of(agent: Agent) -> str:
    return PRIORITIES[agent.facts.priority]
