"""A fleet that was let in by learned sizes, for tests of how its bursts are kept apart."""

from __future__ import annotations

from typing import Any

from paddock.core.policy import Admission
from paddock.core.run import Priority, Running
from tests.kit.factories import a_policy, a_spec, with_parts
from tests.kit.yard import Yard

REST = "500M"


def overcommitted(parts: dict[str, dict[str, Any]] | None = None, **priorities: Priority) -> Yard:
    """16 GiB, a wall of 12: six of 4 GiB each, known to take little. `parts` of its policy."""
    given = {"sizing": {}, "timeouts": {"ceiling_s": 1e6}, **(parts or {})}
    given["sizing"] = {"evidence": 1, **given["sizing"]}
    yard = Yard(with_parts(a_policy(admission=Admission.LEARNED), **given))
    yard.run(a_spec("warm", memory="4G", hard_timeout_s=1e6))
    yard.sample(warm="200M")
    yard.advance(100_000)
    yard.end("warm")
    names = [f"r{number}" for number in range(6)]
    for name in names:
        priority = priorities.get(name, Priority.NORMAL)
        yard.run(a_spec(name, memory="4G", priority=priority, hard_timeout_s=1e6))
        yard.sample()
    assert len(yard.live) == 6
    yard.sample(**dict.fromkeys(names, REST))
    return yard


def standing(yard: Yard) -> set[str]:
    live = yard.fleet.live_runs()
    return {run.id for run in live if isinstance(run.state, Running) and run.state.frozen}
