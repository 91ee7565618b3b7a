"""The engine goes while its containers live: no daemon begins that would take them for lost."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.container import engine_room
from tests.kit.house import House, a_house
from tests.kit.waiting import until

CONFIG = f"sandbox: {{container_image: '{engine_room.IMAGE}', container_network: none}}\n"
ENGINES = ("podman", "docker", "container")


@contextmanager
def a_house_with_podman(directory: Path) -> Iterator[House]:
    """Whose PATH has what this machine has, but of engines only podman, with the tests' store."""
    lacking = engine_room.lacking()
    if lacking is not None:
        pytest.skip(lacking)
    programs = directory / "bin"
    programs.mkdir()
    for place in reversed(engine_room.environment()["PATH"].split(":")):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            link = programs / program.name
            link.unlink(missing_ok=True)
            link.symlink_to(program)
    for name in ENGINES:
        (programs / name).unlink(missing_ok=True)
    words = shlex.join((str(shutil.which("podman")), *engine_room.command()[1:]))
    (programs / "podman").write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="ascii")
    (programs / "podman").chmod(0o755)
    with a_house(directory, config=CONFIG) as house:
        house.env |= engine_room.environment() | {"HOME": house.env["HOME"]}
        house.env["PATH"] = str(programs)
        yield house


def test_without_the_engine_of_living_containers_the_daemon_does_not_start_and_says_why(
    tmp_path: Path,
) -> None:
    with a_house_with_podman(tmp_path) as house:
        podman, docker = (tmp_path / "bin" / name for name in ("podman", "docker"))
        words = ("--driver", "container", "--memory", "64M", "--name", "long")
        script = ": >up; until [ -e go ]; do /bin/sleep 0.05; done; exit 4"
        assert house.paddock("submit", *words, "--", "/bin/sh", "-c", script).returncode == 0
        until((tmp_path / "up").exists, within_s=30)
        assert house.paddock("daemon", "stop").returncode == 0
        podman.rename(tmp_path / "podman")
        docker.symlink_to("/bin/true")  # another engine would not know them
        done = house.paddock("daemon", "run")
        assert done.returncode == 69
        assert "agents run in containers, and podman is not there" in done.stderr
        (tmp_path / "podman").rename(podman)
        house.start()
        (tmp_path / "go").touch()
        assert "failed (exit code 4)" in house.paddock("wait", "long", within_s=60).stderr
