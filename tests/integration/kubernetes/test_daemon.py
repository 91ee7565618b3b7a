"""A daemon with agents in a cluster: what its restart and a retry do to them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from paddock.drivers.kubernetes.reading import is_over
from tests.kit.cluster.choice import AnyCluster
from tests.kit.cluster.objects import JOB, VOLUME, Refusal
from tests.kit.house import House, a_house, is_running
from tests.kit.waiting import until

SECRET = "AWS_SECRET_ACCESS_KEY"


@pytest.fixture
def house(tmp_path: Path, cluster: AnyCluster) -> Iterator[House]:
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
    house: House, cluster: AnyCluster
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


def test_a_silent_cluster_ends_nobody_that_waits_for_it(house: House, cluster: AnyCluster) -> None:
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


def found_in(views: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {view["name"]: view for view in views}


def test_a_daemon_starts_while_its_cluster_is_silent_and_takes_up_what_lives_there(
    house: House, cluster: AnyCluster
) -> None:
    """One that goes on, one that ends meanwhile, one that is cancelled meanwhile, and one that was
    about to start: none is lost, none is started twice."""
    on, killed = away(house, "on", "sleep=4000"), away(house, "killed", "sleep=4000")
    until(lambda: set(states(house).values()) == {"running"}, within_s=60)
    ends = away(house, "ends", "sleep=30", "exit=0")
    there = dict.fromkeys(("on", "killed", "ends"), "running")
    until(lambda: states(house) == there, within_s=60)
    cluster.go_down()
    late = away(house, "late", "exit=0")
    assert house.paddock("daemon", "stop").returncode == 0
    house.start()
    assert states(house) == {**there, "late": "starting"}
    for view in house.told("ls"):
        assert "the cluster does not answer since 20" in view["sentence"]
    silent = house.told("status")["silent_cluster"]
    assert silent["runs"] == 4 and "cannot be used: the cluster at http" in silent["because"]
    (problem,) = [one for one in house.told("doctor")["problems"] if one["name"] == "cluster"]
    assert problem["level"] == "wrong" and "4 runs there" in problem["what"]
    assert "the cluster does not answer since" in house.paddock("story", on).stdout
    house.paddock("kill", killed)
    until(lambda: len([pod for pod in cluster.pods() if is_over(pod)]) == 1, within_s=120)
    assert found_in(house.told("ls"))["killed"]["state"] == "stopping"
    cluster.come_up()
    ended = {view.name: view.outcome for view in house.ended([ends, killed, late], within_s=90)}
    assert ended == {"ends": "succeeded", "killed": "cancelled", "late": "succeeded"}
    (left,) = house.told("ls")
    assert (left["name"], left["state"], left["attempt"]) == ("on", "running", 1)
    assert "does not answer" not in left["sentence"]
    assert house.told("status")["silent_cluster"] is None
    assert "the cluster answers again, after" in house.paddock("story", on).stdout
    assert len(cluster.begun()) == len(set(cluster.begun())) == 4


def test_a_cluster_that_falls_silent_is_told_of_until_it_answers(
    house: House, cluster: AnyCluster
) -> None:
    run = away(house, "on", "sleep=4000")
    until(lambda: is_running(house, run), within_s=60)
    cluster.go_down()
    until(lambda: house.told("status")["silent_cluster"] is not None, within_s=60)
    assert "does not answer since" in house.paddock("why", run).stdout
    assert "does not answer since" in house.paddock("status").stdout
    cluster.come_up()
    until(lambda: house.told("status")["silent_cluster"] is None, within_s=60)
    assert is_running(house, run) and len(cluster.begun()) == 1


def test_the_volume_of_a_success_goes_also_when_its_daemon_died_before(
    house: House, cluster: AnyCluster
) -> None:
    def cut(verb: str, _path: str) -> Refusal | None:
        return Refusal(503, "ServiceUnavailable", "not now") if verb == "delete" else None

    cluster.hook(cut)
    house.ended([away(house, "one", "exit=0")])
    assert house.paddock("daemon", "stop").returncode == 0
    cluster.no_hook()
    assert len(cluster.all(VOLUME)) == 1
    house.start()
    other = away(house, "other", "exit=3")
    house.ended([other])
    until(lambda: len(cluster.all(VOLUME)) == 1, within_s=60)
    (volume,) = cluster.all(VOLUME)
    assert volume["metadata"]["annotations"]["paddock.dev/run"] == other  # it may be looked at
    until(lambda: not cluster.all(JOB), within_s=60)


def test_a_retry_puts_nothing_of_the_callers_environment_into_the_cluster(
    house: House, cluster: AnyCluster
) -> None:
    house.env[SECRET] = "hunter2"
    house.ended([away(house, "one", "sleep=3", "exit=3")])  # long enough for its Job to be seen
    again = house.paddock("retry", "one").stdout.split()[0]
    until(lambda: any(again in job["metadata"]["name"] for job in cluster.all(JOB)), within_s=60)
    jobs = [job["spec"]["template"]["spec"]["containers"][0] for job in cluster.all(JOB)]
    names = {each["name"] for one in jobs for each in one["env"]}
    assert names and not names & {SECRET, "PATH", "TEST_MARK"}
