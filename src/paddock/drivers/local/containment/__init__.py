"""Walls around local attempts: what the driver asks of them. One module a kind; `none` has none.

Whatever a kind cannot do itself it answers with False or None, and the driver does it process by
process. Cgroups of agents are named `…/paddock…/fleet/LEAF`, with the supervisor's beside `fleet`:
`keeper/cgroups.py` knows by that path who was started inside an agent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from paddock.core.run import Attempt
from paddock.ports import Guarantees


@dataclass(frozen=True, slots=True)
class Place:
    """Where the shim puts itself before it becomes the agent."""

    procs: tuple[str, ...] = ()  # `cgroup.procs` files, one a hierarchy
    oom_score_adj: int | None = None  # None: what the keeper itself had at its birth


@dataclass(frozen=True, slots=True)
class Toll:
    """What the kernel counted for an attempt, read when its main process has ended."""

    oom: bool = False
    fleet_oom: bool = False
    peak_bytes: int | None = None  # None: nobody counted


class Containment(Protocol):
    """Every method may be repeated without harm, and none of them waits."""

    @property
    def guarantees(self) -> Guarantees: ...

    def prepare(self, attempt: Attempt, *, limit_bytes: int) -> Place:
        """A fresh place for a new attempt. OSError: it cannot be had, and nothing is started."""

    def used_bytes(self, attempts: Collection[Attempt]) -> Mapping[Attempt, int] | None:
        """None: nobody counts, and the processes are added up."""

    def kill(self, attempt: Attempt) -> bool: ...

    def freeze(self, attempt: Attempt, *, reclaim: bool) -> bool: ...

    def thaw(self, attempt: Attempt) -> bool: ...

    def toll(self, attempt: Attempt) -> Toll: ...

    def remove(self, attempt: Attempt) -> None:
        """The attempt is empty and forgotten."""
