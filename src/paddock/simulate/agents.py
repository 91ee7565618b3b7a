"""Pretend agents: how they live through their trace, and how they answer paddock."""

from __future__ import annotations

from dataclasses import dataclass, field

from paddock.core.run import Attempt
from paddock.simulate.trace import Plan, Trace

# How a well-behaved agent answers, in seconds. Real ones start in under 5 s and take a moment to
# write a checkpoint or to leave.
START_S = 0.5
CHECKPOINT_S = 2.0
LEAVE_S = 0.5
DIE_S = 0.05


@dataclass(slots=True)
class Life:
    """What survives of a run between its attempts."""

    plan: Plan
    own_ends: int = 0  # attempts that ended by themselves; a preempted one is the same life again
    saved_work_s: float = 0.0  # as of the last checkpoint
    first_start_at: float | None = None

    @property
    def trace(self) -> Trace:
        return self.plan.trace_of(self.own_ends)


@dataclass(slots=True)
class Agent:
    """One attempt under way. Work time is the world's; an agent only knows its next change."""

    attempt: Attempt
    life: Life
    limit_bytes: int
    phase: int = -1
    used_bytes: int = 0
    cpus: float = 0.0
    begun_work_s: float = 0.0  # the world's work clock when this attempt began
    skipped_work_s: float = 0.0  # work it did not have to do again
    change_at_work_s: float = 0.0
    frozen_left_s: float | None = None
    leaving: bool = False
    token: int = 0  # tells a stale entry of the work heap
    trace: Trace = field(init=False)
    phases: int = field(init=False)

    def __post_init__(self) -> None:
        self.trace = self.life.trace
        self.phases = len(self.trace.durations_s)

    def begin(self, work_s: float) -> None:
        """Stand at the point of the last checkpoint."""
        self.begun_work_s = work_s
        self.skipped_work_s = left_s = self.life.saved_work_s
        durations = self.trace.durations_s
        self.phase = 0
        while self.phase < self.phases and durations[self.phase] <= left_s:
            left_s -= durations[self.phase]
            self.phase += 1
        self._take_on(work_s - left_s)

    def next_phase(self) -> None:
        self.phase += 1
        self._take_on(self.change_at_work_s)

    @property
    def done(self) -> bool:
        return self.phase >= self.phases

    def work_done_s(self, work_s: float) -> float:
        return self.skipped_work_s + work_s - self.begun_work_s

    def _take_on(self, begun_s: float) -> None:
        phase, trace = self.phase, self.trace
        if phase < self.phases:
            self.used_bytes = trace.levels_bytes[phase]
            self.cpus = trace.cpus[phase]
            self.change_at_work_s = begun_s + trace.durations_s[phase]
