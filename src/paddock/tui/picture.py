"""What top knows of the fleet, as it was last told, and what it makes of two looks. No widgets."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from paddock.client.faces import views as v

CURVE: Final = 60  # seconds of memory that are kept of each agent
SHORTEST_S: Final = 0.5  # between two looks that make a rate: below, a tick of the clock is a lot


@dataclass(frozen=True, slots=True)
class Agent:
    """A run, and what was made of looks at it."""

    run: v.RunView
    cpu: float | None = None  # cores
    curve: Sequence[int] = ()

    @property
    def section(self) -> int:
        """At work, waiting, ended: they stay together however they are sorted."""
        return {"queued": 1, "ended": 2}.get(self.run.state, 0)

    @property
    def share(self) -> float:
        """Of its wall."""
        return (self.run.memory_bytes or 0) / max(1, self.run.limit_bytes)

    @property
    def state(self) -> str:
        return "frozen" if self.run.frozen else self.run.outcome or self.run.state


@dataclass(slots=True)
class _Use:
    """Of one attempt."""

    attempt: int
    curve: deque[int] = field(default_factory=lambda: deque(maxlen=CURVE))
    cpu_s: float | None = None
    at: float = 0.0
    cores: float | None = None

    def saw(self, view: v.MemoryView, at: float) -> None:
        if view.recent_bytes:
            self.curve.clear()
            self.curve.extend(view.recent_bytes)
        else:
            self.curve.append(view.used_bytes)
        if view.cpu_s is None or (self.cpu_s is not None and at - self.at < SHORTEST_S):
            return
        if self.cpu_s is not None:
            self.cores = max(0.0, view.cpu_s - self.cpu_s) / (at - self.at)
        self.cpu_s, self.at = view.cpu_s, at


class Picture:
    """Told by the feed, looked at by every widget; `gone` says why it is not of now."""

    def __init__(self) -> None:
        self.status: v.StatusView | None = None
        self.agents: list[Agent] = []
        self.gone: str | None = None
        self.told_at = 0.0  # monotonic
        self.now = 0.0  # the wall clock then
        self._uses: dict[str, _Use] = {}

    def take(
        self,
        status: v.StatusView,
        runs: Sequence[v.RunView],
        ended: Iterable[v.RunView],
        memory: Iterable[v.MemoryView],
    ) -> None:
        self.told_at, self.now, self.gone = time.monotonic(), time.time(), None
        self.status = status
        attempts = {run.id: run.attempt for run in runs}
        for view in memory:
            use = self._uses.get(view.id)
            if use is None or use.attempt != attempts.get(view.id, use.attempt):
                use = self._uses[view.id] = _Use(attempts.get(view.id, 0))
            use.saw(view, self.told_at)
        self._uses = {one: use for one, use in self._uses.items() if one in attempts}
        over = [run for run in ended if run.id not in attempts]
        self.agents = [self._agent(run) for run in runs] + [Agent(run) for run in over]

    def _agent(self, run: v.RunView) -> Agent:
        use = self._uses.get(run.id)
        return Agent(run) if use is None else Agent(run, use.cores, use.curve)

    def silent_s(self) -> float:
        """How long nobody has told anything; 0 before the first time."""
        return time.monotonic() - self.told_at if self.told_at else 0.0
