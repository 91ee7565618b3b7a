"""Freeing memory by killing agents: one round at a time, until enough has come back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from .agents import Agent
from .ladder import EMERGENCY, Goal, Ladder, relief_goal, rest_s, step_of
from .memory import Reading, Unreadable
from .victims import because, choose, killable

# A live daemon may start others in place of the killed; nobody kills for ever.
MOST_ROUNDS = 20
LOOK_AGAIN_S = 0.02
# Shared pages stay and counters lag behind: what came back is seldom all that was counted.
CAME_BACK = 0.8


class World(Protocol):
    """What relief sees and does; tests bring one that follows a script."""

    def look(self) -> Reading: ...

    def agents(self) -> list[Agent]: ...

    def kill(self, victims: Sequence[Agent], reasons: Sequence[str]) -> list[str]:
        """Returns the keys of those that could not be killed."""

    def rest(self, seconds: float) -> None: ...

    def now(self) -> float: ...


class Kill(NamedTuple):
    agent: Agent
    because: str
    gone: bool


class Relief(NamedTuple):
    """What was done, and where the memory was before and after it."""

    goal: Goal
    before: Reading
    after: Reading
    kills: list[Kill]
    spared: list[Agent]
    reached: bool

    @property
    def freed_bytes(self) -> int:
        if self.before.available_bytes is None or self.after.available_bytes is None:
            return 0
        return max(0, self.after.available_bytes - self.before.available_bytes)


class Tick(NamedTuple):
    """What `watch` shows."""

    reading: Reading
    step: str
    because: str
    agents: list[Agent]


def cause_of(reading: Reading, goal: Goal) -> str:
    assert reading.used_percent is not None
    return f"host memory at {reading.used_percent:.0f} % (target {goal.percent:.0f} %)"


def relieve(world: World, goal: Goal, *, round_s: float, cause: str = "") -> Relief:
    """Raises Unreadable rather than kill on a guess."""
    before = reading = readable(world.look())
    kills: list[Kill] = []
    stuck: set[str] = set()
    spared: list[Agent] = []
    for _ in range(MOST_ROUNDS):
        need = goal.over_bytes(reading)
        if need <= 0:
            break
        agents = [agent for agent in world.agents() if agent.key not in stuck]
        victims = choose(killable(agents), need)
        if not victims:
            break
        spared = [agent for agent in agents if agent not in victims]
        why = cause or cause_of(reading, goal)
        kills += _round(world, victims, spared, why)
        stuck |= {kill.agent.key for kill in kills if not kill.gone}
        reading = _after(world, reading, goal, victims=victims, round_s=round_s)
        if not reading.is_known:
            break
    return Relief(goal, before, reading, kills, spared, reached=_is_reached(goal, reading))


def _is_reached(goal: Goal, reading: Reading) -> bool:
    return reading.is_known and goal.over_bytes(reading) <= 0


def readable(reading: Reading) -> Reading:
    if not reading.is_known:
        raise Unreadable("the host does not say how much of its memory is available")
    return reading


def _round(
    world: World, victims: Sequence[Agent], spared: Sequence[Agent], cause: str
) -> list[Kill]:
    reasons = [because(victim, cause=cause, spared=spared) for victim in victims]
    left = world.kill(victims, reasons)
    pairs = zip(victims, reasons, strict=True)
    return [Kill(victim, reason, victim.key not in left) for victim, reason in pairs]


def _after(
    world: World, before: Reading, goal: Goal, *, victims: Sequence[Agent], round_s: float
) -> Reading:
    """Waits for the memory to come back, not longer than a round."""
    assert before.available_bytes is not None
    expected = CAME_BACK * sum(victim.used_bytes for victim in victims)
    give_up_at = world.now() + round_s
    while True:
        reading = world.look()
        back = (reading.available_bytes or 0) - before.available_bytes
        if _is_reached(goal, reading) or back >= expected or world.now() >= give_up_at:
            return reading
        world.rest(LOOK_AGAIN_S)


def planned(agents: Sequence[Agent], needed_bytes: float) -> list[Agent]:
    """Whom `relieve` would kill, the critical only where the others would not be enough."""
    if needed_bytes <= 0:
        return []
    victims = choose(killable(agents), needed_bytes)
    short = needed_bytes - sum(victim.used_bytes for victim in victims)
    others = [agent for agent in agents if agent not in victims]
    return victims + choose(killable(others), short) if short > 0 else victims


def watch(
    world: World, ladder: Ladder, *, interval_s: float, auto_kill: bool
) -> Iterator[Tick | Relief]:
    """For ever: what is shown every interval, and what was killed as soon as it was. Whoever may
    have to kill looks more often than it shows, as the memory gets less."""
    show_at = world.now()
    while True:
        reading = world.look()
        step, why = step_of(reading, ladder)
        longest_s = rest_s(reading, ladder, longest_s=interval_s) if auto_kill else interval_s
        if auto_kill and step == EMERGENCY:
            longest_s = interval_s  # where nobody is left to kill, trying often helps nobody
            relief = _relief(world, ladder, cause=why)
            if relief is not None and relief.kills:
                yield relief
                reading, show_at = relief.after, world.now()
                step, why = step_of(reading, ladder)
        now = world.now()
        if now >= show_at:
            yield Tick(reading, step, why, world.agents())
            show_at = show_at + interval_s if show_at + interval_s > now else now + interval_s
        world.rest(min(longest_s, max(0.0, show_at - world.now())))


def _relief(world: World, ladder: Ladder, *, cause: str) -> Relief | None:
    try:
        return relieve(world, relief_goal(ladder), round_s=ladder.kill_round_s, cause=cause)
    except Unreadable:
        return None
