"""Whom rescue kills: the same as the core, for the same reasons, in the same words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from paddock.core import victims as core
from paddock.core.run import Priority
from paddock.rescue.agents import Agent
from paddock.rescue.victims import because, choose, killable, ranked
from tests.unit.rescue.made import MIB, an_agent, as_candidate

# Begun at different times: at the same instant the core goes by the order of submission, which
# no record tells.
_sizes = st.integers(0, 40).map(lambda number: number * 64 * MIB)


@st.composite
def fleets(draw: st.DrawFn) -> list[Agent]:
    times = draw(st.lists(st.integers(1, 1000), unique=True, max_size=8))
    return [
        an_agent(
            f"r{at}",
            used=draw(_sizes),
            expected=draw(st.one_of(st.none(), _sizes)),
            priority=draw(st.sampled_from(Priority)),
            begun_at=float(at),
        )
        for at in times
    ]


def names(agents: list[Agent]) -> list[str]:
    return [agent.facts.run for agent in agents]


@given(fleets())
def test_the_order_is_the_cores(agents: list[Agent]) -> None:
    expected = [one.run for one in core.ranked([as_candidate(agent) for agent in agents])]
    assert names(ranked(agents)) == expected


@given(fleets(), st.floats(0, 200 * 64 * MIB))
def test_the_choice_is_the_cores(agents: list[Agent], needed: float) -> None:
    expected = core.choose([as_candidate(agent) for agent in agents], core.Bytes(needed))
    assert names(choose(agents, needed)) == [one.run for one in expected]


@given(fleets(), fleets())
def test_the_reason_is_the_cores(agents: list[Agent], others: list[Agent]) -> None:
    for victim in agents:
        assert because(victim, cause="host memory at 96 %", spared=others) == core.because(
            as_candidate(victim),
            cause="host memory at 96 %",
            spared=[as_candidate(one) for one in others],
        )


def test_the_lowest_priority_goes_first_then_the_most_over_then_the_newest() -> None:
    fleet = [
        an_agent("old", begun_at=1.0),
        an_agent("over", used=150 * MIB, begun_at=2.0),
        an_agent("new", begun_at=3.0),
        an_agent("low", priority=Priority.LOW),
        an_agent("high", used=900 * MIB, priority=Priority.HIGH),
    ]
    assert names(ranked(fleet)) == ["low", "over", "new", "old", "high"]


def test_the_critical_are_killed_only_when_nobody_else_frees_anything() -> None:
    critical = an_agent("critical", priority=Priority.CRITICAL)
    assert names(killable([critical, an_agent("a"), an_agent("empty", used=0)])) == ["a"]
    assert names(killable([critical, an_agent("empty", used=0)])) == ["critical"]


def test_without_a_known_size_nobody_counts_as_over_it() -> None:
    assert an_agent("a", used=900 * MIB, expected=None).over_bytes == 0
