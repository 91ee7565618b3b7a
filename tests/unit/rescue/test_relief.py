"""Rounds of relief on a machine that follows a script: who dies, and when it stops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

import pytest

from paddock.core.run import Priority
from paddock.rescue.agents import Agent
from paddock.rescue.ladder import Goal, Ladder
from paddock.rescue.memory import Reading, Unreadable
from paddock.rescue.relief import MOST_ROUNDS, Relief, Tick, planned, relieve, watch
from tests.unit.rescue.made import MIB, an_agent

GIB = 2**30
TOTAL = 10 * GIB
GOAL = Goal(75.0)


class Script:
    """A machine of 10 GiB. What is killed comes back after a while; the clock moves by resting."""

    def __init__(self, agents: Iterable[Agent], *, others: int = 0, comes_back_s: float = 0.1):
        self.living = list(agents)
        self.others = others  # used by somebody who is no agent
        self.comes_back_s = comes_back_s
        self.clock = 0.0
        self.immortal: set[str] = set()
        self.readable = True
        self.killed: list[list[str]] = []
        self.rests: list[float] = []
        self._leaving: list[tuple[float, int]] = []

    def look(self) -> Reading:
        if not self.readable:
            return Reading(TOTAL, None, None)
        leaving = sum(size for at, size in self._leaving if at > self.clock)
        used = self.others + leaving + sum(agent.used_bytes for agent in self.living)
        return Reading(TOTAL, TOTAL - used, round(100 * used / TOTAL, 2))

    def agents(self) -> list[Agent]:
        return list(self.living)

    def kill(self, victims: Sequence[Agent], reasons: Sequence[str]) -> list[str]:
        assert len(victims) == len(reasons)
        self.killed.append([victim.facts.run for victim in victims])
        for victim in victims:
            if victim.key not in self.immortal:
                self.living.remove(victim)
                self._leaving.append((self.clock + self.comes_back_s, victim.used_bytes))
        return [victim.key for victim in victims if victim.key in self.immortal]

    def rest(self, seconds: float) -> None:
        self.rests.append(seconds)
        self.clock += max(seconds, 1e-6)

    def now(self) -> float:
        return self.clock


def four(gib: float = 2.4) -> list[Agent]:
    used = int(gib * GIB)
    return [an_agent(f"r{n}", used=used, expected=used, begun_at=float(n)) for n in range(4)]


def test_it_kills_the_newest_until_below_the_target_and_says_why() -> None:
    script = Script(four())
    relief = relieve(script, GOAL, round_s=5.0)
    assert script.killed == [["r3"]]
    assert relief.reached
    assert relief.after.used_percent == pytest.approx(72.0)
    assert relief.freed_bytes == pytest.approx(2.4 * GIB)
    (kill,) = relief.kills
    assert kill.gone
    assert kill.because == (
        "host memory at 96 % (target 75 %); frees 2.4 GiB (normal priority); "
        "spared r0 (normal), r1 (normal), r2 (normal)"
    )
    assert [agent.facts.run for agent in relief.spared] == ["r0", "r1", "r2"]


def test_below_the_target_nobody_is_killed() -> None:
    script = Script(four(1.0))
    relief = relieve(script, GOAL, round_s=5.0)
    assert (relief.reached, relief.kills, script.killed) == (True, [], [])


def test_a_round_waits_for_its_memory_before_anybody_else_is_killed() -> None:
    script = Script(four(), comes_back_s=3.0)
    assert relieve(script, GOAL, round_s=5.0).reached
    assert script.killed == [["r3"]]
    assert script.clock == pytest.approx(3.0, abs=0.1)


def test_memory_that_does_not_come_back_is_not_waited_for_for_ever() -> None:
    script = Script(four(), comes_back_s=1e9)
    relief = relieve(script, GOAL, round_s=5.0)
    assert not relief.reached
    assert script.killed == [["r3"], ["r2"], ["r1"], ["r0"]]
    assert script.clock == pytest.approx(20.0, abs=1.0)


def test_the_critical_die_only_in_a_later_round() -> None:
    critical = an_agent("critical", used=3 * GIB, priority=Priority.CRITICAL)
    low = an_agent("low", used=1 * GIB, priority=Priority.LOW)
    script = Script([critical, low], others=5 * GIB)
    assert relieve(script, Goal(60.0), round_s=5.0).reached
    assert script.killed == [["low"], ["critical"]]


def test_nobody_left_to_kill_is_said() -> None:
    script = Script(four(1.0), others=9 * GIB - 4 * GIB + GIB)
    relief = relieve(script, Goal(20.0), round_s=5.0)
    assert not relief.reached
    assert len(relief.kills) == 4
    assert script.agents() == []


def test_one_that_cannot_be_killed_is_passed_over() -> None:
    script = Script(four())
    script.immortal = {"r3.1"}
    relief = relieve(script, GOAL, round_s=5.0)
    assert script.killed == [["r3"], ["r2"]]
    assert [kill.gone for kill in relief.kills] == [False, True]
    assert relief.reached


def test_memory_that_cannot_be_read_kills_nobody() -> None:
    script = Script(four())
    script.readable = False
    with pytest.raises(Unreadable):
        relieve(script, GOAL, round_s=5.0)
    assert script.killed == []


def test_memory_that_cannot_be_read_any_more_ends_it_with_what_was_done() -> None:
    class Blinded(Script):
        def kill(self, victims: Sequence[Agent], reasons: Sequence[str]) -> list[str]:
            self.readable = False
            return super().kill(victims, reasons)

    relief = relieve(Blinded(four()), GOAL, round_s=5.0)
    assert (relief.reached, len(relief.kills)) == (False, 1)


def test_others_that_are_started_in_their_place_are_not_killed_for_ever() -> None:
    class Restarting(Script):
        def kill(self, victims: Sequence[Agent], reasons: Sequence[str]) -> list[str]:
            left = super().kill(victims, reasons)
            self.living += [an_agent(f"{v.facts.run}x", used=v.used_bytes) for v in victims]
            return left

    script = Restarting(four())
    assert not relieve(script, GOAL, round_s=0.2).reached
    assert len(script.killed) == MOST_ROUNDS


def test_a_plan_names_whom_relief_would_kill() -> None:
    critical = an_agent("critical", used=3 * GIB, priority=Priority.CRITICAL)
    low = an_agent("low", used=1 * GIB, priority=Priority.LOW)

    def plan(needed: float) -> list[str]:
        return [agent.facts.run for agent in planned([critical, low], needed)]

    assert plan(0) == plan(-GIB) == []
    assert plan(GIB / 2) == ["low"]
    assert plan(2 * GIB) == ["low", "critical"]
    assert plan(9 * GIB) == ["low", "critical"]


# -- watch --------------------------------------------------------------------------------------


def test_watch_shows_a_tick_every_interval_and_kills_nobody_by_itself() -> None:
    script = Script(four())
    seen = list(islice(watch(script, Ladder(), interval_s=2.0, auto_kill=False), 3))
    assert [type(one) for one in seen] == [Tick] * 3
    assert isinstance(seen[0], Tick) and seen[0].step == "emergency"
    assert script.clock == pytest.approx(4.0, abs=0.01)
    assert script.killed == []


def test_watch_that_may_kill_does_so_at_the_emergency_step_down_to_the_target() -> None:
    script = Script(four())
    relief, tick = islice(watch(script, Ladder(), interval_s=1.0, auto_kill=True), 2)
    assert isinstance(relief, Relief) and relief.reached
    assert relief.kills[0].because.startswith("host memory at 96 % (step at 95 %); frees")
    assert isinstance(tick, Tick) and tick.step == "skip_low"
    assert script.killed == [["r3"]]


def test_below_the_emergency_step_watch_kills_nobody() -> None:
    script = Script(four(2.3))
    list(islice(watch(script, Ladder(), interval_s=1.0, auto_kill=True), 3))
    assert script.killed == []


def test_the_floor_in_bytes_is_an_emergency_too() -> None:
    ladder = Ladder(emergency=99.0, emergency_free_bytes=GIB)
    script = Script(four())
    next(iter(watch(script, ladder, interval_s=1.0, auto_kill=True)))
    assert script.killed == [["r3"]]


def test_who_may_kill_looks_more_often_than_it_shows_as_memory_gets_less() -> None:
    script = Script(four(2.3))  # 0.8 GiB left, 0.3 above the step: 0.1 s at the fastest growth
    list(islice(watch(script, Ladder(), interval_s=1.0, auto_kill=True), 2))
    assert max(script.rests) < 0.15
    assert len(script.rests) >= 8


def test_with_nobody_to_kill_watch_does_not_spin() -> None:
    script = Script([], others=int(9.8 * GIB))
    seen = list(islice(watch(script, Ladder(), interval_s=1.0, auto_kill=True), 3))
    assert [type(one) for one in seen] == [Tick] * 3
    assert len(script.rests) == 2


def test_watch_goes_on_when_memory_cannot_be_read() -> None:
    script = Script(four())
    script.readable = False
    seen = list(islice(watch(script, Ladder(), interval_s=1.0, auto_kill=True), 2))
    assert [one.step for one in seen if isinstance(one, Tick)] == ["queue", "queue"]
    assert script.killed == []


def test_a_tick_that_came_late_is_followed_by_one_not_by_a_burst() -> None:
    script = Script(four(1.0))
    ticks = watch(script, Ladder(), interval_s=1.0, auto_kill=False)
    next(ticks)
    script.clock += 10.0
    next(ticks)
    late_at = script.clock
    next(ticks)
    assert script.clock == pytest.approx(late_at + 1.0, abs=0.01)


def test_a_plan_and_relief_agree() -> None:
    script = Script(four())
    need = GOAL.over_bytes(script.look())
    names = [agent.facts.run for agent in planned(script.agents(), need)]
    relieve(script, GOAL, round_s=5.0)
    assert script.killed == [names]
    assert need == pytest.approx(2.1 * GIB, abs=MIB)
