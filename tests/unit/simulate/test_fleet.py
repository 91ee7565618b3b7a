"""A fleet of one's own as plans: its facts, and lives of a workload within its walls."""

from __future__ import annotations

import pytest

from paddock.core.units import GIB, MIB
from paddock.simulate.fleet import FleetRun, fleet_plans
from paddock.simulate.workloads import WORKLOADS, plans

RUNS = (
    FleetRun(name="implement", group="a/b", priority=1, limit_bytes=2 * GIB, retries=2),
    FleetRun(name="review", group="c", priority=2, limit_bytes=256 * MIB, needs=("implement",)),
)


def test_what_the_fleet_says_is_kept() -> None:
    first, second = fleet_plans(RUNS, workload="mixed", seed=1)
    assert (first.name, first.group, first.priority, first.retries) == ("implement", "a/b", 1, 2)
    assert (second.limit_bytes, second.needs, second.retries) == (256 * MIB, ("implement",), 0)
    assert first.submit_at == second.submit_at == 0.0


@pytest.mark.parametrize("workload", sorted(WORKLOADS))
def test_a_life_uses_the_same_share_of_its_wall_and_lasts_as_long(workload: str) -> None:
    drawn = plans(workload, runs=2, seed=3)
    for life, plan in zip(drawn, fleet_plans(RUNS, workload=workload, seed=3), strict=True):
        before = life.traces[0].peak_bytes / life.limit_bytes
        assert plan.traces[0].peak_bytes / plan.limit_bytes == pytest.approx(before, rel=1e-3)
        assert plan.traces[0].duration_s == life.traces[0].duration_s


def test_the_same_seed_gives_the_same_plans() -> None:
    assert fleet_plans(RUNS, workload="bursty", seed=5) == fleet_plans(
        RUNS, workload="bursty", seed=5
    )
