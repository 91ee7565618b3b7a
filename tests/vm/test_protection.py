"""Memory kept for daemon and keeper: what the kernel takes from others first, and from whom."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from paddock.cgroups.home import Home
from paddock.cgroups.protection import in_the_way, protect, protected_bytes
from paddock.cgroups.v2 import Group2
from tests.vm.cgroup import Cgroup
from tests.vm.programs import holding

MIB = 2**20
HELD_MIB = 48


def a_home_below(cgroup: Cgroup) -> tuple[Home, Cgroup]:
    """With a process in its `supervisor` that has some memory and does nothing with it."""
    home = Home(Group2(str(cgroup.path / "paddock-x")), 2, "of a test")
    home.group.ensure()
    Group2(str(cgroup.path)).hand_down()
    home.group.hand_down()
    home.supervisor.ensure()
    supervisor = Cgroup(Path(home.supervisor.path), cgroup.started)
    idle = supervisor.start(*holding(HELD_MIB))
    assert idle.stdout and idle.stdout.readline() == "holding\n"
    return home, supervisor


def press(cgroup: Cgroup) -> None:
    """EAGAIN says that it took what it could."""
    subprocess.run(
        ["sh", "-c", 'echo 64M >"$0/memory.reclaim"', cgroup.path], check=False, capture_output=True
    )


@pytest.mark.guest
@pytest.mark.usefixtures("swap_in_memory")
def test_what_is_kept_stays_when_all_around_it_is_taken(cgroup: Cgroup) -> None:
    home, supervisor = a_home_below(cgroup)
    protect(home, 128 * MIB)
    assert protected_bytes(home) == 128 * MIB
    press(cgroup)
    assert int(supervisor.read("memory.current")) > HELD_MIB * MIB
    assert int(supervisor.read("memory.swap.current")) == 0


@pytest.mark.guest
@pytest.mark.usefixtures("swap_in_memory")
def test_without_it_the_supervisor_is_swapped_out_like_anybody(cgroup: Cgroup) -> None:
    """As the fleet may not swap, it would even be the first."""
    _, supervisor = a_home_below(cgroup)
    press(cgroup)
    assert int(supervisor.read("memory.swap.current")) > HELD_MIB * MIB // 2


def test_whoever_keeps_less_further_up_is_told(cgroup: Cgroup) -> None:
    home = Home(Group2(str(cgroup.path / "paddock-x")), 2, "of a test")
    home.group.ensure()
    Group2(str(cgroup.path)).hand_down()
    home.group.hand_down()
    home.supervisor.ensure()
    protect(home, 64 * MIB)
    assert in_the_way(home.supervisor.path, 64 * MIB) == [str(cgroup.path)]
    cgroup.write("memory.min", 64 * MIB)
    assert in_the_way(home.supervisor.path, 64 * MIB) == []
