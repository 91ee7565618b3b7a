"""The kernel's signs of pressure: PSI triggers, memory.high and what swap in memory can win."""

from __future__ import annotations

import os
import select

import pytest

from tests.kit.waiting import until
from tests.vm.cgroup import Cgroup
from tests.vm.programs import holding

MIB = 2**20


def test_a_trigger_wakes_us_when_a_cgroup_stalls_for_memory(cgroup: Cgroup) -> None:
    cgroup.write("memory.swap.max", 0)
    cgroup.write("memory.high", 24 * MIB)
    trigger = os.open(cgroup.path / "memory.pressure", os.O_RDWR | os.O_NONBLOCK)
    try:
        # The kernel wants the NUL; without it the last digit of the window is lost.
        os.write(trigger, b"some 150000 2000000\0")
        poll = select.poll()
        poll.register(trigger, select.POLLPRI)
        assert poll.poll(0) == []
        # Without swap the memory cannot go anywhere: a near stop, and no OOM.
        cgroup.start(*holding(64))
        assert poll.poll(60_000) == [(trigger, select.POLLPRI)]
    finally:
        os.close(trigger)
    assert cgroup.counts("memory.events")["high"] > 0
    assert cgroup.counts("memory.events")["oom_kill"] == 0


@pytest.mark.guest
@pytest.mark.usefixtures("swap_in_memory")
def test_reclaim_takes_the_memory_of_an_idle_process_into_swap(cgroup: Cgroup) -> None:
    idle = cgroup.start(*holding(80))
    assert idle.stdout and idle.stdout.readline() == "holding\n"
    assert int(cgroup.read("memory.current")) > 80 * MIB

    cgroup.write("memory.reclaim", 70 * MIB)

    until(lambda: int(cgroup.read("memory.current")) < 20 * MIB, within_s=30)
    assert int(cgroup.read("memory.swap.current")) > 60 * MIB
    assert idle.poll() is None
