"""Runs that share a breaker and a learned size: agent × repository × role."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from .breaker import Breaker, Closed
from .policy import Policy
from .sizing import SizeFacts, SizeModel


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFacts:
    """A group as plain data, for the store."""

    breaker: Breaker
    size: SizeFacts
    durations_s: tuple[float, ...]


class Group:
    """Runs that share a breaker and a learned size: agent × repository × role."""

    __slots__ = ("breaker", "durations_s", "size")

    def __init__(self, policy: Policy) -> None:
        self.breaker: Breaker = Closed()
        self.size = SizeModel(policy.sizing)
        self.durations_s: deque[float] = deque(maxlen=64)

    def facts(self) -> GroupFacts:
        durations = tuple(self.durations_s)
        return GroupFacts(breaker=self.breaker, size=self.size.facts(), durations_s=durations)

    @classmethod
    def from_facts(cls, facts: GroupFacts, policy: Policy) -> Group:
        made = cls(policy)
        made.breaker = facts.breaker
        made.size = SizeModel.from_facts(facts.size, policy.sizing)
        made.durations_s.extend(facts.durations_s)
        return made

    def rest(self) -> None:
        """Carry what was learned over to a clock that starts anew; old failures are forgotten."""
        self.breaker = Closed()
        self.size.rest()
