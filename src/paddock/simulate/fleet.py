"""A fleet of one's own in the simulator: its needs, priorities and walls, lives of a workload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from paddock.simulate.trace import Plan, Trace
from paddock.simulate.workloads import plans


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRun:
    """What a fleet file says of a run, as far as a simulation needs it."""

    name: str
    group: str
    priority: int
    limit_bytes: int
    needs: tuple[str, ...] = ()
    retries: int = 0


def fleet_plans(runs: Sequence[FleetRun], *, workload: str, seed: int) -> tuple[Plan, ...]:
    """Each run plays a life of the workload, made larger or smaller by its own wall.

    All come at once, as a fleet file is submitted whole.
    """
    drawn = plans(workload, runs=len(runs), seed=seed)
    return tuple(_plan(run, life) for run, life in zip(runs, drawn, strict=True))


def _plan(run: FleetRun, life: Plan) -> Plan:
    scale = run.limit_bytes / life.limit_bytes
    return replace(
        life,
        name=run.name,
        submit_at=0.0,
        group=run.group,
        priority=run.priority,
        limit_bytes=run.limit_bytes,
        needs=run.needs,
        traces=tuple(_scaled(trace, scale) for trace in life.traces),
        retries=run.retries,
    )


def _scaled(trace: Trace, scale: float) -> Trace:
    phases = [(phase.duration_s, int(phase.bytes * scale), phase.cpus) for phase in trace.phases]
    return Trace(phases, trace.exit_code)
