"""Everything that can be remembered, at random; and steps in a line: `submitted(a_run())`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from hypothesis import strategies as st
from msgspec import structs

from paddock.core.breaker import Closed, HalfOpen, Open
from paddock.core.fleet import Change
from paddock.core.group import Group, GroupFacts
from paddock.core.heartbeat import Heartbeat
from paddock.core.run import (
    Bounds,
    Complexity,
    Ended,
    Exit,
    Frozen,
    Hold,
    Outcome,
    Priority,
    Queued,
    Run,
    Running,
    RunSpec,
    Starting,
    State,
    StopPhase,
    Stopping,
)
from paddock.core.sizing import SizeModel
from paddock.ports import Recipe, Step
from tests.kit.factories import a_policy, a_run, a_spec

T = TypeVar("T")
TIMES = st.floats(allow_nan=False, allow_infinity=False)
SECONDS = st.floats(min_value=0.0, max_value=1e9)
TIMEOUTS = st.none() | SECONDS | st.just(math.inf)
COUNTS = st.integers(0, 2**62)
TEXTS = st.text(max_size=20)
IDS = st.text(min_size=1, max_size=12)

# Every field of a dataclass is drawn by its kind, so that one that is added later is drawn, too.
BY_KIND: dict[Any, st.SearchStrategy[Any]] = {
    bool: st.booleans(),
    int: COUNTS,
    int | None: st.none() | COUNTS,
    float: TIMES,
    float | None: st.none() | TIMES,
    str: TEXTS,
    str | None: st.none() | TEXTS,
    tuple[str, ...]: st.lists(IDS, max_size=3).map(tuple),
    frozenset[str]: st.frozensets(IDS, max_size=3),
    Frozen | None: st.none() | st.sampled_from(Frozen),
    Outcome: st.sampled_from(Outcome),
    Outcome | None: st.none() | st.sampled_from(Outcome),
    Priority: st.sampled_from(Priority),
    Complexity: st.sampled_from(Complexity),
    StopPhase: st.sampled_from(StopPhase),
}


def any_of(kind: Callable[..., T], **own: st.SearchStrategy[Any]) -> st.SearchStrategy[T]:
    hints = get_type_hints(kind)
    names = list(get_type_hints(kind))
    drawn = {name: own[name] if name in own else BY_KIND[hints[name]] for name in names}
    return st.builds(kind, **drawn)


HOLDS = any_of(Hold)
EXITS = any_of(Exit, retry_after_s=TIMEOUTS)
BY_KIND |= {Hold: HOLDS, Exit | None: st.none() | EXITS, Bounds | None: st.none() | any_of(Bounds)}

STATES: st.SearchStrategy[State] = st.one_of(
    any_of(Queued), any_of(Starting), any_of(Running), any_of(Stopping), any_of(Ended)
)
SPECS = any_of(RunSpec, id=IDS, hard_timeout_s=TIMEOUTS, soft_timeout_s=TIMEOUTS)
RUNS = any_of(Run, spec=SPECS, state=STATES)

FAILED_AT = st.lists(TIMES, max_size=4).map(tuple)
BREAKERS = st.one_of(
    st.builds(Closed, FAILED_AT),
    st.builds(Open, TIMES, FAILED_AT, SECONDS),
    st.builds(HalfOpen, FAILED_AT, SECONDS, st.none() | IDS),
)


@st.composite
def size_models(draw: st.DrawFn) -> SizeModel:
    """Made as a fleet makes them: by what was seen, in the order of time."""
    policy = a_policy().sizing
    model = SizeModel(policy)
    at = 0.0
    for _ in range(draw(st.integers(0, 12))):
        at += draw(st.floats(0.0, 1e6))
        seconds = draw(st.floats(0.001, 1e4))
        young = draw(st.booleans())
        model.observe(draw(st.integers(0, 2**44)), seconds=seconds, at=at, young=young)
        if draw(st.booleans()):
            model.out_of_memory(policy)
    model.ended = draw(COUNTS)
    model.limit_bytes = draw(COUNTS)
    return model


@st.composite
def group_facts(draw: st.DrawFn) -> GroupFacts:
    group = Group(a_policy())
    group.breaker = draw(BREAKERS)
    group.size = draw(size_models())
    group.durations_s.extend(draw(st.lists(SECONDS, max_size=70)))
    return group.facts()


HEARTBEATS = any_of(Heartbeat, template=SPECS)
# What a shell hands over: bytes that are no UTF-8 come as lone surrogates.
SHELL_TEXTS = st.binary(max_size=12).map(
    lambda data: data.replace(b"\0", b"").decode("utf-8", "surrogateescape")
)
NAMES = st.text("ABCdef_é", min_size=1, max_size=8)
RECIPES = st.builds(
    Recipe,
    command=st.lists(SHELL_TEXTS, max_size=4).map(tuple),
    directory=SHELL_TEXTS.map(lambda name: Path("/work") / name),
    environment=st.dictionaries(NAMES, SHELL_TEXTS, max_size=4),
    stdin=st.none() | SHELL_TEXTS.map(lambda name: Path("/in") / name),
    labels=st.dictionaries(TEXTS, TEXTS, max_size=3),
)


def a_recipe(**changes: Any) -> Recipe:
    plain = Recipe(command=("agent", ""), directory=Path("/work"), environment={"KEY": "value"})
    return dataclasses.replace(plain, **changes)


def submitted(*runs: Run, at: float = 1.0, **facts: Any) -> Step:
    changes = tuple(Change(run, None, "submitted") for run in runs)
    return Step(at=at, changes=changes, **facts)


def moved(run: Run, state: Any, *, at: float = 2.0, because: str = "it moved") -> Step:
    return Step(at=at, changes=(Change(structs.replace(run, state=state), run.state, because),))


def ended(run: Run, *, at: float = 2.0, outcome: Outcome = Outcome.SUCCEEDED) -> Step:
    return moved(run, Ended(at, outcome, "exit code 0", 0), at=at, because="exit code 0")


def numbered(number: int, **facts: Any) -> Run:
    """Run 7 is called r7 and was the seventh."""
    return a_run(a_spec(f"r{number}", **facts), sequence=number)
