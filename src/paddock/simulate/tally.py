"""What a simulated fleet went through, counted as it happens."""

from __future__ import annotations

import re
from collections import Counter

from paddock.core.fleet import Change
from paddock.core.pressure import Ladder, Rung
from paddock.core.run import Ended, Outcome, Starting, Stopping


class Tally:
    def __init__(self, planned: int) -> None:
        self.planned = planned
        self.taken = 0  # submitted and not refused
        self.ended = 0
        self.outcomes: Counter[Outcome] = Counter()
        self.attempts = 0
        self.preemptions = 0
        self.oom_kills = 0
        self.wall_touches = 0
        self.host_ooms = 0
        self.work_lost_s = 0.0
        self.waits_s: list[float] = []
        self.refused = 0
        self.makespan_s = 0.0
        self.peak_agents = 0
        self.agent_seconds = 0.0
        self.cpu_seconds = 0.0
        self.rungs_s: Counter[Rung] = Counter()
        self._pressed_s: Counter[str] = Counter()

    def pass_time(self, seconds: float, *, agents: int, cpus: float) -> None:
        self.agent_seconds += seconds * agents
        self.cpu_seconds += seconds * cpus
        self.peak_agents = max(self.peak_agents, agents)

    def saw(self, change: Change, *, at: float) -> None:
        if change.before is None:
            self.taken += 1
        match change.run.state:
            case Starting():
                self.attempts += 1
            case Stopping(outcome=Outcome.PREEMPTED) if not isinstance(change.before, Stopping):
                self.preemptions += 1
            case Ended(outcome=outcome):
                self.ended += 1
                self.outcomes[outcome] += 1
                self.makespan_s = at
            case _:
                pass

    def saw_ladder(self, ladder: Ladder) -> None:
        """Once a second."""
        self.rungs_s[ladder.rung] += 1
        if ladder.rung is not Rung.CALM and ladder.because:
            self._pressed_s[ladder.because] += 1

    @property
    def pressed_because(self) -> str | None:
        """What held the fleet back longest, with the figures it had most often."""
        kinds: Counter[str] = Counter()
        for because, seconds in self._pressed_s.items():
            kinds[_without_figures(because)] += seconds
        if not kinds:
            return None
        ((kind, _),) = kinds.most_common(1)
        of_kind = (each for each in self._pressed_s if _without_figures(each) == kind)
        return max(of_kind, key=self._pressed_s.__getitem__)

    def wait(self, share: float) -> float:
        """A quantile of the time between submission and first start."""
        if not self.waits_s:
            return 0.0
        ordered = sorted(self.waits_s)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _without_figures(because: str) -> str:
    return re.sub(r"[0-9.]+( [KMGT]iB)?", "", because)
