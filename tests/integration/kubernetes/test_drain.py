"""A node is drained, as `kubectl drain` does it: budgets hold controllers, agents come back."""

from __future__ import annotations

import pytest

from tests.kit.cluster.choice import OWN_NODES
from tests.kit.cluster.objects import NODE, POD, Object, Refusal
from tests.kit.cluster.site import Site

LONG_S = 20 if OWN_NODES else 3  # until all of them run, and are evicted


def evict(site: Site, pod: str) -> None:
    import httpx2

    space = "agent-platform"
    url = f"{site.cluster.url}/api/v1/namespaces/{space}/pods/{pod}/eviction"
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
    answer = httpx2.post(url, json=body)
    if answer.is_error:
        raise Refusal(answer.status_code, answer.json()["reason"], answer.json()["message"])


def on(site: Site, node: str) -> list[str]:
    return [
        one["metadata"]["name"]
        for one in site.all(POD)
        if one["spec"].get("nodeName") == node and one["status"]["phase"] == "Running"
    ]


def drain(site: Site, node: str) -> None:
    """Who is held by a budget is asked again, as kubectl does."""
    site.cluster.patch(NODE, node, {"spec": {"unschedulable": True}})

    def is_empty() -> bool:
        for name in on(site, node):
            try:
                evict(site, name)
            except Refusal as refusal:
                if refusal.code not in (404, 429):
                    raise
        return not on(site, node)

    site.until(is_empty)


def watched(site: Site) -> list[int]:
    """How many controllers ran, after each change of any pod."""
    found: list[int] = []
    site.cluster.on_pods(lambda pods: found.append(sum(map(_is_serving, pods))))
    return found


def _is_serving(pod: Object) -> bool:
    """One that was told to go does not count."""
    is_controller = pod["spec"]["containers"][0]["name"] == "controller"
    runs = pod.get("status", {}).get("phase") == "Running"
    return is_controller and runs and "deletionTimestamp" not in pod["metadata"]


def test_a_drain_leaves_a_controller_and_brings_every_agent_back(site: Site) -> None:
    site.apply()
    site.controllers_ready()
    names = [f"run-{number}" for number in range(4)]
    for name in names:
        site.submit(name, f"sleep={LONG_S}", "exit=0", memory="1G")
    site.until(lambda: all(site.status(name).get("state") == "running" for name in names))
    site.cluster.add_node("node-2")
    served = watched(site)
    drain(site, "node-1")
    site.controllers_ready()
    site.ended(*names)
    assert {site.status(name)["outcome"] for name in names} == {"succeeded"}
    assert {one["spec"].get("nodeName") for one in site.controllers()} == {"node-2"}
    assert min(served) >= 1, "there was a moment without a controller"
    assert [site.status(name)["attempt"] for name in names] == [2] * 4


def test_the_last_controller_cannot_be_evicted(site: Site) -> None:
    site.apply()
    site.controllers_ready()
    site.cluster.patch(NODE, "node-1", {"spec": {"unschedulable": True}})
    first, second = (one["metadata"]["name"] for one in site.controllers())
    evict(site, first)
    with pytest.raises(Refusal, match="disruption budget"):
        evict(site, second)
