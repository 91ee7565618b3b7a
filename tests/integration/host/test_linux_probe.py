"""The probe on the machine that the tests run on, and in a cgroup that narrows it."""

from __future__ import annotations

import json
import os

from paddock.core.units import MIB
from paddock.host.memory import LinuxProbe
from tests.integration.host.cgroups import OwnCgroup
from tests.kit import leaks

# What a process in a cgroup finds, on one line.
LOOK = """
import json
from paddock.host.memory import LinuxProbe
memory = LinuxProbe().read().memory
print(json.dumps([memory.total_bytes, memory.available_bytes, str(memory.limited_by)]))
"""


def test_this_machine_tells_what_every_linux_tells() -> None:
    readings = LinuxProbe().read()
    memory = readings.memory
    assert memory.available_bytes is not None
    assert 0 < memory.available_bytes < memory.total_bytes <= memory.physical_bytes
    assert memory.used_percent is not None
    assert 0 < memory.used_percent < 100
    assert readings.load is not None
    assert readings.cpus is not None
    assert 0 < readings.cpus <= len(os.sched_getaffinity(0))


def test_a_second_look_has_rates() -> None:
    probe = LinuxProbe()
    assert probe.read().paging.out_bytes_per_s is None
    paging = probe.read().paging
    assert paging.out_bytes_per_s is not None
    assert paging.in_bytes_per_s is not None


def test_a_process_in_a_limited_cgroup_sees_the_limit_as_the_machine(v1_cgroup: OwnCgroup) -> None:
    v1_cgroup.write("memory.limit_in_bytes", str(256 * MIB))
    process = v1_cgroup.start(LOOK)
    assert process.stdout is not None
    total, available, limited_by = json.loads(process.stdout.readline())
    assert (total, limited_by) == (256 * MIB, str(v1_cgroup.path))
    assert 0 < available < 256 * MIB


def test_looking_leaves_no_descriptor_open() -> None:
    probe = LinuxProbe()
    before = leaks.descriptors()
    for _ in range(3):
        probe.sample()
    assert leaks.descriptors() == before
