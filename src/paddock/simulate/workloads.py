"""The workloads that ship with the simulator: lists of runs, the same for the same seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from random import Random
from types import MappingProxyType

from paddock.simulate import lives
from paddock.simulate.lives import GIB, MIB
from paddock.simulate.trace import EXIT_TEMPORARY, Plan, Trace

NORMAL = 2
RETRIES = 3


@dataclass(frozen=True, slots=True)
class Workload:
    """A kind of fleet; `draw` yields its runs without end."""

    name: str
    description: str
    draw: Callable[[Random], Iterator[Plan]]


def plans(name: str, *, runs: int, seed: int) -> list[Plan]:
    """The first `runs` runs of a workload: a longer list begins with the shorter one."""
    if name not in WORKLOADS:
        raise ValueError(f"no workload {name!r}; there are {', '.join(WORKLOADS)}")
    # A string seeds the same in every process; a tuple would go through the salted hash.
    drawn = WORKLOADS[name].draw(Random(f"{name}:{seed}"))
    return [next(drawn) for _ in range(runs)]


def _names() -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"w-{number:05}"


def _plan(name: str, trace: Trace, *, group: str, limit_bytes: int, priority: int = NORMAL) -> Plan:
    return Plan(name, 0.0, group, priority, limit_bytes, (), (trace,), RETRIES)


def _bursty(random: Random) -> Iterator[Plan]:
    for name in _names():
        yield _plan(name, lives.bursty(random), group="bursty", limit_bytes=4 * GIB)


def _steady(random: Random) -> Iterator[Plan]:
    for name in _names():
        yield _plan(name, lives.steady(random), group="steady", limit_bytes=GIB)


def _builds(random: Random) -> Iterator[Plan]:
    for name in _names():
        group = f"builds/{random.choice(('backend', 'frontend', 'kernel'))}"
        yield _plan(name, lives.build(random), group=group, limit_bytes=8 * GIB)


def _storm(random: Random) -> Iterator[Plan]:
    for name in _names():
        trace = lives.installer(random, wall_bytes=3 * GIB)
        group = f"storm/{random.choice(('web', 'api', 'jobs', 'docs'))}"
        yield _plan(name, trace, group=group, limit_bytes=3 * GIB, priority=_priority(random))


LEAKY_LIMIT_BYTES = 2 * GIB


def _leaky(random: Random) -> Iterator[Plan]:
    """Of ten, seven stay below their limit, two pass it once and are then well, one always."""
    for name in _names():
        kind = random.choices(("slow", "recovers", "hopeless"), weights=(70, 20, 10))[0]
        start = random.randint(150, 250) * MIB
        below = random.randint(500, 1900) * MIB
        above = random.randint(2200, 4000) * MIB
        ends = {"slow": (below,), "recovers": (above, below), "hopeless": (above,)}[kind]
        traces = tuple(lives.leak(random, from_bytes=start, to_bytes=end) for end in ends)
        # A leak belongs to an agent in a repository, which is what a group is.
        group = f"leaky/{kind}"
        retries = 1 if kind == "hopeless" else RETRIES
        yield Plan(name, 0.0, group, NORMAL, LEAKY_LIMIT_BYTES, (), traces, retries)


# mixed ----------------------------------------------------------------------------------------

AGENTS = ("amber", "birch")
REPOSITORIES = ("web", "api", "jobs")
ROLES = ("implement", "review", "test")
GROUPS = tuple("/".join(parts) for parts in product(AGENTS, REPOSITORIES, ROLES))

AT_ONCE = 0.5  # share of submissions there from the start; the others come one by one
ARRIVAL_EVERY_S = 0.3
CHAINS = 0.12  # share of submissions that are implement → review → test (three runs each)
BUILDS = 0.02
TEMPORARY = 0.01  # first attempt exits 75
FAILING = 0.005  # first attempt exits 1


def _mixed(random: Random) -> Iterator[Plan]:
    names = _names()
    clock_s = 0.0
    while True:
        at_s = 0.0
        if random.random() >= AT_ONCE:
            clock_s += random.expovariate(1 / ARRIVAL_EVERY_S)
            at_s = clock_s
        project = f"{random.choice(AGENTS)}/{random.choice(REPOSITORIES)}"
        priority = _priority(random)
        if random.random() >= CHAINS:
            role = random.choices(ROLES, weights=(70, 20, 10))[0]
            plan = _mixed_plan(random, next(names), at_s=at_s, project=project, role=role)
            yield replace(plan, priority=priority)
            continue
        needs: tuple[str, ...] = ()
        for role in ROLES:
            plan = _mixed_plan(random, next(names), at_s=at_s, project=project, role=role)
            yield replace(plan, priority=priority, needs=needs)
            needs = (plan.name,)


def _mixed_plan(random: Random, name: str, *, at_s: float, project: str, role: str) -> Plan:
    limit_bytes, trace = _mixed_life(random, role)
    traces, retry_after_s = _first_attempts(random, trace)
    group = f"{project}/{role}"
    return Plan(name, at_s, group, NORMAL, limit_bytes, (), traces, RETRIES, retry_after_s)


def _mixed_life(random: Random, role: str) -> tuple[int, Trace]:
    if role == "review":
        return GIB, lives.reviewer(random)
    if role == "test":
        limit = random.choice((4, 6)) * GIB
        return limit, lives.tester(random, wall_bytes=limit)
    if random.random() < BUILDS:
        return 8 * GIB, lives.build(random)
    return 4 * GIB, lives.bursty(random)


def _first_attempts(random: Random, trace: Trace) -> tuple[tuple[Trace, ...], float | None]:
    """Mostly the one that succeeds; now and then one before it that ends early."""
    luck = random.random()
    if luck >= TEMPORARY + FAILING:
        return (trace,), None
    early_s = random.uniform(0.05, 0.6) * trace.duration_s
    if luck < TEMPORARY:
        return (trace.until(early_s, exit_code=EXIT_TEMPORARY), trace), random.uniform(20.0, 120.0)
    return (trace.until(early_s, exit_code=1), trace), None


def _priority(random: Random) -> int:
    return random.choices((0, 1, 2, 3), weights=(3, 17, 60, 20))[0]


WORKLOADS: Mapping[str, Workload] = MappingProxyType(
    {
        workload.name: workload
        for workload in (
            Workload("steady", "agents of 600 to 700 MiB that hardly change", _steady),
            Workload("bursty", "agents of 185 MiB whose tools burst to 4 GiB for seconds", _bursty),
            Workload("builds", "compilations of 2 to 6 GiB on several cores for minutes", _builds),
            Workload(
                "mixed", "agents, reviews, tests and builds; chains, arrivals, retries", _mixed
            ),
            Workload("storm", "all at once, and all install in their first seconds", _storm),
            Workload("leaky", "agents that grow all their life, some beyond their limit", _leaky),
        )
    }
)
