"""A fleet on virtual time: pretend agents on a pretend host, scheduled by the real `step`.

Two clocks: real time, on which paddock decides, and work time, on which agents live. Work time
runs slower than real time while more CPU is wanted than there is. One heap for each.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

from paddock.core.actions import (
    Action,
    AskCheckpoint,
    FreezeAttempt,
    KillAttempt,
    Refuse,
    StartAttempt,
    TerminateAttempt,
    ThawAttempt,
    WarnAttempt,
)
from paddock.core.events import (
    CheckpointWritten,
    Event,
    Exited,
    Sampled,
    Started,
    Submitted,
    TimePassed,
)
from paddock.core.group import Group
from paddock.core.policy import Policy
from paddock.core.restore import restore
from paddock.core.run import Attempt, Exit, Priority, RunSpec, Starting
from paddock.core.step import step
from paddock.simulate.agents import (
    CHECKPOINT_S,
    DIE_S,
    LEAVE_S,
    START_S,
    Agent,
    Life,
)
from paddock.simulate.host import QUIET, Machine, Neighbour
from paddock.simulate.tally import Tally
from paddock.simulate.trace import EXIT_TEMPORARY, Plan

Progress = Callable[[int], None]  # told how many runs have ended

TICK_S = 1.0
PROGRESS_EVERY = 10
LONGEST_S = 366 * 24 * 3600.0  # a simulation that lasts longer is stuck


class World:
    def __init__(
        self,
        plans: Sequence[Plan],
        policy: Policy,
        *,
        cpus: float,
        neighbour: Neighbour = QUIET,
        history: Mapping[str, Group] | None = None,
    ) -> None:
        self.tick_s = TICK_S
        self.start_s = START_S
        self.fleet = restore(policy, (), groups=history)
        self.tally = Tally(len(plans))
        self.on_step: Callable[[Event], None] | None = None  # told after each, with its changes
        self.now = 0.0
        self.work_s = 0.0
        self._lives = {plan.name: Life(plan) for plan in plans}
        self._agents: dict[Attempt, Agent] = {}
        self._changed: dict[Attempt, int] = {}
        self._real: list[tuple[float, int, Event | int]] = []
        self._work: list[tuple[float, int, Attempt]] = []
        self._numbers = 0
        self._tick_at = 0.0
        self._deadline_at = LONGEST_S
        self._unsubmitted = len(plans)
        self.machine = Machine(policy.total_bytes, cpus, policy.wall_bytes, other_bytes=0)
        for at, share in neighbour:
            self._push(at, int(share * policy.total_bytes))
        for at, batch in _batches(plans):
            self._push(at, Submitted(at, batch))

    def run(self, progress: Progress | None = None) -> Tally:
        """Until every run has ended, or nothing can happen any more."""
        told = -PROGRESS_EVERY
        while self._going() and self.now < LONGEST_S:
            if progress is not None and self.tally.ended >= told + PROGRESS_EVERY:
                told = self.tally.ended
                progress(told)
            self._advance(self._next_at())
            self._live_until_now()
            while self._real and self._real[0][0] <= self.now:
                self._real_event(heapq.heappop(self._real)[2])
            if self.now >= self._tick_at:
                self._tick()
            if self._deadline_at <= self.now:
                self._step(TimePassed(self.now))
        if progress is not None:
            progress(self.tally.planned)
        return self.tally

    # -- time -----------------------------------------------------------------------------

    def _going(self) -> bool:
        return self._unsubmitted > 0 or self.tally.ended < self.tally.taken

    def _next_at(self) -> float:
        at = self._tick_at
        if self._real:
            at = min(at, self._real[0][0])
        if self._work:
            left_s = self._work[0][0] - self.work_s
            at = min(at, self.now + max(0.0, left_s) / self.machine.rate)
        return min(at, self._deadline_at)

    def _advance(self, at: float) -> None:
        elapsed_s = max(0.0, at - self.now)
        rate = self.machine.rate
        cpus = self.machine.cpu_demand * rate
        self.tally.pass_time(elapsed_s, agents=len(self._agents), cpus=cpus)
        self.work_s += elapsed_s * rate
        self.now = max(self.now, at)

    def _push(self, at: float, what: Event | int) -> None:
        self._numbers += 1
        heapq.heappush(self._real, (at, self._numbers, what))

    def _tick(self) -> None:
        changed, self._changed = self._changed, {}
        self._step(Sampled(self.now, self.machine.look(), changed))
        self.tally.saw_ladder(self.fleet.ladder)
        self._tick_at = self.now + self.tick_s

    # -- what happens ---------------------------------------------------------------------

    def _real_event(self, what: Event | int) -> None:
        if isinstance(what, int):
            self.machine.other_bytes = what
            self._check_memory()
            return
        if isinstance(what, Exited) and what.attempt in self._agents:
            self._remove(self._agents[what.attempt])
        if isinstance(what, Started):
            self._begin(what.attempt)
        if isinstance(what, CheckpointWritten):
            self._save(what.attempt)
        if isinstance(what, Submitted):
            self._unsubmitted -= len(what.specs)
        taken = self.tally.taken
        self._step(what)
        if isinstance(what, Submitted) and self.tally.taken == taken:
            self.tally.refused += len(what.specs)

    def _step(self, event: Event) -> None:
        actions = step(self.fleet, event)
        for change in self.fleet.changes:
            self.tally.saw(change, at=self.now)
            if isinstance(change.run.state, Starting):
                self._first_start(change.run.id)
        if self.on_step is not None:
            self.on_step(event)
        for action in actions:
            self._act(action)
        deadline = self.fleet.next_deadline
        self._deadline_at = LONGEST_S if deadline is None else deadline

    def _first_start(self, run: str) -> None:
        life = self._lives[run]
        if life.first_start_at is None:
            life.first_start_at = self.now
            self.tally.waits_s.append(self.now - life.plan.submit_at)

    # -- what paddock asks for ------------------------------------------------------------

    def _act(self, action: Action) -> None:
        match action:
            case StartAttempt():
                life = self._lives[action.attempt.run]
                self._agents[action.attempt] = Agent(action.attempt, life, action.limit_bytes)
                at = self.now + self.start_s
                self._push(at, Started(at, action.attempt))
            case AskCheckpoint():
                at = self.now + CHECKPOINT_S
                self._push(at, CheckpointWritten(at, action.attempt))
            case TerminateAttempt():
                self._leave(action.attempt, within_s=LEAVE_S, signal=15)
            case KillAttempt():
                self._leave(action.attempt, within_s=DIE_S, signal=9)
            case FreezeAttempt():
                self._freeze(action.attempt)
            case ThawAttempt():
                self._thaw(action.attempt)
            case WarnAttempt():
                pass
            case Refuse():
                pass  # counted where it was asked for
            case _:
                assert_never(action)

    def _leave(self, attempt: Attempt, *, within_s: float, signal: int) -> None:
        agent = self._agents.get(attempt)
        if agent is None:
            return
        agent.leaving = True
        self._exit(agent, Exit(signal=signal), at=self.now + within_s)

    def _exit(self, agent: Agent, ended: Exit, *, at: float) -> None:
        self._push(at, Exited(at, agent.attempt, ended))

    def _freeze(self, attempt: Attempt) -> None:
        agent = self._agents.get(attempt)
        if agent is not None and agent.frozen_left_s is None:
            agent.frozen_left_s = max(0.0, agent.change_at_work_s - self.work_s)
            agent.token += 1
            self.machine.grow(0, cpus=-agent.cpus)

    def _thaw(self, attempt: Attempt) -> None:
        agent = self._agents.get(attempt)
        if agent is None or agent.frozen_left_s is None:
            return
        late_s = self.work_s + agent.frozen_left_s - agent.change_at_work_s
        agent.begun_work_s += late_s
        agent.change_at_work_s += late_s
        agent.frozen_left_s = None
        self.machine.grow(0, cpus=agent.cpus)
        self._line_up(agent)

    # -- how agents live ------------------------------------------------------------------

    def _begin(self, attempt: Attempt) -> None:
        agent = self._agents.get(attempt)
        if agent is not None and not agent.leaving:
            agent.begin(self.work_s)
            self._took_on(agent, 0, 0.0)

    def _live_until_now(self) -> None:
        """Every change of phase that work time has reached."""
        work = self._work
        while work and work[0][0] <= self.work_s + 1e-9:
            _, token, attempt = heapq.heappop(work)
            agent = self._agents.get(attempt)
            if agent is None or agent.token != token:
                continue
            used, cpus = agent.used_bytes, agent.cpus
            agent.next_phase()
            self._took_on(agent, used, cpus)

    def _took_on(self, agent: Agent, used_before: int, cpus_before: float) -> None:
        if agent.done:
            self._ended_by_itself(agent, code=agent.trace.exit_code)
            return
        grown = agent.used_bytes - used_before
        self.machine.grow(grown, cpus=agent.cpus - cpus_before)
        self._changed[agent.attempt] = agent.used_bytes
        self._line_up(agent)
        if agent.used_bytes > agent.limit_bytes:
            self.tally.oom_kills += 1
            agent.life.own_ends += 1
            agent.life.saved_work_s = 0.0
            self._die(agent, Exit(signal=9, oom=True))
        elif grown > 0:
            self._check_memory()

    def _line_up(self, agent: Agent) -> None:
        agent.token += 1
        heapq.heappush(self._work, (agent.change_at_work_s, agent.token, agent.attempt))

    def _ended_by_itself(self, agent: Agent, *, code: int) -> None:
        later = agent.life.plan.retry_after_s if code == EXIT_TEMPORARY else None
        agent.life.own_ends += 1
        agent.life.saved_work_s = 0.0
        self._remove(agent)
        peak = agent.trace.peak_bytes
        ended = Exit(code=code, retry_after_s=later, peak_bytes=peak)
        self._step(Exited(self.now, agent.attempt, ended))

    def _die(self, agent: Agent, ended: Exit) -> None:
        self._remove(agent)
        self._step(Exited(self.now, agent.attempt, ended))

    def _remove(self, agent: Agent) -> None:
        del self._agents[agent.attempt]
        self._changed.pop(agent.attempt, None)
        if agent.phase >= 0:
            if not agent.done:
                done_s = agent.work_done_s(self.work_s)
                self.tally.work_lost_s += max(0.0, done_s - agent.life.saved_work_s)
            cpus = 0.0 if agent.frozen_left_s is not None else agent.cpus
            self.machine.grow(-agent.used_bytes, cpus=-cpus)

    def _save(self, attempt: Attempt) -> None:
        agent = self._agents.get(attempt)
        if agent is not None and agent.phase >= 0:
            agent.life.saved_work_s = agent.work_done_s(self.work_s)

    # -- the kernel -----------------------------------------------------------------------

    def _check_memory(self) -> None:
        """Over a wall the kernel kills, in the order of `oom_score_adj` that paddock sets."""
        machine = self.machine
        if machine.over_wall:
            self.tally.wall_touches += 1
        if machine.out_of_memory:
            self.tally.host_ooms += 1
        while machine.over_wall or machine.out_of_memory:
            begun = [agent for agent in self._agents.values() if agent.phase >= 0]
            if not begun:
                return  # it is not agents who use it
            agent = max(begun, key=self._badness)
            self.tally.oom_kills += 1
            self._die(agent, Exit(signal=9, oom=True, fleet_oom=True))

    def _badness(self, agent: Agent) -> tuple[int, int, Attempt]:
        return agent.life.plan.priority, agent.used_bytes, agent.attempt


def _batches(plans: Sequence[Plan]) -> list[tuple[float, tuple[RunSpec, ...]]]:
    """One submission for all that come at the same moment."""
    batches: dict[float, list[RunSpec]] = {}
    for plan in plans:
        batches.setdefault(plan.submit_at, []).append(_spec(plan))
    return [(at, tuple(specs)) for at, specs in sorted(batches.items())]


def _spec(plan: Plan) -> RunSpec:
    return RunSpec(
        id=plan.name,
        name=plan.name,
        group=plan.group,
        limit_bytes=plan.limit_bytes,
        priority=Priority(plan.priority),
        needs=plan.needs,
        retries=plan.retries,
    )
