"""What the kernel's cgroup v2 promises, and paddock's walls stand on."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.kit.guest_place import ROOT
from tests.kit.waiting import until
from tests.vm.cgroup import Cgroup
from tests.vm.programs import STAY, counting, forking, holding

MIB = 2**20
KILLED = -signal.SIGKILL


def test_every_controller_that_walls_need_is_handed_down(cgroup: Cgroup) -> None:
    needed = {"cpu", "io", "memory", "pids"}
    assert needed <= set((ROOT / "cgroup.subtree_control").read_text(encoding="ascii").split())
    assert needed <= set(cgroup.read("cgroup.controllers").split())


def test_who_passes_the_wall_is_killed_and_counted_and_the_neighbour_lives(
    cgroup: Cgroup,
) -> None:
    greedy, modest = cgroup.child("greedy"), cgroup.child("modest")
    for each in (greedy, modest):
        each.write("memory.max", 64 * MIB)
        each.write("memory.swap.max", 0)
    neighbour = modest.start(*STAY)
    hog = greedy.start(*holding(128))

    assert hog.wait(30) == KILLED
    assert greedy.counts("memory.events")["oom_kill"] == 1
    assert 60 * MIB < int(greedy.read("memory.peak")) <= 64 * MIB
    assert modest.counts("memory.events")["oom_kill"] == 0
    assert neighbour.poll() is None


def test_with_oom_group_the_whole_cgroup_dies_at_the_wall(cgroup: Cgroup) -> None:
    cgroup.write("memory.max", 64 * MIB)
    cgroup.write("memory.swap.max", 0)
    cgroup.write("memory.oom.group", 1)
    bystander = cgroup.start(*STAY)
    hog = cgroup.start(*holding(128))

    assert hog.wait(30) == KILLED
    assert bystander.wait(30) == KILLED
    assert cgroup.counts("memory.events")["oom_group_kill"] == 1


def test_one_write_kills_15_processes_in_sessions_of_their_own(cgroup: Cgroup) -> None:
    processes = [cgroup.start(*STAY, new_session=True) for _ in range(15)]
    until(lambda: len(cgroup.pids()) == 15, within_s=30)

    cgroup.write("cgroup.kill", 1)

    assert [process.wait(30) for process in processes] == [KILLED] * 15
    until(cgroup.is_empty, within_s=10)


def test_who_is_frozen_stands_still_until_thawed(cgroup: Cgroup, tmp_path: Path) -> None:
    number = tmp_path / "number"
    cgroup.start(*counting(number))
    until(lambda: number.exists() and number.read_text(), within_s=30)

    cgroup.write("cgroup.freeze", 1)
    until(lambda: cgroup.counts("cgroup.events")["frozen"] == 1, within_s=10)
    used, seen = cgroup.counts("cpu.stat")["usage_usec"], number.read_text()
    # Another's work is the clock: time has passed for the frozen one too.
    witness = Cgroup.fresh()
    witness.start(*counting(tmp_path / "witness"))
    until(lambda: witness.counts("cpu.stat")["usage_usec"] > 50_000, within_s=30)
    witness.remove()
    assert cgroup.counts("cpu.stat")["usage_usec"] == used
    assert number.read_text() == seen

    cgroup.write("cgroup.freeze", 0)
    until(lambda: number.read_text() not in ("", seen), within_s=30)


def test_who_is_frozen_can_be_killed_without_a_thaw(cgroup: Cgroup) -> None:
    frozen = cgroup.start(*STAY)
    until(cgroup.pids, within_s=30)
    cgroup.write("cgroup.freeze", 1)
    until(lambda: cgroup.counts("cgroup.events")["frozen"] == 1, within_s=10)

    cgroup.write("cgroup.kill", 1)

    assert frozen.wait(30) == KILLED


def test_a_fork_past_the_wall_is_refused_and_counted(cgroup: Cgroup) -> None:
    cgroup.write("pids.max", 8)
    forker = cgroup.start(*forking(20))
    assert forker.stdout

    assert forker.stdout.readline() == "7 BlockingIOError\n"
    assert cgroup.counts("pids.events")["max"] == 1
    assert len(cgroup.pids()) == 8
