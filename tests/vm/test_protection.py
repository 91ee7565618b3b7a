"""Memory kept for daemon and keeper: what the kernel takes from others first, and from whom."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from paddock.cgroups.home import Home
from paddock.cgroups.protection import in_the_way, protect, protected_bytes
from paddock.cgroups.v2 import Group2
from paddock.drivers.local.containment.choosing import read_home
from tests.kit.house import a_house
from tests.kit.waiting import until
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


def test_a_daemon_keeps_memory_for_itself_and_the_doctor_says_so(tmp_path: Path) -> None:
    with a_house(tmp_path) as house:
        until(lambda: house.paddock("daemon", "start").returncode == 0, within_s=60)
        told = house.told("doctor")
        assert told["guarantees"]["keeps_daemon_memory"] is True, told
        assert [each for each in told["problems"] if each["name"] == "daemon memory"] == []


@pytest.mark.systemd
def test_in_a_scope_the_doctor_says_what_is_missing_and_what_mends_it(tmp_path: Path) -> None:
    with a_house(tmp_path) as house:
        until(lambda: house.paddock("daemon", "start").returncode == 0, within_s=60)
        told = house.told("doctor")
        (hint,) = [each for each in told["problems"] if each["name"] == "daemon memory"]
        assert hint["level"] == "hint"
        assert hint["mend"] == "systemctl set-property system.slice MemoryMin=128M"
        home = read_home(house.places.keeper)
        assert home is not None
        kept = protected_bytes(home)
        assert len(in_the_way(home.supervisor.path, kept)) == 1, house.log()  # not the scope
        subprocess.run(hint["mend"].split(), check=True, timeout=60)
        assert in_the_way(home.supervisor.path, kept) == []
