"""Who is started inside an agent does not live in that agent's cgroup: on real cgroups."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from paddock.drivers.local.keeper_client import KEEPER, KeeperClient
from tests.kit import leaks
from tests.kit.waiting import until

MOUNTS = {"memory": Path("/sys/fs/cgroup/memory"), "": Path("/sys/fs/cgroup/unified")}
NO_CGROUPS = "no cgroup can be made here"


def own_cgroups(pid: int | str = "self") -> dict[str, str]:
    lines = Path(f"/proc/{pid}/cgroup").read_text(encoding="ascii").splitlines()
    return {controllers: path for _, controllers, path in (line.split(":", 2) for line in lines)}


def own_directory() -> tuple[str, Path] | None:
    """Below our own cgroup, in a hierarchy in which we may make more."""
    for controllers, mount in {**MOUNTS, "v2": Path("/sys/fs/cgroup")}.items():
        key = "" if controllers == "v2" else controllers
        directory = mount / own_cgroups().get(key, "/none").lstrip("/")
        if (directory / "cgroup.procs").exists():
            return key, directory
    return None


@contextmanager
def agents_cgroup() -> Iterator[tuple[str, Path]]:
    """A paddock's cgroups with one agent's leaf, gone again afterwards."""
    found = own_directory()
    if found is None:
        pytest.skip(NO_CGROUPS)
    controllers, below = found
    top = below / f"paddock-test-{uuid.uuid4().hex[:8]}"
    leaf = top / "fleet" / "a.1"
    try:
        for directory in (top, top / "fleet", leaf):
            try:
                directory.mkdir()
            except OSError:
                pytest.skip(NO_CGROUPS)
        yield controllers, leaf
    finally:
        for directory in (leaf, top / "fleet", top / "supervisor", top):
            if directory.exists():
                until(lambda directory=directory: is_removed(directory))  # type: ignore[misc]


def is_removed(directory: Path) -> bool:
    try:
        directory.rmdir()
    except OSError:
        return False
    return True


def test_a_keeper_started_inside_an_agent_leaves_its_cgroup(tmp_path: Path) -> None:
    with agents_cgroup() as (controllers, leaf):
        keeper = f"{sys.executable} -I -S -E -X utf8 {KEEPER} {tmp_path / 'keeper'}"
        join = f"echo 0 >{leaf}/cgroup.procs && exec {keeper}"
        subprocess.run(["sh", "-c", join], check=True, timeout=20)
        client = KeeperClient(tmp_path / "keeper")
        pid = client.hello(1)["pid"]
        path = own_cgroups(pid)[controllers]
        client.call("retire")
        client.close()
        until(lambda: not leaks.is_alive(pid))
        assert path.endswith(f"/{leaf.parent.parent.name}/supervisor")


def test_the_daemon_uses_the_same_way_out_and_says_what_holds_it_back() -> None:
    script = (
        "from paddock.drivers.local.keeper.cgroups import leave_agents_cgroups\n"
        "print(leave_agents_cgroups(), open('/proc/self/cgroup').read())"
    )
    with agents_cgroup() as (_, leaf):
        join = f'echo 0 >{leaf}/cgroup.procs && exec {sys.executable} -c "$0"'
        done = subprocess.run(
            ["sh", "-c", join, script], check=True, timeout=20, capture_output=True, text=True
        )
    assert done.stdout.startswith("[] ")
    assert f"/{leaf.parent.parent.name}/supervisor\n" in done.stdout
