"""A whole paddock for each containment that this machine has, with agents in every language."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.integration.container import docker_room, engine_room
from tests.kit.house import House, a_house

PROJECT: Final = Path(__file__).parents[3]
EXAMPLES: Final = PROJECT / "examples/agents"
CONTAINMENTS: Final = ("none", "cgroup", "podman", "docker")
SLOTS: Final = 4
CONFIG: Final = f"performance: {{max_concurrent_agents: {SLOTS}}}\nqueue: {{min_run: 0.1s}}\n"
NODE: Final = shutil.which("node")
RUSTC: Final = shutil.which("rustc")
LANGUAGES: Final = ("python", "shell", *["javascript"] * bool(NODE), *["rust"] * bool(RUSTC))


@contextmanager
def a_paddock(directory: Path, containment: str) -> Iterator[House]:
    """Skips where there is no such engine."""
    if containment in ("none", "cgroup"):
        with a_house(directory, config=f"{CONFIG}sandbox: {{containment: {containment}}}\n") as one:
            yield one
        return
    room = {"podman": engine_room, "docker": docker_room}[containment]
    lacking = room.lacking()
    if lacking is not None:
        pytest.skip(lacking)
    with a_house(directory, config=CONFIG + _in_containers(containment)) as house:
        house.env |= room.environment() | {"HOME": house.env["HOME"], "PATH": house.env["PATH"]}
        if containment == "podman":
            house.env["PATH"] = f"{_podman(directory)}:{house.env['PATH']}"
        yield house


def _in_containers(engine: str) -> str:
    """The image has busybox only: interpreters, the helper and the examples come from here."""
    needed = {mount.source for mount in engine_room.mounts()}
    needed |= {str(PROJECT / "src"), str(EXAMPLES)}
    mounts = ", ".join(f"'{path}:{path}:ro'" for path in sorted(needed))
    return (
        f"sandbox: {{driver: container, container_engine: {engine}, container_network: none,"
        f" container_image: '{engine_room.IMAGE}', container_mounts: [{mounts}]}}\n"
    )


def _podman(directory: Path) -> Path:
    """With the tests' own store: the machine's is not touched."""
    podman = directory / "bin/podman"
    podman.parent.mkdir()
    words = f'#!/bin/sh\nexec /usr/bin/{shlex.join(engine_room.command())} "$@"\n'
    podman.write_text(words, encoding="ascii")
    podman.chmod(0o755)
    return podman.parent


def program(language: str, directory: Path) -> tuple[str, ...]:
    """Of the examples in one of these languages; Rust is built there."""
    match language:
        case "python":
            return sys.executable, str(EXAMPLES / "agent.py")
        case "shell":
            return "sh", str(EXAMPLES / "agent.sh")
        case "javascript":
            return str(NODE), "--expose-gc", str(EXAMPLES / "agent.js")
        case _:
            built = directory / "agent-in-rust"
            words = [str(RUSTC), "-O", "-o", str(built), str(EXAMPLES / "agent.rs")]
            subprocess.run(words, check=True, capture_output=True)
            return (str(built),)
