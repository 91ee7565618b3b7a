"""Engines that cannot hold an agent here are refused in one line that says what to do."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from paddock.config.places import plain_environment
from paddock.drivers.container.engine import EngineTrouble
from paddock.drivers.container.engines import (
    HOSTS,
    EngineFacts,
    facts_of_docker,
    facts_of_podman,
    far_away,
    local_only,
    refuse_unfit,
)
from paddock.drivers.container.probe import engine_named, probe

HERE = os.uname().release
ALL = ["cpuset", "cpu", "memory", "pids"]


def podman(**host: Any) -> dict[str, Any]:
    """As 4.3.1 says it of itself, in the parts that are looked at; as root."""
    usual = {
        "kernel": HERE,
        "cgroupVersion": "v2",
        "cgroupControllers": ALL,
        "idMappings": {"uidmap": None, "gidmap": None},
        "security": {"rootless": False},
    }
    return {"host": usual | host}


def a_map(*sizes: int) -> dict[str, Any]:
    return {"uidmap": [{"container_id": 0, "host_id": 12345, "size": size} for size in sizes]}


ROOTLESS = {"security": {"rootless": True}, "idMappings": a_map(1, 65536)}
DOCKER = {"KernelVersion": HERE, "CgroupDriver": "systemd", "CgroupVersion": "2"}


@pytest.mark.parametrize(
    "facts",
    [
        EngineFacts(),  # one that says nothing of itself
        facts_of_podman({}),
        facts_of_podman(podman()),
        facts_of_podman(podman(cgroupVersion="v1")),
        facts_of_podman(podman(**ROOTLESS)),
        facts_of_docker({}),
        facts_of_docker(DOCKER | {"MemoryLimit": True, "PidsLimit": True}),
        facts_of_docker(DOCKER | {"SecurityOptions": ["name=seccomp,profile=x", "name=rootless"]}),
    ],
)
def test_those_that_can_are_not_refused(facts: EngineFacts) -> None:
    refuse_unfit(facts, "podman")


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        # As podman 4.3.1 of a user without subordinate ids said it, on cgroup v1.
        (
            podman(**ROOTLESS, cgroupVersion="v1", cgroupControllers=[]),
            "podman without root sets no limits on cgroup v1; run the daemon as root",
        ),
        (podman(**ROOTLESS | {"idMappings": a_map(1)}), "no ids but yours"),
        (
            podman(**ROOTLESS, cgroupControllers=["memory"]),
            "cannot limit pids here; hand pids down to users (Delegate= of user@.service)",
        ),
        (
            podman(cgroupControllers=["cpu", "pids"]),
            "cannot limit memory here; enable the cgroup controller memory",
        ),
        (podman(kernel="5.15.0-linuxkit"), "in a virtual machine (kernel 5.15.0-linuxkit)"),
    ],
)
def test_a_podman_that_cannot_is_refused(facts: dict[str, Any], said: str) -> None:
    _refused(facts_of_podman(facts), "podman", said)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"KernelVersion": "5.15.0-linuxkit"}, "docker runs containers in a virtual machine"),
        ({"MemoryLimit": False, "PidsLimit": True}, "docker cannot limit memory here"),
        ({"MemoryLimit": False, "PidsLimit": False}, "docker cannot limit memory and pids here"),
        ({"CgroupDriver": "none"}, "docker makes no cgroups here"),
        (
            {"SecurityOptions": ["name=rootless"], "CgroupVersion": "1", "CgroupDriver": "none"},
            "docker without root sets no limits on cgroup v1",
        ),
    ],
)
def test_a_docker_that_cannot_is_refused(facts: dict[str, Any], said: str) -> None:
    _refused(facts_of_docker(DOCKER | facts), "docker", said)


def _refused(facts: EngineFacts, program: str, said: str) -> None:
    with pytest.raises(EngineTrouble) as caught:
        refuse_unfit(facts, program)
    text = str(caught.value)
    assert said in text and text.endswith(", or use --driver local")
    assert "\n" not in text and caught.value.permanent


@pytest.mark.parametrize(
    ("engine", "variable", "value"),
    [
        ("docker", "DOCKER_HOST", "tcp://far:2375"),
        ("docker", "DOCKER_HOST", "ssh://me@far"),
        ("podman", "CONTAINER_HOST", "ssh://me@far/run/podman.sock"),
        ("podman", "CONTAINER_CONNECTION", "podman-machine-default"),
    ],
)
def test_an_engine_on_another_machine_is_refused_and_not_mistaken_for_the_one_here(
    engine: str, variable: str, value: str, tmp_path: Path
) -> None:
    async def look() -> str:
        made = engine_named(engine, tmp_path, {"PATH": str(tmp_path), variable: value})
        found = await probe(engine, made, "img")
        assert not found.works
        return found.sentence

    said = asyncio.run(look())
    assert said.startswith(f"{variable}={value} names {engine} on another machine")
    assert "unset it" in said and "\n" not in said
    assert list(tmp_path.iterdir()) == [], "nothing was asked or started"


def test_one_on_a_socket_here_is_not_far_away_but_podmans_own_service_does_not_ask_it() -> None:
    assert far_away({"DOCKER_HOST": "unix:///run/d.sock"}, "docker") is None
    assert far_away({"CONTAINER_HOST": "unix:///run/p.sock"}, "podman") is None
    assert far_away({}, "apple") is None
    # With it podman would be a client of that one, and would not know `system service`.
    assert local_only({"CONTAINER_HOST": "unix:///run/p.sock", "A": "b"}, "podman") == {"A": "b"}


@pytest.mark.parametrize("name", [name for names in HOSTS.values() for name in names])
def test_a_daemon_that_is_started_hears_of_another_machine(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without, it would take the engine that is here, and say nothing."""
    monkeypatch.setenv(name, "ssh://me@far/run/engine.sock")
    assert plain_environment()[name] == "ssh://me@far/run/engine.sock"
