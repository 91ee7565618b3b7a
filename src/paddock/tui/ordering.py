"""Which agents are listed, and in what order. Sections (at work, waiting, ended) stay together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from .picture import Agent

_URGENCY: Final = {"critical": 0, "high": 1, "normal": 2, "low": 3}

# By the word that is shown; a key that gives the first as smallest, so the largest comes first
# where that is what people look for.
SORTS: Final[dict[str, Callable[[Agent], Any]]] = {
    "queue": lambda _: 0,
    "memory": lambda agent: -(agent.run.memory_bytes or agent.run.peak_bytes or 0),
    "share": lambda agent: -agent.share,
    "cpu": lambda agent: -(agent.cpu or 0.0),
    "age": lambda agent: agent.run.submitted_at or 0.0,
    "priority": lambda agent: _URGENCY.get(agent.run.priority, 9),
    "name": lambda agent: agent.run.name.casefold(),
    "group": lambda agent: agent.run.group.casefold(),
    "state": lambda agent: agent.state,
}
ABOUT: Final = {
    "queue": "as paddock serves them",
    "memory": "most memory first",
    "share": "nearest to its wall first",
    "cpu": "most CPU first",
    "age": "oldest first",
    "priority": "most urgent first",
    "name": "by name",
    "group": "by group",
    "state": "by state",
}


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user asked to see."""

    text: str = ""
    sort: str = "queue"
    upside_down: bool = False
    ended: bool = True

    def sorted_by(self, sort: str) -> Wish:
        """The same once more turns it over, as clicking a head does elsewhere."""
        if sort == self.sort:
            return replace(self, upside_down=not self.upside_down)
        return replace(self, sort=sort, upside_down=False)


def listed(agents: Iterable[Agent], wish: Wish) -> list[Agent]:
    words = wish.text.casefold().split()
    found = [
        agent
        for agent in agents
        if (wish.ended or agent.section < 2) and (not words or _fits(agent, words))
    ]
    if wish.upside_down:
        found.reverse()  # within sections, as what follows is stable
    key = SORTS[wish.sort]
    found.sort(key=key, reverse=wish.upside_down and wish.sort != "queue")
    found.sort(key=lambda agent: agent.section)
    return found


def _fits(agent: Agent, words: Iterable[str]) -> bool:
    """Every word is in it; one that begins with ! is not."""
    run = agent.run
    parts = (run.name, run.id, run.group, agent.state, run.state, run.priority)
    text = "\n".join(parts).casefold()
    return all(
        word[1:] not in text if word.startswith("!") and word[1:] else word in text
        for word in words
    )
