"""A change of sizes: in stages, watched, taken back by itself or by hand, never half forgotten."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

from paddock.cluster.client import Api, Where
from paddock.cluster.tiers import GIB, Tier
from paddock.manifests.installing import How, Installer
from paddock.manifests.rollout import Pace, TakenBack
from paddock.manifests.values import COMPUTE, Values
from tests.kit.cluster.choice import OWN_NODES
from tests.kit.cluster.objects import LIMITS, NODE, QUOTA
from tests.kit.cluster.site import IMAGES, Site

EVERY_S = 1.0 if OWN_NODES else 0.1  # a run; a real cluster takes longer for one
QUICKLY = ("--stage", "50", "--watch", "2s")
SAID: Any = {"image": "registry.example/paddock:1", "agents_image": "registry.example/agents:1"}


def quality(memory: str) -> dict[str, object]:
    """A tier of one's own for the role quality."""
    cpu = {"cpu_request": 1, "cpu_limit": 2}
    return {"role": "quality", **cpu, "memory_request": memory, "memory_limit": memory}


@contextlib.contextmanager
def runs(site: Site, *words: str) -> Iterator[list[str]]:
    """Of the role quality, one after the other, as long as it lasts."""
    names: list[str] = []
    over = threading.Event()

    def submit() -> None:
        while not over.wait(EVERY_S):
            name = f"run-{len(names)}"
            site.submit(name, *words, role="quality", retries=3)
            names.append(name)

    thread = threading.Thread(target=submit)
    thread.start()
    try:
        yield names
    finally:
        over.set()
        thread.join()


def begin(site: Site, memory: str = "4G") -> None:
    site.config(tiers=[quality(memory)])
    assert site.apply().code == 0
    site.controllers_ready()


def limits(site: Site) -> set[str]:
    return {one["spec"]["containers"][0]["resources"]["limits"]["memory"] for one in site.agents()}


def test_sizes_that_do_well_come_into_force_stage_by_stage(site: Site) -> None:
    begin(site)
    site.config(tiers=[quality("6G")])
    with runs(site, "use=1G", "exit=0") as names:
        site.until(lambda: len(names) > 5 and limits(site) == {"4Gi"})
        told = site.apply(*QUICKLY, "--quota", "pods=40")
        assert told.code == 0, told.err
        site.until(lambda: "6Gi" in limits(site))
    assert "50 %" in told.err and "100 %: everybody" in told.err
    assert site.settings()["tiers"][0]["memory_limit"] == "6G"
    assert "share" not in site.settings()["tiers"][0]
    assert site.the(QUOTA, "agent-platform-quota")["spec"]["hard"]["pods"] == "40"
    assert [(one["number"], one["state"]) for one in site.revisions()] == [
        (1, "replaced"),
        (2, "current"),
    ]
    site.ended(*names)
    assert {site.status(name)["outcome"] for name in names} == {"succeeded"}


def test_sizes_under_which_agents_are_killed_are_taken_back(site: Site) -> None:
    begin(site)
    site.config(tiers=[quality("900M")])
    with runs(site, "use=1G", "sleep=0.2", "exit=0") as names:
        told = site.apply("--stage", "50", "--watch", "60s")
    assert told.code == 1
    assert "killed for memory" in told.err and "taken back to revision 1" in told.err
    assert site.settings()["tiers"][0]["memory_limit"] == "4G"
    assert len(site.settings()["tiers"]) == 1
    states = [(one["number"], one["state"]) for one in site.revisions()]
    assert states == [(1, "current"), (2, "taken back")]
    site.ended(*names)
    assert {site.status(name)["outcome"] for name in names} == {"succeeded"}, "each was helped"
    refused = site.apply(*QUICKLY)
    assert refused.code == 3
    assert "--again" in refused.err and refused.err.count("\n") == 1
    listed = site.paddock("revisions", "--json").json()
    assert "killed for memory" in listed[1]["because"]
    assert listed[1]["changed"] == [
        "tier quality: memory_request 4G → 900M, memory_limit 4G → 900M"
    ]


def test_cut_off_at_a_stage_it_goes_on_from_there(site: Site) -> None:
    begin(site)
    site.config(tiers=[quality("6G")])
    words = ["apply", *IMAGES, "--stage", "50", "--watch", "1h", "--kubeconfig"]
    command = [sys.executable, "-m", "paddock", "kubernetes", *words, str(site.kubeconfig)]
    with subprocess.Popen(command, env=dict(os.environ), stderr=subprocess.DEVNULL) as process:
        site.until(lambda: "share" in site.settings()["tiers"][0])
        process.kill()
    assert site.revisions()[-1]["state"] == "on trial"
    noted = site.paddock("check", "--cluster", *IMAGES, "--json").json()
    assert any("on trial at 50 %" in one["what"] for one in noted)
    told = site.apply("--stage", "50", "--watch", "1s")
    assert told.code == 0, told.err
    assert "share" not in site.settings()["tiers"][0]
    assert site.revisions()[-1]["state"] == "current"


def test_told_to_stop_it_leaves_the_stage_and_says_how_to_go_on(site: Site) -> None:
    begin(site)
    site.config(tiers=[quality("6G")])
    words = ["apply", *IMAGES, "--stage", "50", "--watch", "1h", "--kubeconfig"]
    command = [sys.executable, "-m", "paddock", "kubernetes", *words, str(site.kubeconfig)]
    with subprocess.Popen(command, env=dict(os.environ), stderr=subprocess.PIPE) as process:
        site.until(lambda: "share" in site.settings()["tiers"][0])
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "say the same again to go on" in said.decode().splitlines()[-1]
    assert site.revisions()[-1]["state"] == "on trial"
    assert site.paddock("apply", "--rollback").code == 0
    assert "share" not in site.settings()["tiers"][0]
    assert site.revisions()[-1]["because"] == "by hand"


def test_a_rollback_by_hand_is_at_once_and_remembered(site: Site) -> None:
    begin(site)
    site.config(tiers=[quality("6G")])
    assert site.apply("--at-once", "--quota", "limits.memory=320Gi").code == 0
    site.config()  # what is gone back to is in the cluster, not in somebody's file
    told = site.paddock("apply", "--rollback")
    assert told.code == 0, told.err
    assert site.settings()["tiers"][0]["memory_limit"] == "4G"
    assert site.settings()["image"] == "registry.example/agents:1"
    hard = site.the(QUOTA, "agent-platform-quota")["spec"]["hard"]
    assert hard["limits.memory"] == "160Gi"
    states = [(one["number"], one["state"]) for one in site.revisions()]
    assert states == [(1, "current"), (2, "taken back")]
    assert site.paddock("apply", "--rollback").code == 3
    assert site.paddock("apply", "--rollback", "--to", "2").code == 0
    assert site.settings()["tiers"][0]["memory_limit"] == "6G"
    site.controllers_ready()


def test_a_range_is_never_smaller_than_what_is_on_trial(site: Site) -> None:
    begin(site)
    site.config(tiers=[quality("64G")])
    assert site.apply("--stage", "10", "--watch", "0.2s").code == 0
    part = site.the(LIMITS, "agent-platform-limits")["spec"]["limits"][0]
    assert part["max"]["memory"] == "64Gi"
    told = site.paddock("apply", "--rollback")
    assert told.code == 0
    part = site.the(LIMITS, "agent-platform-limits")["spec"]["limits"][0]
    assert part["max"]["memory"] == "16Gi"


def test_controllers_that_do_not_come_up_take_it_back(site: Site) -> None:
    """The new ones have no node; the old ones lead on meanwhile."""
    begin(site)
    node = {"spec": {"unschedulable": True}}
    site.cluster.patch(NODE, "node-1", node)
    values = Values(**SAID, tiers=(Tier("quality", 1, 2, 6 * GIB, 6 * GIB, 10 * GIB),))
    pace = Pace(stages=(50, 100), watch_s=0.2, ready_s=1.0, look_s=0.05)
    told = asyncio.run(installed(site, values, How(pace=pace)))
    assert "controllers were not ready within 1 s" in told
    assert site.settings()["tiers"][0]["memory_limit"] == "4G"
    assert len([one for one in site.controllers() if "nodeName" in one["spec"]]) == 2


def test_agents_that_find_no_node_take_it_back(site: Site) -> None:
    begin(site)
    tier = Tier("quality", 1, 2, 900 * GIB, 900 * GIB, 10 * GIB)
    room = {**COMPUTE, "limits.memory": "9000Gi", "requests.memory": "9000Gi"}
    values = Values(**SAID, tiers=(tier,), compute=room)
    pace = Pace(stages=(50, 100), watch_s=60, no_place_s=0.5, look_s=0.05)
    with runs(site, "exit=0"):
        told = asyncio.run(installed(site, values, How(pace=pace)))
    assert "found no node" in told
    hard = site.the(QUOTA, "agent-platform-quota")["spec"]["hard"]
    assert hard["limits.memory"] == "160Gi"


async def installed(site: Site, values: Values, how: How) -> str:
    """Why it was taken back; with a pace that no command line has."""
    api = Api(Where(namespace=values.namespace, kubeconfig=site.kubeconfig))
    try:
        async for _ in Installer(api, values, how).run():
            pass
    except TakenBack as taken:
        return str(taken)
    finally:
        await api.close()
    return ""
