"""Makes a small database with something of everything in it, in the version of today's code.

    python -m tests.data.make_database tests/data/store_v5.db

Run once, when a new version of the schema is released; the file is committed and never made again:
`tests/integration/storage/test_old_databases.py` holds that every later paddock can load it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec import structs

from paddock.core.breaker import Breaker, Closed, HalfOpen, Open
from paddock.core.fleet import Change
from paddock.core.group import Group, GroupFacts
from paddock.core.heartbeat import Heartbeat
from paddock.core.policy import Policy
from paddock.core.run import (
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
    StepDone,
    StopPhase,
    Stopping,
)
from paddock.core.units import GIB, MIB
from paddock.ports import LedgerEntry, Recipe, Rollup, Step
from paddock.storage.rollup import DAY_S, HOUR_S, MINUTE_S, FleetSpan, GroupSpan, packed
from paddock.storage.sqlite import open_store

POLICY = Policy(total_bytes=16 * GIB, reserve_bytes=4 * GIB)
HOLD = Hold(2 * GIB, 700 * MIB)
EXIT = Exit(None, signal=9, oom=True, peak_bytes=2 * GIB, retry_after_s=3.5)
STATES: dict[str, State] = {
    "queued": Queued(10.0, because="2.1 GiB short"),
    "waiting": Queued(11.0, not_before_at=70.5, unmet=frozenset({"running", "starting"})),
    "starting": Starting(12.0, 1, HOLD, 72.0),
    "running": Running(13.0, 2, HOLD, soft_at=913.0, hard_at=1813.0, paused_s=0.1),
    "frozen": Running(14.0, 1, HOLD, frozen=Frozen.BY_PRESSURE, frozen_at=15.0),
    "asked": Stopping(16.0, 1, HOLD, 14.0, Outcome.PREEMPTED, "for urgent", StopPhase.ASKED, 46.0),
    "dying": Stopping(17.0, 3, HOLD, None, None, "", StopPhase.KILLED, 27.0, EXIT),
}


def runs() -> list[Run]:
    outcomes = {f"ended-{outcome}": Ended(20.0, outcome, "why", 1) for outcome in Outcome}
    return [
        _run(name, state, number)
        for number, (name, state) in enumerate({**STATES, **outcomes}.items(), 1)
    ]


def _run(name: str, state: State, number: int) -> Run:
    spec = RunSpec(
        id=f"{number:04x}-{name}",
        name=name,
        group="coder × payments × tests",
        limit_bytes=2 * GIB,
        priority=Priority.HIGH,
        soft_limit_bytes=GIB,
        complexity=Complexity.COMPLEX,
        repository_factor=1.5,
        hard_timeout_s=math.inf if number % 2 else 900.0,
        needs=("ümlaut",) if number % 3 else (),
        retries=2,
    )
    first = Run(spec, state, Priority.LOW, 9.5, number, number + 100, 3 * GIB, attempts=number % 4)
    return structs.replace(first, failures=1, laters=2, losses=3, preemptions=1)


def groups() -> dict[str, GroupFacts]:
    made = {}
    breakers: dict[str, Breaker] = {
        "coder × payments × tests": Closed((1.0, 2.5)),
        "open": Open(99.0, (1.0, 2.0, 3.0), 60.0),
        "probing": HalfOpen((1.0,), 120.0, "0004-running"),
    }
    for name, breaker in breakers.items():
        group = Group(POLICY)
        group.breaker = breaker
        for n in range(40):
            group.size.observe((n + 1) * 50 * MIB, seconds=1.7, at=n * 10.0, young=n < 5)
        group.size.out_of_memory(POLICY.sizing)
        group.size.ended, group.size.limit_bytes = 12, 4 * GIB
        group.durations_s.extend([61.5, 62.25, 1800.0])
        made[name] = group.facts()
    return made


def heartbeat() -> Heartbeat:
    template = RunSpec(id="health", name="health", group="health", limit_bytes=64 * MIB)
    return Heartbeat(template, 30.0, 60.0, 3, 1, 2, "health.30")


def recipe() -> Recipe:
    return Recipe(
        command=("agent", "--prompt", "Move retries into one place", "", "\udcff"),
        directory=Path("/work/payments"),
        environment={"PATH": "/usr/bin:/bin", "EMPTY": "", "PAIR": "a=b"},
        stdin=Path("/work/prompt.txt"),
        labels={"role": "tests"},
    )


def steps_done() -> tuple[StepDone, ...]:
    """Since version 3."""
    [running] = [run.id for run in runs() if run.spec.name == "running"]
    return (
        StepDone(running, 0, "unit", 14.5, 1, 0, "sha256:00ff", "c0ffee"),
        StepDone(running, 1, "e2e", 15.0, 2, 0),
    )


def steps() -> Iterator[Step]:
    found = runs()
    new = tuple(Change(structs.replace(run, state=Queued(9.5)), None, "submitted") for run in found)
    recipes = {run.id: recipe() for run in found}
    yield Step(at=9.5, changes=new, recipes=recipes, epoch=7, boot_id="0b00-7")
    moves = tuple(Change(run, Queued(9.5), f"it is {run.spec.name} now") for run in found)
    yield Step(at=20.0, changes=moves, groups=groups())
    beat = heartbeat()
    yield Step(
        at=21.0,
        heartbeats=(beat,),
        heartbeat_recipes={beat.name: recipe()},
        steps_done=steps_done(),
    )


def rollups() -> list[Rollup]:
    """Since version 5."""
    fleet = packed(FleetSpan(seconds=60.0, starts=3, rungs_s={0: 60.0}, ends={"failed": 1}))
    group = packed(GroupSpan(seconds=90.0, limit_bytes=2 * GIB, peaks={100: 2, 120: 1}))
    at = 1_790_000_000 // DAY_S * DAY_S
    found = [Rollup(MINUTE_S, at, None, fleet), Rollup(HOUR_S, at, None, fleet)]
    return [*found, *(Rollup(step_s, at, "coder × payments", group) for step_s in (HOUR_S, DAY_S))]


def entry() -> LedgerEntry:
    facts = {"killed": 1.0}
    return LedgerEntry(kind="pressure", subject="host", at=1.79e9, verdict="true", facts=facts)


def main() -> None:
    path = Path(sys.argv[1])
    if path.exists():
        sys.exit(f"{path} is there already; an old database is never made again")
    store = open_store(path)
    store.remember_many(list(steps()))
    store.record(rollups(), [entry()], now_at=1.79e9)
    store.close()
    Path(f"{path}.lock").unlink()


if __name__ == "__main__":
    main()
