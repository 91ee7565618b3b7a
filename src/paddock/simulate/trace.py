"""What a pretend agent does to memory and CPU over its life, and when it comes. Data only."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from operator import mul
from typing import NamedTuple

EXIT_TEMPORARY = 75  # EX_TEMPFAIL: "try again later", not a failure


class Phase(NamedTuple):
    """A stretch of work time during which an attempt wants the same memory and CPU."""

    duration_s: float
    bytes: int
    cpus: float


class Trace:
    """One attempt's life, phase by phase, in work time (slower when CPUs are oversubscribed).

    Kept as three columns: 400,000 phases as tuples cost 55 MB and slow every garbage collection;
    as columns 10 MB. `phases` builds its tuple anew at each call: take it once per attempt.
    """

    __slots__ = ("cpus", "durations_s", "exit_code", "levels_bytes")

    durations_s: array[float]
    levels_bytes: array[int]
    cpus: array[float]
    exit_code: int

    def __init__(self, phases: Iterable[tuple[float, int, float]], exit_code: int = 0) -> None:
        columns = tuple(zip(*phases, strict=True)) or ((), (), ())
        self.durations_s = array("d", columns[0])
        self.levels_bytes = array("q", columns[1])
        self.cpus = array("d", columns[2])
        self.exit_code = exit_code

    @property
    def phases(self) -> tuple[Phase, ...]:
        return tuple(map(Phase, self.durations_s, self.levels_bytes, self.cpus))

    @property
    def duration_s(self) -> float:
        return sum(self.durations_s)

    @property
    def byte_seconds(self) -> float:
        return float(sum(map(mul, self.durations_s, self.levels_bytes)))

    @property
    def cpu_seconds(self) -> float:
        return float(sum(map(mul, self.durations_s, self.cpus)))

    @property
    def peak_bytes(self) -> int:
        return max(self.levels_bytes, default=0)

    def until_above(self, limit_bytes: int) -> Trace:
        """The part lived under a wall: touching it is allowed, passing it ends the attempt."""
        if self.peak_bytes <= limit_bytes:
            return self
        end = next(i for i, level in enumerate(self.levels_bytes) if level > limit_bytes)
        return Trace(self.phases[:end], self.exit_code)

    def until(self, work_s: float, *, exit_code: int) -> Trace:
        """The same life, ended by the agent itself after so much work."""
        kept: list[Phase] = []
        left_s = work_s
        for phase in self.phases:
            if left_s <= 0:
                break
            kept.append(phase._replace(duration_s=min(left_s, phase.duration_s)))
            left_s -= phase.duration_s
        return Trace(kept, exit_code)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trace):
            return NotImplemented
        return (self.phases, self.exit_code) == (other.phases, other.exit_code)

    def __hash__(self) -> int:
        return hash((self.phases, self.exit_code))

    def __repr__(self) -> str:
        return f"Trace({self.phases!r}, exit_code={self.exit_code})"


@dataclass(frozen=True, slots=True)
class Plan:
    """One run to submit; attempt k (from 0) plays `traces[k]`, or the last if there are fewer."""

    name: str
    submit_at: float
    group: str
    priority: int  # 0 critical, 1 high, 2 normal, 3 low
    limit_bytes: int
    needs: tuple[str, ...]
    traces: tuple[Trace, ...]
    retries: int
    retry_after_s: float | None = None

    def trace_of(self, attempt: int) -> Trace:
        return self.traces[min(attempt, len(self.traces) - 1)]

    @property
    def last_life(self) -> Trace:
        """What the run cannot avoid doing: its last trace, up to its own wall."""
        return self.traces[-1].until_above(self.limit_bytes)


def in_order_of_needs(plans: Iterable[Plan]) -> list[Plan]:
    """The same plans, none before what it needs; otherwise the order stays."""
    plans = list(plans)
    by_name = {plan.name: plan for plan in plans}
    done: set[str] = set()
    ordered: list[Plan] = []
    for plan in plans:
        stack = [plan]
        while stack:
            top = stack[-1]
            missing = [need for need in top.needs if need not in done]
            if top.name in done or not missing:
                stack.pop()
                if top.name not in done:
                    done.add(top.name)
                    ordered.append(top)
            elif missing[0] not in by_name:
                raise ValueError(f"{top.name} needs {missing[0]}, which is not among the plans")
            elif len(stack) > len(plans):
                raise ValueError(f"{plan.name} needs itself, by way of {', '.join(plan.needs)}")
            else:
                stack.append(by_name[missing[0]])
    return ordered
