"""What the kernel counts for each attempt and forgets with its cgroup: kills, and time held back.

In v2 the fleet's own cgroup goes on counting kills of those that are gone; in v1 a cgroup knows
only of itself, so it is looked at often, and whoever needs to be sure also asks how the run ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from paddock.cgroups.files import read_or_empty, table
from paddock.cgroups.group import Group
from paddock.cgroups.v1 import Group1
from paddock.rescue.records import HomeDirectory


@dataclass(slots=True)
class Tally:
    """By `RUN.N`, as the cgroups are named: the last that was seen of each."""

    kills: dict[str, int] = field(default_factory=dict)
    throttled_s: dict[str, float] = field(default_factory=dict)
    fleet_kills: int = 0  # as the cgroup around all of them says

    def look(self, home: HomeDirectory | None) -> None:
        if home is None:
            return
        try:
            self.fleet_kills = max(self.fleet_kills, home.fleet.counters().oom_kills)
            keys = home.fleet.children()
        except OSError:
            return  # not made yet, or gone with its daemon
        for key in keys:
            self._look_at(key, home.fleet.child(key))

    def _look_at(self, key: str, group: Group) -> None:
        try:
            kills = group.counters().oom_kills
        except OSError:
            return  # it went meanwhile: what was last seen stands
        self.kills[key] = max(self.kills.get(key, 0), kills)
        held_back = throttled_s(group)
        if held_back is not None:
            self.throttled_s[key] = max(self.throttled_s.get(key, 0.0), held_back)

    def kills_of(self, run: str) -> int:
        """In all of its attempts."""
        return sum(many for key, many in self.kills.items() if _run_of(key) == run)

    def throttled_s_of(self, run: str) -> float | None:
        """None: nobody counts it here."""
        found = [spent for key, spent in self.throttled_s.items() if _run_of(key) == run]
        return sum(found) if found else None


def _run_of(key: str) -> str:
    return key.rpartition(".")[0]


def throttled_s(group: Group) -> float | None:
    """For how long its quota kept it from a core that it wanted. The kernel adds up its cores, so
    many threads may have waited for longer than there was time."""
    if isinstance(group, Group1):
        text = read_or_empty(f"{group.directories.get('cpu', '')}/cpu.stat")
        spent_ns = table(text).get("throttled_time")
        return None if spent_ns is None else spent_ns / 1e9
    spent_us = table(read_or_empty(f"{group.path}/cpu.stat")).get("throttled_usec")
    return None if spent_us is None else spent_us / 1e6
