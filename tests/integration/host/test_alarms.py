"""The kernel of this machine rings: stalls, v2 event files, v1 eventfds."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from paddock.core.units import MIB
from paddock.host.triggers import Alarm, AlarmKind, Alarms
from tests.integration.host.cgroups import OwnCgroup

pytestmark = pytest.mark.usefixtures("no_leak")

# Long enough for a loaded machine of two cores. Each ends by itself should a test be killed.
WITHIN_S = 30.0
SPIN = "import time\nend = time.monotonic() + 40\nwhile time.monotonic() < end: pass"
# Takes memory when it reads a line, and keeps it until its input ends.
TAKE = """
import sys
sys.stdout.write("ready\\n"); sys.stdout.flush()
for line in sys.stdin:
    taken = bytearray(int(line)); taken[::4096] = b"x" * len(taken[::4096])
    sys.stdout.write("taken\\n"); sys.stdout.flush()
"""
# Reads a file that is larger than its limit, over and over: its pages go and come back.
READ_AGAIN = """
import sys, time
end = time.monotonic() + 40
while time.monotonic() < end:
    with open(sys.argv[1], "rb", buffering=0) as file:
        while file.read(1 << 20): pass
"""


class Ears:
    """Gathers what rings."""

    def __init__(self) -> None:
        self.heard: list[Alarm] = []
        self._news = asyncio.Event()

    def ring(self, alarm: Alarm) -> None:
        self.heard.append(alarm)
        self._news.set()

    async def hear(self, alarm: Alarm | None, within_s: float = WITHIN_S) -> None:
        """Until it rings; what rang before does not count."""
        assert alarm is not None
        self.heard.clear()
        async with asyncio.timeout(within_s):
            while alarm not in self.heard:
                self._news.clear()
                await self._news.wait()


def listening(work: Callable[[Alarms, Ears], Awaitable[None]]) -> None:
    async def live() -> None:
        ears = Ears()
        alarms = Alarms(ears.ring)
        try:
            await work(alarms, ears)
        finally:
            alarms.close()

    asyncio.run(live())


def uncached(file: Path) -> Path:
    """96 MiB on the disk only: pages in memory would be ours, and the cgroup's limit not theirs."""
    with file.open("wb") as out:
        out.write(b"x" * 96 * MIB)
        os.fsync(out.fileno())
        os.posix_fadvise(out.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return file


@contextlib.contextmanager
def changed(file: Path) -> Iterator[None]:
    """Until the kernel has told of a change: once in 10 ms at most, and never after a removal."""
    with file.open("rb", buffering=0) as events:
        events.read()
        yield
        told = select.poll()
        told.register(events, select.POLLPRI)
        assert told.poll(WITHIN_S * 1000)


def test_a_stall_rings_with_the_window_that_the_kernel_takes(v2_cgroup: OwnCgroup) -> None:
    async def work(alarms: Alarms, ears: Ears) -> None:
        alarm = alarms.add_stall(v2_cgroup.path / "cpu.pressure")
        assert alarm is not None
        assert alarm.window_s in (1.0, 2.0)
        for _ in range(2 + len(os.sched_getaffinity(0))):
            v2_cgroup.start(SPIN)
        # Twice: being told must not use the trigger up.
        await ears.hear(alarm)
        await ears.hear(alarm)
        v2_cgroup.end()

    listening(work)


def test_two_stalls_are_told_apart(v2_cgroup: OwnCgroup) -> None:
    async def work(alarms: Alarms, ears: Ears) -> None:
        calm = alarms.add_stall(v2_cgroup.path / "io.pressure")
        busy = alarms.add_stall(v2_cgroup.path / "cpu.pressure")
        assert calm is not None
        for _ in range(2 + len(os.sched_getaffinity(0))):
            v2_cgroup.start(SPIN)
        await ears.hear(busy)
        assert calm not in ears.heard

    listening(work)


def test_the_memory_stalls_of_the_whole_host_can_be_asked_for() -> None:
    async def work(alarms: Alarms, _: Ears) -> None:
        alarm = alarms.add_stall(Path("/proc/pressure/memory"))
        assert alarm is not None
        assert alarms.watched == {alarm}

    listening(work)


def test_a_cgroup_that_reads_what_it_cannot_keep_rings_the_hosts_stall(
    v1_cgroup: OwnCgroup, tmp_path: Path
) -> None:
    file = uncached(tmp_path / "large")
    v1_cgroup.write("memory.limit_in_bytes", str(24 * MIB))

    async def work(alarms: Alarms, ears: Ears) -> None:
        alarm = alarms.add_stall(Path("/proc/pressure/memory"))
        for _ in range(3):
            v1_cgroup.start(READ_AGAIN, str(file))
        await ears.hear(alarm)
        v1_cgroup.end()

    listening(work)


@pytest.mark.parametrize("name", ["missing", "directory"])
def test_a_stall_that_nobody_tells_is_no_alarm(tmp_path: Path, name: str) -> None:
    (tmp_path / "directory").mkdir()

    async def work(alarms: Alarms, _: Ears) -> None:
        assert alarms.add_stall(tmp_path / name) is None
        assert alarms.watched == frozenset()

    listening(work)


def test_a_plain_file_is_no_stall(tmp_path: Path) -> None:
    """A file that takes the line as text must not look like a trigger: epoll refuses it."""
    file = tmp_path / "memory.pressure"
    file.touch()

    async def work(alarms: Alarms, _: Ears) -> None:
        assert alarms.add_stall(file) is None

    listening(work)


def test_an_event_file_rings_at_each_change(v2_cgroup: OwnCgroup) -> None:
    async def work(alarms: Alarms, ears: Ears) -> None:
        alarm = alarms.add_events(v2_cgroup.path / "cgroup.events")
        process = v2_cgroup.start(TAKE)
        await ears.hear(alarm)
        assert process.poll() is None
        v2_cgroup.end()
        await ears.hear(alarm)

    listening(work)


def test_an_event_file_that_changed_and_is_gone_rings_once_and_is_forgotten(
    v2_cgroup: OwnCgroup,
) -> None:
    async def work(alarms: Alarms, ears: Ears) -> None:
        alarm = alarms.add_events(v2_cgroup.path / "cgroup.events")
        v2_cgroup.start(TAKE)
        await ears.hear(alarm)
        with changed(v2_cgroup.path / "cgroup.events"):
            v2_cgroup.end()
        v2_cgroup.remove()
        await ears.hear(alarm)
        assert alarms.watched == frozenset()

    listening(work)


def test_an_event_file_of_a_removed_cgroup_can_be_taken_back(v2_cgroup: OwnCgroup) -> None:
    async def work(alarms: Alarms, _: Ears) -> None:
        alarm = alarms.add_events(v2_cgroup.path / "cgroup.events")
        v2_cgroup.remove()
        assert alarm is not None
        alarms.remove(alarm)
        assert alarms.watched == frozenset()

    listening(work)


def test_a_stall_of_a_removed_cgroup_is_forgotten(v2_cgroup: OwnCgroup) -> None:
    async def work(alarms: Alarms, ears: Ears) -> None:
        alarm = alarms.add_stall(v2_cgroup.path / "cpu.pressure")
        v2_cgroup.remove()
        await ears.hear(alarm)
        assert alarms.watched == frozenset()

    listening(work)


def test_a_cgroup_that_is_out_of_memory_rings(v1_cgroup: OwnCgroup) -> None:
    v1_cgroup.write("memory.limit_in_bytes", str(48 * MIB))

    async def work(alarms: Alarms, ears: Ears) -> None:
        process = v1_cgroup.start(TAKE)
        alarm = alarms.add_oom(v1_cgroup.path)
        assert process.stdin
        process.stdin.write(b"%d\n" % (96 * MIB))
        process.stdin.flush()
        await ears.hear(alarm)

    listening(work)


def test_a_removed_v1_cgroup_rings_and_is_forgotten(v1_cgroup: OwnCgroup) -> None:
    async def work(alarms: Alarms, ears: Ears) -> None:
        alarm = alarms.add_oom(v1_cgroup.path)
        v1_cgroup.remove()
        await ears.hear(alarm)
        assert alarms.watched == frozenset()

    listening(work)


def test_what_a_machine_does_not_have_is_no_alarm(tmp_path: Path) -> None:
    async def work(alarms: Alarms, _: Ears) -> None:
        assert alarms.add_events(tmp_path / "memory.events") is None
        assert alarms.add_oom(tmp_path) is None

    listening(work)


def test_a_removed_alarm_does_not_ring_and_the_others_do(
    v1_cgroup: OwnCgroup, v2_cgroup: OwnCgroup
) -> None:
    async def work(alarms: Alarms, ears: Ears) -> None:
        removed = alarms.add_oom(v1_cgroup.path)
        other = alarms.add_stall(v2_cgroup.path / "cpu.pressure")
        assert removed is not None
        alarms.remove(removed)
        alarms.remove(removed)
        assert alarms.watched == {other}
        v1_cgroup.remove()
        v2_cgroup.remove()
        await ears.hear(other)
        assert removed not in ears.heard

    listening(work)


def test_alarms_may_be_closed_by_what_they_ring(v1_cgroup: OwnCgroup) -> None:
    async def live() -> None:
        rung = asyncio.Event()

        def ring(alarm: Alarm) -> None:
            assert alarm.kind is AlarmKind.OOM
            alarms.close()
            rung.set()

        alarms = Alarms(ring)
        for _ in range(3):
            alarms.add_oom(v1_cgroup.path)
        v1_cgroup.remove()
        async with asyncio.timeout(WITHIN_S):
            await rung.wait()
        alarms.close()

    asyncio.run(live())
