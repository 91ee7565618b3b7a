"""Where a container's cgroup is and whether its walls stand, read from files: v1, v2 and both."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.cgroups.group import Walls
from paddock.cgroups.v1 import Group1
from paddock.cgroups.v2 import Group2
from paddock.drivers.container.cgroup import broken_wall, group_of
from paddock.drivers.container.fleet_wall import FleetWall

ASKED = Walls(limit_bytes=5000, pids=512)


def write(directory: Path, **files: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (directory / name.replace("__", ".")).write_text(text, encoding="ascii")
    return directory


def a_v1(directory: Path, **files: str) -> Group1:
    usual = {"memory__limit_in_bytes": "5000\n", "pids__max": "512\n"}
    write(directory, **usual | files)
    return Group1({"memory": str(directory), "pids": str(directory)})


def a_v2(directory: Path, **files: str) -> Group2:
    usual = {"memory__max": "5000\n", "pids__max": "512\n", "memory__swap__max": "0\n"}
    return Group2(str(write(directory, **usual | files)))


def test_walls_are_read_back(tmp_path: Path) -> None:
    assert broken_wall(a_v2(tmp_path / "good"), ASKED) is None
    assert broken_wall(a_v1(tmp_path / "good1"), ASKED) is None
    lower = Walls(limit_bytes=4999, pids=512)
    assert broken_wall(a_v2(tmp_path / "good"), lower) is not None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("memory__max", "memory is limited to nothing, not to 5000 bytes"),
        ("memory__swap__max", "swap is limited to "),
        ("pids__max", "processes are limited to nothing, not to 512"),
    ],
)
def test_one_that_does_not_stand_is_named(tmp_path: Path, name: str, said: str) -> None:
    found = broken_wall(a_v2(tmp_path / "broken", **{name: "max\n"}), ASKED)
    assert found is not None and found.startswith(said)


def test_in_v1_swap_beyond_the_limit_is_a_broken_wall(tmp_path: Path) -> None:
    for swap, is_broken in (("5000\n", False), ("5001\n", True)):
        group = a_v1(tmp_path / swap.strip(), memory__memsw__limit_in_bytes=swap)
        assert (broken_wall(group, ASKED) is not None) is is_broken


# -- where it is --------------------------------------------------------------------------------


def a_host(root: Path, cgroups: str, *mounts: str) -> str:
    """`mounts`: kind, options, the part that is mounted, and where. Returns its /proc."""
    lines = []
    for mount in mounts:
        kind, options, top, point = mount.split()
        (root / point).mkdir(parents=True, exist_ok=True)
        lines.append(f"31 24 0:26 {top} {root / point} rw - {kind} {kind} rw,{options}\n")
    write(root / "proc/7", cgroup=cgroups)
    write(root / "proc/self", mountinfo="".join(lines))
    return str(root / "proc")


V1 = ("cgroup memory / cg/memory", "cgroup pids / cg/pids", "cgroup2 x / cg/unified")
V2 = ("cgroup2 x / cg",)


def test_on_a_host_with_both_the_one_with_the_memory_controller_is_taken(tmp_path: Path) -> None:
    proc = a_host(tmp_path, "4:memory:/box\n5:pids:/box\n0::/box\n", *V1)
    found = group_of(7, proc)
    assert isinstance(found, Group1)
    assert found.path == str(tmp_path / "cg/memory/box")


def test_pure_v2_is_found_and_one_without_a_memory_controller_is_not(tmp_path: Path) -> None:
    proc = a_host(tmp_path, "0::/box\n", *V2)
    assert group_of(7, proc) is None
    write(tmp_path / "cg/box", memory__stat="anon 1\n", memory__max="5000\n")
    found = group_of(7, proc)
    assert isinstance(found, Group2) and found.path == str(tmp_path / "cg/box")
    assert group_of(8, proc) is None


def test_of_one_below_another_the_one_with_the_walls_is_meant(tmp_path: Path) -> None:
    proc = a_host(tmp_path, "0::/box/container\n", *V2)
    write(tmp_path / "cg/box", memory__max="5000\n")
    write(tmp_path / "cg/box/container", memory__stat="anon 1\n", memory__max="max\n")
    found = group_of(7, proc)
    assert found is not None and found.path == str(tmp_path / "cg/box")


def test_one_outside_of_what_can_be_seen_is_nobodys(tmp_path: Path) -> None:
    """Its path leads upwards: taken at its word, we would freeze ourselves."""
    proc = a_host(tmp_path, "4:memory:/../box\n", *V1)
    write(tmp_path / "cg/memory", memory__stat="")
    assert group_of(7, proc) is None


# -- the fleet's wall ---------------------------------------------------------------------------


def a_fleet(root: Path, memory: str, pids: str) -> Group1:
    return Group1({"memory": f"{root}/cg/memory{memory}", "pids": f"{root}/cg/pids{pids}"})


def test_engines_are_told_where_memory_is_counted(tmp_path: Path) -> None:
    proc = a_host(tmp_path, "4:memory:/\n", *V1)
    fleet = a_fleet(tmp_path, "/session/paddock-x/fleet", "/paddock-x/fleet")
    assert FleetWall(fleet, proc).parent == "/session/paddock-x/fleet/containers"
    proc = a_host(tmp_path / "v2", "0::/\n", *V2)
    two = Group2(f"{tmp_path}/v2/cg/a.scope/paddock-x/fleet")
    assert FleetWall(two, proc).parent == "/a.scope/paddock-x/fleet/containers"


def test_what_is_counted_outside_is_not_held(tmp_path: Path) -> None:
    proc = a_host(tmp_path, "4:memory:/\n", *V1)
    wall = FleetWall(a_fleet(tmp_path, "/p/fleet", "/p/fleet"), proc)
    assert wall.holds(a_fleet(tmp_path, "/p/fleet/containers/libpod-1", "/p"))
    assert not wall.holds(a_fleet(tmp_path, "/p/fleet/containers", "/p"))
    assert not wall.holds(a_fleet(tmp_path, "/libpod-1", "/p/fleet/containers/libpod-1"))


def test_what_engines_leave_is_removed_in_every_hierarchy(tmp_path: Path) -> None:
    proc = a_host(tmp_path, "4:memory:/\n", *V1)
    cg = tmp_path / "cg"
    for each in ("memory/session/p/fleet", "pids/p/fleet", "unified/session/others"):
        (cg / each).mkdir(parents=True)
    wall = FleetWall(a_fleet(tmp_path, "/session/p/fleet", "/p/fleet"), proc)
    wall.prepare()
    for each in ("memory", "pids", "unified"):
        (cg / each / "session/p/fleet/containers/conmon").mkdir(parents=True)
    assert wall.tidy()
    left = sorted(str(path.relative_to(cg)) for path in cg.rglob("*") if path.is_dir())
    assert left == [
        *("memory", "memory/session", "memory/session/p", "memory/session/p/fleet"),
        *("pids", "pids/p", "pids/p/fleet"),
        *("unified", "unified/session", "unified/session/others"),
    ]
