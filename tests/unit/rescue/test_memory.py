"""What rescue reads of a machine is what the daemon's probe reads of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from paddock.host.memory import read_memory
from paddock.rescue.memory import Gauge, Reading, Unreadable
from tests.kit.machine import V1_UNLIMITED, Machine

GIB = 2**30


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.meminfo(total_kb=16 * 2**20, available_kb=12 * 2**20)
    return machine


def bare(machine: Machine) -> None:
    del machine


def v2_limited(machine: Machine) -> None:
    machine.v2("/a/b")
    machine.limit_v2("/sys/fs/cgroup/a", 4 * GIB, anon=3 * GIB)
    machine.limit_v2("/sys/fs/cgroup/a/b", "max", anon=GIB)


def v1_limited(machine: Machine) -> None:
    machine.v1("/a/b")
    machine.limit_v1("/sys/fs/cgroup/memory/a", 8 * GIB, rss=7 * GIB)
    machine.limit_v1("/sys/fs/cgroup/memory/a/b", 6 * GIB, rss=GIB)
    machine.limit_v1("/sys/fs/cgroup/memory", V1_UNLIMITED)


def both(machine: Machine) -> None:
    v1_limited(machine)
    machine.v2("/", at="/sys/fs/cgroup/unified")


def a_container(machine: Machine) -> None:
    machine.v2("/outside/of/it", mounted_from="/docker/x")
    machine.limit_v2("/sys/fs/cgroup", 2 * GIB, anon=GIB)


def unreadable(machine: Machine) -> None:
    machine.v2("/a")
    machine.limit_v2("/sys/fs/cgroup/a", 4 * GIB, anon=None)


@pytest.mark.parametrize("build", [bare, v2_limited, v1_limited, both, a_container, unreadable])
def test_it_reads_what_the_daemon_reads(machine: Machine, build: Callable[[Machine], None]) -> None:
    build(machine)
    expected = read_memory(machine.root)
    assert Gauge(root=str(machine.root)).look() == Reading(
        expected.total_bytes, expected.available_bytes, expected.used_percent
    )


def test_what_limits_the_fleet_counts_and_not_what_limits_us(machine: Machine) -> None:
    machine.v1("/user/session")
    machine.limit_v1("/sys/fs/cgroup/memory/user", GIB, rss=GIB - 4096)
    machine.limit_v1("/sys/fs/cgroup/memory/service", 4 * GIB, rss=2 * GIB)
    machine.limit_v1("/sys/fs/cgroup/memory/service/paddock-x", V1_UNLIMITED, rss=GIB)
    gauge = Gauge("/sys/fs/cgroup/memory/service/paddock-x", root=str(machine.root))
    assert gauge.look().total_bytes == 4 * GIB
    assert gauge.look().used_percent == 50.0


def test_a_limit_that_is_set_while_it_watches_counts(machine: Machine) -> None:
    v2_limited(machine)
    gauge = Gauge(root=str(machine.root))
    machine.limit_v2("/sys/fs/cgroup/a/b", 2 * GIB, anon=GIB)
    assert gauge.look().total_bytes == 2 * GIB


def test_a_machine_that_does_not_say_its_size_cannot_be_rescued(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="does not say MemTotal"):
        Gauge(root=str(tmp_path))


def test_use_that_cannot_be_read_any_more_is_unknown(machine: Machine) -> None:
    gauge = Gauge(root=str(machine.root))
    machine.write("/proc/meminfo", "")
    assert gauge.look() == Reading(16 * GIB, None, None)
