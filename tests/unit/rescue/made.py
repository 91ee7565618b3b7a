"""Agents for tests: as rescue finds them, and as the core knows them."""

from __future__ import annotations

from paddock.core.run import Priority
from paddock.core.victims import Candidate
from paddock.rescue.agents import Agent
from paddock.rescue.records import Facts

MIB = 2**20


def an_agent(
    name: str,
    *,
    used: int = 100 * MIB,
    expected: int | None = 100 * MIB,
    priority: Priority = Priority.NORMAL,
    begun_at: float = 0.0,
) -> Agent:
    agent = Agent(f"{name}.1", Facts(name, 1, name, int(priority), expected, begun_at))
    agent.used_bytes = used
    return agent


def as_candidate(agent: Agent) -> Candidate:
    facts = agent.facts
    return Candidate(
        run=facts.run,
        name=facts.name,
        priority=Priority(facts.priority),
        used_bytes=agent.used_bytes,
        expected_bytes=agent.used_bytes if facts.expected_bytes is None else facts.expected_bytes,
        started_at=facts.begun_at,
        sequence=facts.attempt,
    )
