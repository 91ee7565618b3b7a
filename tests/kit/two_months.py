"""A simulated month with the limits people give, and the next one with those that were advised.

The advice comes from the very recorder that the daemon has; the months are different runs of the
same kinds of agents (other seeds), so nothing is judged by what it was learned from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from types import MappingProxyType
from typing import Final

from paddock.core.events import Event, Sampled
from paddock.core.group import Group
from paddock.core.policy import Admission, Policy
from paddock.core.units import GIB
from paddock.observe.history import Recorder
from paddock.observe.sizing_advice import Advice, GroupUse, advise
from paddock.simulate import lives
from paddock.simulate.trace import Plan, Trace
from paddock.simulate.world import World
from paddock.storage.rollup import DAY_S, PEAK_UNIT, GroupSpan, edge

BUSY_S: Final = 3600.0  # of each day; nothing happens in between, so it is left out
LOOK_S: Final = 10.0
MONTH_DAYS: Final = 30
TOTAL: Final = 512 * GIB
RESERVE: Final = 64 * GIB
CPUS: Final = 64.0


@dataclass(frozen=True, slots=True)
class Kind:
    """One group of agents: how each lives, and how many of a hundred runs are of it."""

    live: Callable[[Random], Trace]
    share: int


def _tests(random: Random) -> Trace:
    return lives.tester(random, wall_bytes=4 * GIB)


KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        "coder/web/implement": Kind(lives.bursty, 30),
        "coder/api/implement": Kind(lives.bursty, 15),
        "coder/web/review": Kind(lives.reviewer, 20),
        "coder/docs/write": Kind(lives.steady, 15),
        "coder/web/test": Kind(_tests, 15),
        "builder/kernel": Kind(lives.build, 5),
    }
)
# What people give: the tiers of the Kubernetes plan this was asked for in, and one size for all.
TIERS: Final = MappingProxyType(
    {
        "coder/web/implement": 16 * GIB,
        "coder/api/implement": 16 * GIB,
        "coder/web/review": 8 * GIB,
        "coder/docs/write": 8 * GIB,
        "coder/web/test": 16 * GIB,
        "builder/kernel": 16 * GIB,
    }
)
ONE_SIZE: Final = MappingProxyType(dict.fromkeys(KINDS, 4 * GIB))
SCENARIOS: Final = MappingProxyType({"tiers": TIERS, "one size": ONE_SIZE})

Limits = Mapping[str, int]


@dataclass(slots=True)
class Month:
    """What came of it."""

    reserved_byte_s: float = 0.0
    oom_kills: int = 0
    runs: int = 0
    succeeded: int = 0
    groups: dict[str, tuple[GroupSpan, int]] = field(default_factory=dict)  # and days

    def uses(self) -> Iterator[GroupUse]:
        for name, (span, days) in self.groups.items():
            yield GroupUse(
                group=name,
                days=days,
                attempts=span.attempts,
                ooms=span.ooms,
                agent_s=span.seconds,
                limit_bytes=span.limit_bytes,
                limits_bytes=span.limits_s / span.seconds if span.seconds else None,
                peaks=[(edge(index, PEAK_UNIT), count) for index, count in span.peaks.items()],
            )


@dataclass(frozen=True, slots=True)
class Compared:
    scenario: str
    advice: tuple[Advice, ...]
    before: Month
    after: Month

    @property
    def saved(self) -> float:
        """Share of the reserved memory."""
        return 1 - self.after.reserved_byte_s / self.before.reserved_byte_s


def compare(scenario: str, *, days: int, runs_a_day: int, seed: int) -> Compared:
    """Learn from one month; live the next one twice, with the old limits and with the new."""
    limits = SCENARIOS[scenario]
    learned = live(limits, days=days, runs_a_day=runs_a_day, seed=seed)
    advice = tuple(advise(use) for use in learned.uses())
    new = dict(limits)
    new |= {one.group: one.limit_bytes for one in advice if one.limit_bytes is not None}
    before = live(limits, days=days, runs_a_day=runs_a_day, seed=seed + 1)
    after = live(new, days=days, runs_a_day=runs_a_day, seed=seed + 1)
    return Compared(scenario, advice, before, after)


def live(limits: Limits, *, days: int, runs_a_day: int, seed: int) -> Month:
    month = Month()
    history: dict[str, Group] = {}
    for day in range(days):
        plans = _plans(limits, runs_a_day, Random(f"{seed}:{day}"))
        history = _live_a_day(month, plans, history, day=day)
    return month


def _plans(limits: Limits, runs: int, random: Random) -> list[Plan]:
    names = list(KINDS)
    shares = [KINDS[name].share for name in names]
    plans = []
    for number in range(runs):
        group = random.choices(names, weights=shares)[0]
        at = random.uniform(0.0, BUSY_S)
        trace = KINDS[group].live(random)
        name = f"r-{number:05}"
        plans.append(Plan(name, at, group, 2, limits[group], (), (trace,), 2))
    return sorted(plans, key=lambda plan: plan.submit_at)


def _live_a_day(
    month: Month, plans: Sequence[Plan], history: Mapping[str, Group], *, day: int
) -> dict[str, Group]:
    policy = Policy(
        total_bytes=TOTAL, reserve_bytes=RESERVE, admission=Admission.GUARANTEED, stale_s=60.0
    )
    world = World(plans, replace(policy), cpus=CPUS, history=history)
    recorder = Recorder(world.fleet)
    world.on_step = _recording(world, recorder, at=day * DAY_S)
    tally = world.run()
    for (_, name), span in recorder.gathered.groups.items():
        known, days = month.groups.setdefault(name, (GroupSpan(), 0))
        known.add(span)
        month.groups[name] = (known, days + 1)
    month.reserved_byte_s += sum(span.limits_s for span in recorder.gathered.groups.values())
    month.oom_kills += tally.oom_kills
    month.runs += tally.ended
    month.succeeded += sum(n for how, n in tally.outcomes.items() if how == "succeeded")
    groups = dict(world.fleet.groups)
    for group in groups.values():
        group.rest()
    return groups


def _recording(world: World, recorder: Recorder, *, at: float) -> Callable[[Event], None]:
    """As the daemon's recording does it: told of changes, and a look every few seconds."""
    due_at = 0.0

    def on_step(event: Event) -> None:
        nonlocal due_at
        for change in world.fleet.changes:
            recorder.changed(change)
        if isinstance(event, Sampled) and event.at >= due_at:
            due_at = event.at + LOOK_S
            recorder.look(at=at + event.at % 3600.0)  # one bucket a day is enough here

    return on_step
