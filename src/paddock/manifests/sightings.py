"""What became of agents since their sizes were changed: killed for memory, put out, placed nowhere.

It only looks. Who has the new sizes is known by a label of the pod; those who have not are what it
is compared with: an agent that leaks is killed under any size.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from paddock.cluster.client import Object
from paddock.cluster.labels import CONTAINER, ROLE, TIER
from paddock.cluster.quantities import NoQuantity, bytes_of
from paddock.cluster.tiers import Tier

OOM: Final = "killed for memory"
PUT_OUT: Final = "put out by their node"
NO_PLACE: Final = "found no node"


@dataclass(slots=True)
class Tally:
    """Of pods, by name: those that were seen, and what was wrong with whom."""

    seen: set[str] = field(default_factory=set)
    bad: dict[str, str] = field(default_factory=dict)

    @property
    def share(self) -> float:
        return len(self.bad) / len(self.seen) if self.seen else 0.0


class Sightings:
    """`tiers`: those that are on trial. Without any only a quota changed, and everybody who begins
    from now on counts."""

    def __init__(self, tiers: Collection[Tier], *, since: datetime, no_place_s: float) -> None:
        self._tiers, self._since, self._no_place_s = tuple(tiers), since, no_place_s
        self.trial, self.others = Tally(), Tally()

    def hear(self, _what: str, pod: Object) -> None:
        """Of every pod of an agent, as often as it changes."""
        tally = self._tally(pod)
        if tally is None:
            return
        name = pod["metadata"]["name"]
        tally.seen.add(name)
        found = self._wrong(pod)
        if found is not None:
            tally.bad.setdefault(name, found)

    def look(self, pods: Collection[Object], now: datetime) -> None:
        """At those who wait for a node: that is no change of a pod, only time that goes by."""
        for pod in pods:
            tally, since = self._tally(pod), waits_since(pod)
            if tally is None or since is None:
                continue
            waited_s = (now - max(since, self._since)).total_seconds()
            if waited_s >= self._no_place_s:
                tally.bad.setdefault(pod["metadata"]["name"], NO_PLACE)

    def _tally(self, pod: Object) -> Tally | None:
        began = when(pod["metadata"].get("creationTimestamp"))
        if began is None or began < self._since:
            return None
        return self.trial if not self._tiers or self._tier(pod) is not None else self.others

    def _tier(self, pod: Object) -> Tier | None:
        """The one on trial that it has."""
        labels = pod["metadata"].get("labels") or {}
        mark, role = labels.get(TIER), labels.get(ROLE, "")
        for tier in self._tiers:
            if tier.mark == mark and tier.role in ("", role):
                return tier
        return None

    def _wrong(self, pod: Object) -> str | None:
        status = pod.get("status") or {}
        if status.get("reason") == "Evicted":
            return PUT_OUT
        if self._tiers and _killed(status):
            tier = self._tier(pod)
            # One that named its own memory, or was given more after a kill, says nothing of a tier.
            if tier is None or _limit(pod) == tier.memory_limit_bytes:
                return OOM
        return None

    def verdict(self, tolerated: float) -> str | None:
        """Why the change should be taken back; None while it is no worse than what was."""
        trial, others = self.trial, self.others
        if not trial.bad or trial.share <= max(tolerated, others.share):
            return None
        reasons = list(trial.bad.values())
        told = ", ".join(f"{reasons.count(one)} {one}" for one in dict.fromkeys(reasons))
        compared = f"; of {len(others.seen)} with the old sizes {len(others.bad)}"
        return f"of {len(trial.seen)} agents with the new sizes {told}{compared}"


def waits_since(pod: Object) -> datetime | None:
    """Since when the scheduler says that no node has room for it; None where it does not."""
    if "nodeName" in (pod.get("spec") or {}):
        return None
    for one in (pod.get("status") or {}).get("conditions") or []:
        if one.get("type") == "PodScheduled" and one.get("reason") == "Unschedulable":
            return when(one.get("lastTransitionTime"))
    return None


def when(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return None


def _killed(status: Object) -> bool:
    return any(
        (part.get("terminated") or {}).get("reason") == "OOMKilled"
        for one in status.get("containerStatuses") or []
        for part in (one.get("state") or {}, one.get("lastState") or {})
    )


def _limit(pod: Object) -> int | None:
    for one in pod["spec"].get("containers", []):
        if one.get("name") == CONTAINER:
            said = ((one.get("resources") or {}).get("limits") or {}).get("memory")
            try:
                return None if said is None else bytes_of(str(said))
            except NoQuantity:
                return None
    return None
