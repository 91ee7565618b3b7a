"""A scheduler that knows every burst beforehand: what a perfect one could hope for on a host.

It goes forward in time. At each moment it starts, of a window of waiting runs, every one whose
whole memory profile fits under the capacity beside all that is promised, and whose mean CPU fits
the cores; the first in order gets a firm place in the future, so that none is passed by for ever.
Several orders are tried and the best counts. CPU can be smoothed and memory cannot, so of CPU only
the mean counts: that makes it the stronger opponent. It knows nothing of priorities: it only wants
to be done early.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from paddock.simulate.board import Board
from paddock.simulate.bounds import lower_bound_s
from paddock.simulate.profile import Profile, profile
from paddock.simulate.trace import Plan, Trace, in_order_of_needs

# Bursts of 1.5 s are rounded outwards to the grid: 0.125 s costs 1.6 % of bursty's memory-seconds,
# 0.5 s 6 %, 1 s 13 %. Where CPU is the tighter bound the coarse grid costs nothing.
FINE_GRID_S = 0.125
COARSE_GRID_S = 0.5
CPU_UNIT = 1e-6  # of a core
NEAR_ENOUGH = 1.02  # of the lower bound: nothing further is tried
WORK = 80_000  # checks and bursts placed, in all attempts: 1 to 2 s
WINDOW = (8, 64)  # runs looked at beside the first in order; fewer for long lists


@dataclass(slots=True)
class _Job:
    """A run as the clairvoyant sees it."""

    plan: Plan
    life: Trace
    duration_s: float
    base_bytes: int
    then: list[str] = field(default_factory=list)  # those that need it
    chain_s: float = 0.0  # from its start to the end of the longest chain that hangs on it


class _Attempt(NamedTuple):
    """An order to go by, and a pool for bursts: standard deviations above what they take."""

    order: Callable[[_Job], float]
    deviations: float | None


def _longest_first(job: _Job) -> float:
    return -job.chain_s


def _as_submitted(job: _Job) -> float:
    return job.plan.submit_at


# Likely good ones first. Bursty runs, above the lower bound: with 1.0, 1.6 and 0.85 deviations 33,
# 39 and 29 % on 16 GiB, 18, 35 and 22 % on 32, 20, 16 and 21 % on 64; without a pool 40 to 60 %.
# Leaky ones are all one slow burst, so no pool is kept: 37 % longest first, 19 % as submitted.
ATTEMPTS = (
    _Attempt(_longest_first, 1.0),
    _Attempt(_longest_first, 1.6),
    _Attempt(_longest_first, 0.85),
    _Attempt(_longest_first, None),
    _Attempt(_as_submitted, None),
)


@dataclass(frozen=True, slots=True)
class Schedule:
    """When each run starts, and when the last one ends."""

    starts_at: Mapping[str, float]
    makespan_s: float


def clairvoyant_s(plans: Sequence[Plan], *, capacity_bytes: int, cpus: float) -> float:
    """How long the whole list takes with perfect foresight."""
    return clairvoyant(plans, capacity_bytes=capacity_bytes, cpus=cpus).makespan_s


def clairvoyant(plans: Sequence[Plan], *, capacity_bytes: int, cpus: float) -> Schedule:
    """The best schedule that was found."""
    if not plans:
        return Schedule({}, 0.0)
    jobs = _jobs(plans, capacity_bytes=capacity_bytes, cpus=cpus)
    bound_s = lower_bound_s(plans, capacity_bytes=capacity_bytes, cpus=cpus)
    best = Schedule({}, math.inf)
    work = 0
    for schedule, effort in _schedules(jobs, capacity_bytes=capacity_bytes, cpus=cpus):
        best = min(best, schedule, key=lambda each: each.makespan_s)
        work += effort
        if best.makespan_s <= NEAR_ENOUGH * bound_s or work + effort > WORK:
            break
    return best


def _schedules(
    jobs: Mapping[str, _Job], *, capacity_bytes: int, cpus: float
) -> Iterator[tuple[Schedule, int]]:
    """One schedule after the other, with the work it took."""
    memory_s = sum(job.life.byte_seconds for job in jobs.values()) / capacity_bytes
    cpu_s = sum(job.life.cpu_seconds for job in jobs.values()) / cpus
    memory_is_plenty = cpu_s > 1.5 * memory_s
    for attempt in ATTEMPTS:
        pool_bytes = _pool_bytes(jobs, attempt.deviations, capacity_bytes)
        if attempt.deviations is not None and (memory_is_plenty or pool_bytes is None):
            continue
        board = Board(
            capacity_bytes=capacity_bytes,
            cpu=int(cpus / CPU_UNIT),
            pool_bytes=pool_bytes,
            waiting_base_bytes=sum(job.base_bytes for job in jobs.values()),
        )
        ranked = sorted(jobs.values(), key=attempt.order)
        sweep = _Sweep(ranked, board, COARSE_GRID_S if memory_is_plenty else FINE_GRID_S)
        starts_at = sweep.run()
        ends_at = max(starts_at[name] + job.duration_s for name, job in jobs.items())
        yield Schedule(starts_at, ends_at), sweep.work


def _pool_bytes(
    jobs: Mapping[str, _Job], deviations: float | None, capacity_bytes: int
) -> int | None:
    """What the bursts of a full host take on average, and so many standard deviations more.

    None where there are hardly any bursts or little else.
    """
    all_of_it = sum(job.life.byte_seconds for job in jobs.values())
    if deviations is None or not all_of_it:
        return None
    base = sum(job.base_bytes * job.duration_s for job in jobs.values())
    squares = sum(
        duration_s * (level - job.base_bytes) ** 2
        for job in jobs.values()
        for duration_s, level in zip(job.life.durations_s, job.life.levels_bytes, strict=True)
    )
    mean = (1 - base / all_of_it) * capacity_bytes
    pool = mean + deviations * math.sqrt(squares / all_of_it * capacity_bytes)
    return int(pool) if 0.1 < pool / capacity_bytes < 0.65 else None


def _jobs(plans: Sequence[Plan], *, capacity_bytes: int, cpus: float) -> dict[str, _Job]:
    jobs: dict[str, _Job] = {}
    for plan in in_order_of_needs(plans):
        life = _stretched(plan.last_life, cpus)
        if life.peak_bytes > capacity_bytes:
            raise ValueError(
                f"{plan.name} uses {life.peak_bytes} bytes and the capacity is {capacity_bytes}: "
                "leave out what can never fit"
            )
        jobs[plan.name] = _Job(plan, life, life.duration_s, min(life.levels_bytes, default=0))
        for need in plan.needs:
            jobs[need].then.append(plan.name)
    for job in reversed(jobs.values()):
        job.chain_s = job.duration_s + max((jobs[then].chain_s for then in job.then), default=0.0)
    return jobs


def _stretched(life: Trace, cpus: float) -> Trace:
    """A phase that wants more cores than there are takes longer, even alone."""
    if max(life.cpus, default=0.0) <= cpus:
        return life
    return Trace(
        (phase.duration_s * max(1.0, phase.cpus / cpus), phase.bytes, min(phase.cpus, cpus))
        for phase in life.phases
    )


class _Sweep:
    """One way through time: every run gets its start."""

    def __init__(self, ranked: Sequence[_Job], board: Board, grid_s: float) -> None:
        self._ranked = ranked
        self._rank = {job.plan.name: rank for rank, job in enumerate(ranked)}
        self._board = board
        self._grid_s = grid_s
        self._window = max(WINDOW[0], min(WINDOW[1], 32_000 // len(ranked)))
        self._waits = [len(job.plan.needs) for job in ranked]
        self._earliest = [math.ceil(job.plan.submit_at / grid_s) for job in ranked]
        self._coming = [(self._earliest[i], i) for i, waits in enumerate(self._waits) if not waits]
        self._behind: list[int] = []  # may start, but are not in the window yet
        self._shapes: dict[int, Profile] = {}  # the window
        self._tries: list[tuple[int, int]] = []  # when to look at which of the window again
        self._starts: dict[int, int] = {}
        self.work = 0

    def run(self) -> dict[str, float]:
        heapq.heapify(self._coming)
        reserved = 0
        while self._coming or self._tries:
            now = min(heap[0][0] for heap in (self._coming, self._tries) if heap)
            self._fill_window(now)
            if now >= reserved and self._shapes:
                first = min(self._shapes)
                # In the pool too: outside it the first would start at once and spoil the rest.
                reserved = self._board.earliest(self._shapes[first], now, pooled=True)
                self._place(first, reserved)
            elif self._tries and self._tries[0][0] == now:
                self._try(now, heapq.heappop(self._tries)[1])
        self._pull_in()
        return {self._ranked[i].plan.name: at * self._grid_s for i, at in self._starts.items()}

    def _fill_window(self, now: int) -> None:
        while self._coming and self._coming[0][0] <= now:
            heapq.heappush(self._behind, heapq.heappop(self._coming)[1])
        while self._behind and len(self._shapes) < self._window:
            index = heapq.heappop(self._behind)
            self._shapes[index] = self._shape(index)
            heapq.heappush(self._tries, (now, index))

    def _shape(self, index: int) -> Profile:
        job = self._ranked[index]
        mean = job.life.cpu_seconds / job.duration_s if job.duration_s else 0.0
        return profile(job.life, grid_s=self._grid_s, cpu=int(mean / CPU_UNIT))

    def _try(self, now: int, index: int) -> None:
        shape = self._shapes.get(index)
        if shape is None:
            return
        self.work += 1
        later = self._board.later(shape, now)
        if later == now:
            self._place(index, now)
        else:
            heapq.heappush(self._tries, (later, index))

    def _place(self, index: int, start: int) -> None:
        shape = self._shapes.pop(index)
        self._board.promise(shape, start)
        self.work += len(shape.bumps)
        self._starts[index] = start
        for name in self._ranked[index].then:
            after = self._rank[name]
            self._earliest[after] = max(self._earliest[after], start + shape.cells)
            self._waits[after] -= 1
            if not self._waits[after]:
                heapq.heappush(self._coming, (self._earliest[after], after))

    def _pull_in(self) -> None:
        """The last to end looks for an earlier hole, then the next last, until one stays."""
        length = [job.duration_s / self._grid_s for job in self._ranked]
        ends = [(-start - length[index], index) for index, start in self._starts.items()]
        heapq.heapify(ends)
        while ends:
            end, index = heapq.heappop(ends)
            shape, start = self._shape(index), self._starts[index]
            self._board.take_back(shape, start)
            earlier = self._board.earliest(shape, self._earliest[index], pooled=False)
            self._board.promise(shape, earlier)
            self._starts[index] = earlier
            if earlier >= start:
                return
            heapq.heappush(ends, (end + (start - earlier), index))
