"""Where a command's wall belongs, told by the files of /proc; and the share it gets."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from paddock.tool.errors import CannotRun, NoWall
from paddock.tool.running import Size
from paddock.tool.waiting import find_program, without
from paddock.tool.wall import Seat, Wall, attempt_in, find_seat, make_wall

MIB = 1 << 20


def a_proc(tmp_path: Path, cgroup: str, mountinfo: str) -> str:
    (tmp_path / "self").mkdir()
    (tmp_path / "self/cgroup").write_text(cgroup, encoding="ascii")
    (tmp_path / "self/mountinfo").write_text(mountinfo, encoding="ascii")
    return str(tmp_path)


@pytest.mark.parametrize(
    ("path", "attempt", "leaf"),
    [
        ("/paddock-a/fleet/r.1/main", "/paddock-a/fleet/r.1", "main"),
        ("/x/paddock-a/fleet/r.1/tool-7", "/x/paddock-a/fleet/r.1", "tool-7"),
        ("/paddock-a/fleet/r.1", "/paddock-a/fleet/r.1", ""),
        # An agent that runs a paddock of its own: the inner one counts.
        (
            "/paddock-a/fleet/r.1/main/paddock-b/fleet/q.2/main",
            "/paddock-a/fleet/r.1/main/paddock-b/fleet/q.2",
            "main",
        ),
        ("/paddock-a/fleet", "", ""),
        ("/paddock-a/supervisor", "", ""),
        ("/user.slice/fleet/r.1", "", ""),
        ("/", "", ""),
    ],
)
def test_an_attempt_is_told_by_its_cgroups_path(path: str, attempt: str, leaf: str) -> None:
    assert attempt_in(path) == (attempt, leaf)


def test_the_seat_on_v1_has_every_hierarchy_in_which_the_attempt_has_a_cgroup(
    tmp_path: Path,
) -> None:
    proc = a_proc(
        tmp_path,
        "5:pids:/p\n4:memory:/paddock-a/fleet/r.1/main\n3:freezer:/paddock-a/fleet/r.1/main\n0::/\n",
        "30 24 0:26 / /cg/memory rw - cgroup none rw,memory\n"
        "31 24 0:27 / /cg/pids rw - cgroup none rw,pids\n"
        "32 24 0:28 / /cg/freezer rw - cgroup none rw,freezer\n",
    )
    seat = find_seat(proc)
    assert seat.version == 1 and not seat.is_inside_a_wall
    assert seat.directories == {
        "memory": "/cg/memory/paddock-a/fleet/r.1",
        "freezer": "/cg/freezer/paddock-a/fleet/r.1",
    }


def test_the_seat_on_v2_needs_the_memory_controller(tmp_path: Path) -> None:
    top = tmp_path / "cg"
    attempt = top / "paddock-a/fleet/r.1"
    attempt.mkdir(parents=True)
    proc = a_proc(
        tmp_path, "0::/paddock-a/fleet/r.1/tool-9\n", f"30 24 0:26 / {top} rw - cgroup2 none rw\n"
    )
    with pytest.raises(NoWall) as refused:
        find_seat(proc)
    assert refused.value.expected
    (attempt / "cgroup.controllers").write_text("cpu memory pids\n", encoding="ascii")
    seat = find_seat(proc)
    assert (seat.path, seat.version, seat.is_inside_a_wall) == (str(attempt), 2, True)


def test_a_share_is_of_what_the_kernel_does_not_hold_back(tmp_path: Path) -> None:
    attempt = tmp_path / "cg/paddock-a/fleet/r.1"
    attempt.mkdir(parents=True)
    seat = Seat({"unified": str(attempt)}, version=2, leaf="main")
    for file, text in (("cgroup.procs", ""), ("memory.max", "4096\n"), ("memory.high", "max\n")):
        (attempt / file).write_text(text, encoding="ascii")
    assert (seat.limit_bytes(), seat.room_bytes()) == (4096, 4096)
    (attempt / "memory.high").write_text("3072\n", encoding="ascii")
    assert (seat.limit_bytes(), seat.room_bytes()) == (4096, 3072)


def test_a_hierarchy_that_is_mounted_from_below_its_top_is_found(tmp_path: Path) -> None:
    proc = a_proc(
        tmp_path,
        "4:memory:/docker/x/paddock-a/fleet/r.1/main\n",
        "30 24 0:26 /docker/x /cg/memory rw - cgroup none rw,memory\n",
    )
    assert find_seat(proc).path == "/cg/memory/paddock-a/fleet/r.1"


def test_a_wall_that_cannot_be_set_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    """A plain directory has no cgroup's files: nothing in it can be set."""
    seat = find_seat(
        a_proc(
            tmp_path,
            "4:memory:/paddock-a/fleet/r.1/main\n",
            f"30 24 0:26 / {tmp_path}/cg rw - cgroup none rw,memory\n",
        )
    )
    attempt = tmp_path / "cg/paddock-a/fleet/r.1"
    attempt.mkdir(parents=True)
    with pytest.raises(NoWall) as refused:
        make_wall(seat, 64 * MIB)
    assert not refused.value.expected
    assert list(attempt.iterdir()) == []
    with pytest.raises(OSError, match=r"memory\.limit_in_bytes") as error:
        Wall(seat, "tool-1", 64 * MIB).make()
    assert error.value.errno == errno.ENOENT


def test_a_share_is_of_the_agents_wall_and_a_size_never_passes_it() -> None:
    assert Size(percent=50).of(400 * MIB) == 200 * MIB
    assert Size(percent=1).of(100 * MIB) == 16 * MIB
    assert Size(amount_bytes=64 * MIB).of(400 * MIB) == 64 * MIB
    assert Size(amount_bytes=900 * MIB).of(400 * MIB) == 400 * MIB
    assert Size(amount_bytes=900 * MIB).of(None) == 900 * MIB
    with pytest.raises(NoWall):
        Size(percent=75).of(None)


def test_a_program_is_found_as_a_shell_finds_it_but_not_among_the_shims(tmp_path: Path) -> None:
    for place, mode in (("shims", 0o755), ("broken", 0o644), ("bin", 0o755)):
        (tmp_path / place).mkdir()
        (tmp_path / place / "pytest").touch(mode=mode)
    path = f"{tmp_path}/shims/:{tmp_path}/broken:{tmp_path}/bin"
    assert find_program("pytest", path, but_not_in=f"{tmp_path}/shims") == f"{tmp_path}/bin/pytest"
    assert without(path, f"{tmp_path}/shims") == f"{tmp_path}/broken:{tmp_path}/bin"
    with pytest.raises(CannotRun) as refused:
        find_program("pytest", f"{tmp_path}/broken")
    assert (refused.value.code, str(refused.value)) == (
        126,
        f"{tmp_path}/broken/pytest: not executable",
    )
    with pytest.raises(CannotRun) as missing:
        find_program(f"{tmp_path}/none", path)
    assert missing.value.code == 127
