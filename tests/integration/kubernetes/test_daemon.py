"""A daemon with agents in a cluster: what its restart and a retry do to them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.cluster.objects import JOB
from tests.kit.cluster.standin import Cluster
from tests.kit.house import House, a_house, is_running
from tests.kit.waiting import until

SECRET = "AWS_SECRET_ACCESS_KEY"


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(second_s=0.05) as found:
        yield found


@pytest.fixture
def house(tmp_path: Path, cluster: Cluster) -> Iterator[House]:
    kubeconfig = cluster.kubeconfig(tmp_path)
    config = f"kubernetes:\n  kubeconfig: {kubeconfig}\n  image: agents:1\n"
    with a_house(tmp_path, config=config) as found:
        yield found


def away(house: House, name: str, *words: str) -> str:
    said = ("--driver", "kubernetes", "--name", name, "--memory", "3G")
    done = house.paddock("submit", *said, "--", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def states(house: House) -> dict[str, str]:
    return {view["name"]: view["state"] for view in house.told("ls")}


def test_a_restart_lets_those_wait_that_waited_for_the_cluster(
    house: House, cluster: Cluster
) -> None:
    cluster.set_quota(limits_memory="4Gi", limits_cpu="100", requests_memory="100Gi")
    blocker = away(house, "blocker", "sleep=1200")
    until(lambda: is_running(house, blocker), within_s=60)
    later = away(house, "later", "exit=0")
    assert house.paddock("daemon", "stop").returncode == 0
    house.start()
    assert states(house) == {"blocker": "running", "later": "queued"}
    house.paddock("kill", blocker)
    (ended,) = house.ended([later])
    assert ended.outcome == "succeeded"


def test_a_silent_cluster_ends_nobody_that_waits_for_it(house: House, cluster: Cluster) -> None:
    cluster.set_quota(limits_memory="2Gi", limits_cpu="100", requests_memory="100Gi")
    later = away(house, "later", "exit=0")
    assert house.paddock("daemon", "stop").returncode == 0
    cluster.go_down()
    house.start()
    (view,) = until(lambda: [one for one in house.told("ls") if "driver" in one["sentence"]])
    assert view["state"] == "queued"
    assert "its driver kubernetes cannot be used: the cluster at" in view["sentence"]
    cluster.come_up()
    cluster.set_quota(limits_memory="4Gi", limits_cpu="100", requests_memory="100Gi")
    (ended,) = house.ended([later])
    assert ended.outcome == "succeeded"


def test_a_retry_puts_nothing_of_the_callers_environment_into_the_cluster(
    house: House, cluster: Cluster
) -> None:
    house.env[SECRET] = "hunter2"
    house.ended([away(house, "one", "exit=3")])
    again = house.paddock("retry", "one").stdout.split()[0]
    until(lambda: any(again in job["metadata"]["name"] for job in cluster.all(JOB)), within_s=60)
    jobs = [job["spec"]["template"]["spec"]["containers"][0] for job in cluster.all(JOB)]
    names = {each["name"] for one in jobs for each in one["env"]}
    assert names and not names & {SECRET, "PATH", "TEST_MARK"}
