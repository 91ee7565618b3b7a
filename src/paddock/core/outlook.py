"""Who is likely to end in the next moments, by how long others of the group took."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from .admission import A_BURST_S, Demand
from .group import Group
from .run import Run, Running

EVIDENCE: Final = 10


class Living(Protocol):
    """What of a fleet is looked at."""

    now: float
    groups: dict[str, Group]
    demand: Demand

    def live_runs(self) -> Iterator[Run]: ...


class Outlook:
    """Kept for the moment it is asked in: one look asks for every candidate."""

    def __init__(self) -> None:
        self._kept: tuple[float, int] | None = None

    def back_soon(self, fleet: Living) -> int:
        """What can be counted on to come back within a burst's time."""
        if self._kept is None or self._kept[0] != fleet.now:
            self._kept = (fleet.now, back_within(fleet, A_BURST_S))
        return self._kept[1]


def back_within(fleet: Living, within_s: float) -> int:
    """What is likely to come back in that time, on average."""
    return int(fleet.demand.at_rest(_ending(fleet, within_s)))


def _ending(fleet: Living, within_s: float) -> Iterator[tuple[str, float]]:
    """Who works on, and how likely it is that it ends in that time."""
    durations: dict[str, Sequence[float]] = {}
    for run in fleet.live_runs():
        state, name = run.state, run.spec.group
        if isinstance(state, Running) and not state.frozen and not run.spec.away:
            if name not in durations:
                durations[name] = sorted(fleet.groups[name].durations_s)
            worked_s = fleet.now - state.since_at - state.paused_s
            yield run.id, likelihood(durations[name], worked_s, within_s=within_s)


def likelihood(durations_s: Sequence[float], worked_s: float, *, within_s: float) -> float:
    """Of those that took longer than this one has (in order), how many took no longer than that.

    0 for one that has outlived all of them: nothing is known of it any more.
    """
    longer = len(durations_s) - (passed := bisect_right(durations_s, worked_s))
    if len(durations_s) < EVIDENCE or not longer:
        return 0.0
    return (bisect_right(durations_s, worked_s + within_s) - passed) / longer
