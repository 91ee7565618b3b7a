"""An API that is away for a minute, as controllers in their pods meet it: with the terms, patience
and pauses that they have in a cluster, and begun anew as a node does it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from paddock.cluster.agent_run import crd
from tests.kit.cluster.choice import AnyCluster
from tests.kit.cluster.controllers import LEASE_NAME, Restarted, leader
from tests.kit.cluster.objects import LEASE, Object
from tests.kit.cluster.replicas import AGENT_RUNS
from tests.kit.waiting import until

LONG_S = 180.0
AWAY_S = 62.0
# For each run what it does, and how it is to end. 6 GiB are there.
RUNS: dict[str, tuple[list[str], str]] = {
    "through": (["sleep=75", "exit=0"], "succeeded"),  # lives when the API comes back
    "meanwhile": (["sleep=20", "exit=0"], "succeeded"),  # ends while nobody can be told
    "badly": (["sleep=25", "exit=3"], "failed"),
    "waiting": (["exit=0"], "succeeded"),  # there is no room for it before
    "needing": (["exit=0"], "succeeded"),
}


def submit(cluster: AnyCluster, name: str, **more: object) -> None:
    spec: Object = {"command": RUNS[name][0], "memory": "2G", **more}
    cluster.create(AGENT_RUNS, {"metadata": {"name": name}, "spec": spec})


def status(cluster: AnyCluster, name: str) -> Object:
    found = cluster.find(AGENT_RUNS, name)
    return {} if found is None else found.get("status", {})


def stay_away(cluster: AnyCluster) -> None:
    """First every line is silent, then nobody takes one."""
    back_at = time.monotonic() + AWAY_S
    cluster.hang()
    time.sleep(AWAY_S / 2)  # this is the test: nothing happens, for so long
    cluster.go_down()
    time.sleep(max(0.0, back_at - time.monotonic()))
    cluster.come_up()


@pytest.mark.timeout(600)
def test_after_a_minute_without_an_api_nothing_is_lost_and_nothing_was_done_twice(
    cluster: AnyCluster, tmp_path: Path
) -> None:
    cluster.define(crd())
    cluster.set_quota(limits_memory="6Gi", limits_cpu="200")
    with Restarted(tmp_path / "a", cluster) as first:
        until(lambda: leader(cluster) == first.pid, LONG_S)
        with Restarted(tmp_path / "b", cluster) as second:
            for name in ("through", "meanwhile", "badly"):
                submit(cluster, name)
            until(lambda: len(cluster.begun()) == 3, LONG_S)
            submit(cluster, "waiting")
            until(lambda: "quota" in status(cluster, "waiting").get("because", ""), LONG_S)
            submit(cluster, "needing", needs=["meanwhile"])
            stay_away(cluster)
            asked = cluster.unheard()
            until(lambda: leader(cluster) in (first.pid, second.pid), LONG_S)
            until(lambda: all(_ended(cluster, name) for name in RUNS), LONG_S)
            assert 1 in first.codes, "who led did not stop when its lease was over"
            assert second.codes == [], "who only waits has no reason to end"
    told = {name: status(cluster, name) for name in RUNS}
    assert {name: one["outcome"] for name, one in told.items()} == {
        name: outcome for name, (_, outcome) in RUNS.items()
    }
    assert {one["attempt"] for one in told.values()} == {1}
    assert len(cluster.begun()) == len(RUNS), "somebody ran twice"
    lease = cluster.find(LEASE, LEASE_NAME)
    assert lease is not None and lease["spec"]["leaseTransitions"] >= 2
    assert asked < 150, "a server that comes back is not to be run down"


def _ended(cluster: AnyCluster, name: str) -> bool:
    return bool(status(cluster, name).get("state") == "ended")
