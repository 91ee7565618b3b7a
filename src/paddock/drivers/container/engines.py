"""Which engines cannot hold an agent here, in one line each: said before a container is made.

A container needs walls that stand, on this kernel, below a cgroup that can be read. What an engine
says of itself is judged here; whether walls stand is read from the kernel after all (`making`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from paddock.drivers.container.engine import EngineTrouble

WANTED: Final = ("memory", "pids")
ELSE: Final = "or use --driver local"
# Where each of them is told to ask another machine; podman then also does so for its own service.
HOSTS: Final = {"docker": ("DOCKER_HOST",), "podman": ("CONTAINER_HOST", "CONTAINER_CONNECTION")}


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFacts:
    """What an engine says of itself. What it does not say is not held against it."""

    kernel: str = ""
    cgroups: str = ""  # "1", "2"
    has_cgroups: bool = True
    lacks: tuple[str, ...] = ()  # of the controllers that walls need
    rootless: bool = False
    has_ids: bool = True  # more than the user's own


def facts_of_docker(info: Mapping[str, Any]) -> EngineFacts:
    """`/info` of Docker's API."""
    limits = {"memory": info.get("MemoryLimit"), "pids": info.get("PidsLimit")}
    options = info.get("SecurityOptions") or []
    return EngineFacts(
        kernel=str(info.get("KernelVersion") or ""),
        cgroups=str(info.get("CgroupVersion") or ""),
        has_cgroups=info.get("CgroupDriver") != "none",
        lacks=tuple(name for name, limit in limits.items() if limit is False),
        rootless=any("name=rootless" in str(option).split(",") for option in options),
    )


def facts_of_podman(info: Mapping[str, Any]) -> EngineFacts:
    """libpod's own `/info`: Docker's, as podman answers it, knows neither ids nor whether a
    controller is handed down to a user."""
    host = info.get("host") or {}
    controllers = host.get("cgroupControllers")
    maps = (host.get("idMappings") or {}).get("uidmap") or []
    rootless = bool((host.get("security") or {}).get("rootless"))
    known = controllers if isinstance(controllers, list) else list(WANTED)
    return EngineFacts(
        kernel=str(host.get("kernel") or ""),
        cgroups=str(host.get("cgroupVersion") or "").lstrip("v"),
        lacks=tuple(name for name in WANTED if name not in known),
        rootless=rootless,
        has_ids=not rootless or sum(int(each.get("size", 0)) for each in maps) > 1,
    )


def refuse_unfit(facts: EngineFacts, program: str) -> None:
    """EngineTrouble: the first thing that is in the way, and what to do about it."""
    why = _why_unfit(facts, program)
    if why is not None:
        raise EngineTrouble(f"{why}, {ELSE}", permanent=True)


def _why_unfit(facts: EngineFacts, program: str) -> str | None:
    if facts.kernel and facts.kernel != os.uname().release:
        # Docker Desktop and its like: FIFOs and cgroup files of this host do not reach in there.
        return (
            f"{program} runs containers in a virtual machine (kernel {facts.kernel}), and paddock "
            "needs them on this kernel; run paddock inside it"
        )
    if facts.rootless and facts.cgroups == "1":
        return (
            f"{program} without root sets no limits on cgroup v1; run the daemon as root, boot "
            "with cgroup v2"
        )
    if not facts.has_cgroups:
        return f"{program} makes no cgroups here, so nothing would have a wall; let it make them"
    if facts.lacks:
        return f"{program} cannot limit {' and '.join(facts.lacks)} here; {_mend(facts)}"
    if not facts.has_ids:
        return (
            f"{program} has no ids but yours, and files would not stay yours; add some for this "
            "user to /etc/subuid and /etc/subgid"
        )
    return None


def _mend(facts: EngineFacts) -> str:
    missing = " ".join(facts.lacks)
    if facts.rootless:
        return f"hand {missing} down to users (Delegate= of user@.service)"
    return f"enable the cgroup controller {missing} (cgroup_enable={missing} for the kernel)"


def far_away(environment: Mapping[str, str], program: str) -> str | None:
    """Why this engine is on another machine, as far as the environment says so."""
    for name in HOSTS.get(program, ()):
        said = environment.get(name, "")
        if said and not said.startswith(("unix:", "/")):
            return (
                f"{name}={said[:80]} names {program} on another machine, or one that paddock "
                f"cannot look into; unset it to use the one here, {ELSE}"
            )
    return None


def local_only(environment: Mapping[str, str], program: str) -> dict[str, str]:
    """Without what would make it ask another service, even one on this machine."""
    names = HOSTS[program]
    return {name: value for name, value in environment.items() if name not in names}
