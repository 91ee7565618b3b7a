"""The effective memory of machines made of files: bare, containers, v1, v2, hybrid, broken."""

from pathlib import Path

import pytest

from paddock.core.units import GIB, MIB
from paddock.host.memory import LinuxProbe, MemoryUnreadable, read_memory
from tests.kit.machine import V1_UNLIMITED, Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.meminfo(total_kb=16 * GIB // 1024, available_kb=12 * GIB // 1024)
    return machine


def test_without_cgroups_the_ram_is_the_total(machine: Machine) -> None:
    memory = read_memory(machine.root)
    assert (memory.total_bytes, memory.available_bytes) == (16 * GIB, 12 * GIB)
    assert memory.used_percent == 25.0
    assert memory.limited_by is None


def test_the_smallest_limit_on_the_way_up_is_the_total(machine: Machine) -> None:
    machine.v2("/a/b")
    machine.limit_v2("/sys/fs/cgroup/a/b", 8 * GIB, anon=1 * GIB)
    machine.limit_v2("/sys/fs/cgroup/a", 4 * GIB, anon=3 * GIB - 5)
    memory = read_memory(machine.root)
    assert memory.total_bytes == 4 * GIB
    assert memory.available_bytes == 1 * GIB
    assert memory.used_percent == 75.0
    assert memory.limited_by == machine.root / "sys/fs/cgroup/a"


def test_a_container_sees_its_own_limit_at_the_mount_point(machine: Machine) -> None:
    machine.v2("/")
    machine.limit_v2("/sys/fs/cgroup", 2 * GIB)
    assert read_memory(machine.root).total_bytes == 2 * GIB


@pytest.mark.parametrize("own", ["/docker/abc", "/docker/abc/child", "/../outside", "/other"])
def test_a_host_path_inside_a_container_is_found_at_the_mount_point(
    machine: Machine, own: str
) -> None:
    machine.v1(own, mounted_from="/docker/abc")
    machine.limit_v1("/sys/fs/cgroup/memory", 3 * GIB)
    assert read_memory(machine.root).total_bytes == 3 * GIB


def test_v1_limits_count_as_v2_limits_do(machine: Machine) -> None:
    machine.v1("/user/me")
    machine.limit_v1("/sys/fs/cgroup/memory", V1_UNLIMITED)
    machine.limit_v1("/sys/fs/cgroup/memory/user", 6 * GIB, rss=2 * GIB - 3)
    memory = read_memory(machine.root)
    assert (memory.total_bytes, memory.available_bytes) == (6 * GIB, 4 * GIB)


def test_on_a_hybrid_host_both_hierarchies_are_read(machine: Machine) -> None:
    machine.v1("/x")
    machine.v2("/y", at="/sys/fs/cgroup/unified")
    machine.limit_v1("/sys/fs/cgroup/memory/x", 6 * GIB)
    machine.limit_v2("/sys/fs/cgroup/unified/y", 5 * GIB)
    assert read_memory(machine.root).total_bytes == 5 * GIB


def test_a_mount_point_with_a_space_is_found(machine: Machine) -> None:
    machine.v2("/", at="/mnt/my\\040cgroups")
    machine.limit_v2("/mnt/my cgroups", 2 * GIB)
    assert read_memory(machine.root).total_bytes == 2 * GIB


@pytest.mark.parametrize("limit", ["max", "", "garbage", "-1", "0", "9" * 5000, 17 * GIB, "٤"])
def test_what_limits_nothing_is_passed_over(machine: Machine, limit: object) -> None:
    machine.v2("/a")
    machine.limit_v2("/sys/fs/cgroup/a", limit)
    memory = read_memory(machine.root)
    assert (memory.total_bytes, memory.limited_by) == (16 * GIB, None)


def test_a_limit_whose_use_is_unknown_leaves_the_use_unknown(machine: Machine) -> None:
    machine.v2("/a")
    machine.limit_v2("/sys/fs/cgroup/a", 4 * GIB, anon=None)
    memory = read_memory(machine.root)
    assert memory.total_bytes == 4 * GIB
    assert (memory.available_bytes, memory.used_percent) == (None, None)


@pytest.mark.parametrize("text", ["", "0::", "x", "1:2", "0::relative\n", ":::\n", "\0\n"])
def test_garbage_in_proc_self_cgroup_does_no_harm(machine: Machine, text: str) -> None:
    machine.v2("/a")
    machine.write("/proc/self/cgroup", text)
    assert read_memory(machine.root).total_bytes == 16 * GIB


@pytest.mark.parametrize("text", ["", "x\n", "1 2 3 - cgroup2\n", "a b c d e - cgroup c\n", " - "])
def test_garbage_in_mountinfo_does_no_harm(machine: Machine, text: str) -> None:
    machine.v2("/a")
    machine.write("/proc/self/mountinfo", text)
    assert read_memory(machine.root).total_bytes == 16 * GIB


@pytest.mark.parametrize("text", ["", "MemTotal: many kB\n", "MemTotal: 0 kB\n", "MemTotal\n"])
def test_a_machine_that_does_not_say_its_size_is_an_error(tmp_path: Path, text: str) -> None:
    Machine(tmp_path).write("/proc/meminfo", text)
    with pytest.raises(MemoryUnreadable, match="does not say MemTotal"):
        read_memory(tmp_path)


def test_a_machine_without_proc_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(MemoryUnreadable, match="proc/meminfo: No such file"):
        read_memory(tmp_path)


def test_swap_in_use_is_told_in_percent(machine: Machine) -> None:
    machine.write("/proc/meminfo", "MemTotal: 100 kB\nSwapTotal: 200 kB\nSwapFree: 50 kB\n")
    memory = read_memory(machine.root)
    assert memory.swap_percent == 75.0
    assert (memory.available_bytes, memory.used_percent) == (None, None)


def test_the_probe_fails_closed_when_memory_cannot_be_read_any_more(machine: Machine) -> None:
    probe = LinuxProbe(machine.root)
    assert probe.sample().used_percent == 25.0
    (machine.root / "proc/meminfo").unlink()
    host = probe.sample()
    assert (host.used_percent, host.available_bytes, host.total_bytes) == (None, None, 16 * GIB)


def test_the_probe_follows_a_limit_that_is_set_while_it_lives(machine: Machine) -> None:
    machine.v2("/a")
    probe = LinuxProbe(machine.root)
    machine.limit_v2("/sys/fs/cgroup/a", 512 * MIB)
    assert probe.sample().total_bytes == 512 * MIB


def test_a_glance_tells_what_is_left_here_or_in_a_cgroup_above(machine: Machine) -> None:
    probe = LinuxProbe(machine.root)
    last = probe.sample()
    machine.meminfo(total_kb=16 * GIB // 1024, available_kb=GIB // 1024)
    assert probe.glance(last) == probe.sample()
    machine.v2("/service")
    machine.limit_v2("/sys/fs/cgroup/service", 2 * GIB, anon=2 * GIB - 300 * MIB)
    probe = LinuxProbe(machine.root)
    glanced = probe.glance(last)
    assert glanced is not None
    assert (glanced.available_bytes, glanced.total_bytes) == (300 * MIB - 5, last.total_bytes)
    (machine.root / "proc/meminfo").unlink()
    assert probe.glance(last) is None  # a look says what is wrong
