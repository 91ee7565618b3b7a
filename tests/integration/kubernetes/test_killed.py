"""A controller that leads is killed as a lost node does it: a process, SIGKILL, no last word."""

from __future__ import annotations

import os
import signal
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from paddock.cluster.agent_run import crd
from tests.kit.cluster.choice import AnyCluster
from tests.kit.cluster.controllers import LEASE_NAME, a_controller, leader
from tests.kit.cluster.objects import LEASE, Object
from tests.kit.cluster.replicas import AGENT_RUNS
from tests.kit.waiting import until

RUNS = 16
LONG_S = 180.0  # a lease of 15 s, on a machine that is busy with other things


def apply_all(cluster: AnyCluster) -> list[str]:
    """Some need others; not all of them fit at once."""
    cluster.set_quota(limits_memory="24Gi", limits_cpu="200")
    names = [f"run-{number}" for number in range(RUNS)]
    for number, name in enumerate(names):
        spec: Object = {"command": ["sleep=2", "exit=0"], "memory": "4G"}
        if number % 4 == 3:
            spec["needs"] = [names[number - 3]]
        cluster.create(AGENT_RUNS, {"metadata": {"name": name}, "spec": spec})
    return names


def states(cluster: AnyCluster) -> Counter[str]:
    return Counter(str(one.get("status", {}).get("state")) for one in cluster.all(AGENT_RUNS))


@pytest.mark.timeout(400)
@pytest.mark.parametrize("begun", [1, 8])
def test_killed_in_the_middle_nothing_is_lost_and_nothing_done_twice(
    begun: int, cluster: AnyCluster, tmp_path: Path
) -> None:
    cluster.define(crd())
    with ExitStack() as stack:
        first = stack.enter_context(a_controller(tmp_path / "a", cluster))
        until(lambda: leader(cluster) == first.pid, LONG_S)
        second = stack.enter_context(a_controller(tmp_path / "b", cluster))
        names = apply_all(cluster)
        until(lambda: len(cluster.begun()) >= begun, LONG_S)
        os.kill(first.pid, signal.SIGKILL)
        assert first.wait(30) == -signal.SIGKILL
        assert states(cluster)["ended"] < RUNS, "it had nothing left to do"
        until(lambda: leader(cluster) == second.pid, LONG_S)
        until(lambda: states(cluster) == Counter(ended=RUNS), LONG_S)
        lease = cluster.find(LEASE, LEASE_NAME)
        assert lease is not None and lease["spec"]["leaseTransitions"] == 2
    told = {one["metadata"]["name"]: one["status"] for one in cluster.all(AGENT_RUNS)}
    assert {told[name]["outcome"] for name in names} == {"succeeded"}
    assert {told[name]["attempt"] for name in names} == {1}
    assert len(cluster.begun()) == RUNS, "somebody ran twice"
