"""A controller as a process, told to stop while it takes runs in: it goes quietly, at once, and the
next one finds everything."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from paddock.cluster.agent_run import crd
from tests.kit.cluster.choice import AnyCluster
from tests.kit.cluster.controllers import begin
from tests.kit.cluster.objects import LEASE, Refusal
from tests.kit.cluster.replicas import AGENT_RUNS
from tests.kit.waiting import until

RUNS = 40


def written(cluster: AnyCluster) -> int:
    return cluster.calls["patch agentruns/status"]


def refused_half(verb: str, path: str) -> Refusal | None:
    """Every write of a status is tried again, so that it is stopped in the middle of one."""
    if verb == "patch" and "agentruns" in path and time.monotonic_ns() // 1_000_000 % 2:
        return Refusal(503, "ServiceUnavailable", "etcd leader changed")
    return None


@pytest.mark.timeout(600)
@pytest.mark.parametrize("after", [1, RUNS // 2, RUNS + 5])
def test_told_to_stop_in_the_middle_it_goes_quietly(
    after: int, cluster: AnyCluster, tmp_path: Path
) -> None:
    cluster.define(crd())
    for number in range(RUNS):
        spec = {"command": ["exit=0"], "needs": [f"run-{number - 1}"] if number % 5 else []}
        cluster.create(AGENT_RUNS, {"metadata": {"name": f"run-{number}"}, "spec": spec})
    cluster.hook(refused_half)
    running, long_s = begin(tmp_path, cluster), cluster.patience_s
    until(lambda: written(cluster) >= after or running.poll() is not None, long_s)
    running.terminate()
    _, said = running.communicate(timeout=30)
    assert running.returncode == 0, said
    assert re.fullmatch(r"\S+ \S+ paddock\.controller: \S+ leads, term 1\n", said), said
    lease = cluster.find(LEASE, "paddock-controller")
    assert lease is not None and lease["spec"]["holderIdentity"] == ""
    cluster.no_hook()
    with begin(tmp_path, cluster) as running:
        until(lambda: outcomes(cluster) == {"succeeded"}, long_s)
        running.terminate()
    assert len(cluster.begun()) == RUNS  # nobody twice


def outcomes(cluster: AnyCluster) -> set[str]:
    return {str(one.get("status", {}).get("outcome")) for one in cluster.all(AGENT_RUNS)}
