"""A fleet in a namespace on virtual time: the controller's own policy, and a quota as its door."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from paddock.cluster.room import Room, cluster_policy
from paddock.core.actions import Action, StartAttempt
from paddock.core.events import Event, Host, StartPutOff
from paddock.core.run import Ended, Outcome
from paddock.drivers.kubernetes.lining import QUOTA_RETRY_S
from paddock.simulate.agents import Agent
from paddock.simulate.host import Machine
from paddock.simulate.quota import Gate
from paddock.simulate.tally import Tally
from paddock.simulate.trace import Plan
from paddock.simulate.world import World

# Nodes have what the quota allows: a pod waits for nobody else's cores.
NO_END: Final = 1e9
ASKED_S: Final = 0.05  # until the API server has said no


class _Nodes(Machine):
    """What the controller sees of a cluster is what its quotas leave."""

    room: Room

    def look(self) -> Host:
        return self.room.sample()


class ClusterWorld(World):
    """`moments` tells how many of each role there were, whenever that changed."""

    def __init__(self, plans: Sequence[Plan], gate: Gate) -> None:
        policy = cluster_policy()
        super().__init__(plans, policy, cpus=NO_END, neighbour=())
        self.gate = gate
        self.moments: list[tuple[float, dict[str, int]]] = []
        self.waited_for: Counter[str] = Counter()
        nodes = _Nodes(policy.total_bytes, NO_END, policy.wall_bytes, other_bytes=0)
        quotas, pods = gate.namespace.quotas, gate.pods
        nodes.room = Room(quotas, pods, classes=gate.classes, tiers=gate.tiers)
        self.machine = nodes

    def _act(self, action: Action) -> None:
        if isinstance(action, StartAttempt):
            short = self.gate.take(action.attempt, action.limit_bytes)
            if short is not None:
                at = self.now + ASKED_S
                self._push(at, StartPutOff(at, action.attempt, short, QUOTA_RETRY_S))
                self.waited_for[_resource(short)] += 1
                return
            super()._first_start(action.attempt.run)
            self._note()
        super()._act(action)

    def _first_start(self, run: str) -> None:
        """Not with the wish, but when there is a place."""

    def _remove(self, agent: Agent) -> None:
        super()._remove(agent)
        self.gate.gone(agent.attempt)
        self._note()

    def _step(self, event: Event) -> None:
        super()._step(event)
        for change in self.fleet.changes:
            state = change.run.state
            if isinstance(state, Ended) and state.outcome is Outcome.SUCCEEDED:
                self.gate.ended(change.run.id)

    def _note(self) -> None:
        if self.moments and self.moments[-1][0] == self.now:
            self.moments.pop()
        self.moments.append((self.now, self.gate.at_once()))


def _resource(short: str) -> str:
    """Of the driver's sentence, what it is about."""
    return short.partition(" left,")[0].rpartition(" ")[2]


@dataclass(frozen=True, slots=True)
class ClusterAnswer:
    fleet: str
    runs: int
    tally: Tally
    moments: tuple[tuple[float, dict[str, int]], ...]
    waited_for: dict[str, int]

    @property
    def peak(self) -> tuple[float, dict[str, int]]:
        """When most were there at once, and who: the first time."""
        return max(self.moments, key=lambda moment: (sum(moment[1].values()), -moment[0]))

    def as_json(self) -> dict[str, Any]:
        """Keys are only ever added."""
        tally, (peak_at, who) = self.tally, self.peak
        return {
            "fleet": self.fleet,
            "runs": self.runs,
            "makespan_s": round(tally.makespan_s, 3),
            "wait_s": {"p50": round(tally.wait(0.5), 3), "p95": round(tally.wait(0.95), 3)},
            "peak_agents": sum(who.values()),
            "peak_roles": who,
            "peak_at_s": round(peak_at, 3),
            "mean_agents": round(tally.agent_seconds / max(tally.makespan_s, 1e-9), 2),
            "completed": tally.outcomes[Outcome.SUCCEEDED],
            "outcomes": {str(o): tally.outcomes[o] for o in Outcome if tally.outcomes[o]},
            "lost": tally.taken - tally.ended,
            "put_off": self.waited_for,
            "moments": [{"at_s": round(at, 3), "running": found} for at, found in self.moments],
        }


def answer(fleet: str, plans: Sequence[Plan], gate: Gate) -> ClusterAnswer:
    world = ClusterWorld(plans, gate)
    tally = world.run()
    waited = dict(world.waited_for.most_common())
    return ClusterAnswer(fleet, len(plans), tally, tuple(world.moments), waited)
