"""What the kernel tells, and what agents can put into it: cgroups, /proc, its log; and a Mac's."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path

from paddock.agent import places as agent_places
from paddock.cgroups.files import number, table
from paddock.cgroups.mounts import Place, cgroups_of, directories_of, mounts, places_above
from paddock.cgroups.use import held_bytes
from paddock.cgroups.v1 import Group1
from paddock.cgroups.v2 import Group2
from paddock.drivers.container.telling import exit_in
from paddock.drivers.local.keeper import cgroups as keeper_cgroups
from paddock.drivers.victims import KernelLog
from paddock.host.macos import parse_sysctl, parse_vm_stat
from paddock.host.memory import MemoryUnreadable, read_memory
from paddock.host.pressure import read_cpus, read_load, read_paged, read_stall
from paddock.host.usage import Cores
from paddock.rescue import memory as rescue_memory
from paddock.tool import wall

from .target import a_place, target, told

V2 = (
    *("memory.max", "memory.high", "memory.current", "memory.peak", "memory.stat"),
    *("memory.events", "memory.events.local", "memory.pressure", "cpu.max", "cpu.stat"),
    *("pids.max", "pids.events", "cgroup.procs", "cgroup.events", "cgroup.controllers"),
    "cgroup.subtree_control",
)
V1_CONTROLLERS = ("memory", "pids", "cpu", "freezer")
V1 = (
    *("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.max_usage_in_bytes"),
    *("memory.oom_control", "memory.use_hierarchy", "cpuacct.usage", "cpu.cfs_quota_us"),
    *("cpu.cfs_period_us", "freezer.state"),
)


@target(
    b"max", b"anon 1\n", b"oom_kill 1\n", b"18446744073709551615", b"-1", b"9" * 30, b"\xff",
    b"total_rss 5\n",
)  # fmt: skip
def cgroup_files(data: bytes) -> None:
    """Every file of a cgroup says the same bytes: figures, or nothing, and never below zero."""
    with a_place() as place:
        for name in {*V2, *V1}:
            (place / name).write_bytes(data)
        path = str(place)
        for group in (Group2(path), Group1(dict.fromkeys(V1_CONTROLLERS, path))):
            walls, counters = group.walls(), group.counters()
            figures = [walls.limit_bytes, walls.pids, walls.cpus, group.used_bytes(), group.kills()]
            figures += [counters.oom, counters.oom_kills, counters.peak_bytes, counters.cache_bytes]
            figures += [group.cpu_s(), group.refused_forks(), group.peak_bytes()]
            assert all(figure is None or 0 <= figure < math.inf for figure in figures)
            assert all(pid > 0 for pid in group.pids())
            group.is_frozen()
        for is_v2 in (True, False):
            assert (held_bytes(path, is_v2=is_v2) or 0) >= 0
        read_stall(place / "memory.pressure")
        read_cpus(place, [Place(path, is_v2=each) for each in (True, False)])
        text = data.decode("utf-8", "surrogateescape")
        assert all(value >= 0 for value in table(text).values()) and (number(text) or 0) >= 0
        assert all(value >= 0 for value in agent_places.table(text).values())


@target(
    b"0::/", b"4:memory:/a/b\n", b"\x0c", b"\x85", b"\xe2\x80\xa8", b"\r",
    b"/paddock-x/fleet/run.1/main", b"..", b"9:name=systemd:/", b"\n",
)  # fmt: skip
def proc_cgroup(data: bytes) -> None:
    """Where a process lives, as its file says it; not what a cgroup's name only looks like."""
    with a_place() as place:
        proc = _proc(place, cgroup=data)
        said = {line.split(":", 2)[2] for line in _lines(data) if line.count(":") >= 2}
        for read in (wall._own_cgroups, agent_places._own_cgroups):  # noqa: SLF001
            assert set(read(proc).values()) <= said
        assert set(cgroups_of(proc=proc).values()) <= said
        for path in said:
            home = keeper_cgroups.home_of(path)
            assert home is None or home.endswith("/supervisor")
        directories_of(proc=proc)
        places_above("memory", root=str(place))
        agent_places.limited_place(str(place))


@target(
    b"31 24 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", b" - ", b"\x0c", b"\\040",
    b"30 23 0:25 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", b"\xe2\x80\xa8", b"\r", b"..",
    b"\n",
)  # fmt: skip
def mountinfo(data: bytes) -> None:
    with a_place() as place:
        proc = _proc(place, mountinfo=data, cgroup=b"0::/a\n4:memory:/b\n")
        lines = _lines(data)
        found = mounts(proc)
        assert len(found) <= len(lines)
        points = {_decoded((*line.split(" "), *[""] * 5)[4]) for line in lines}
        assert {mount.point for mount in found} <= points
        assert len(wall._mounts(proc)) <= len(lines)  # noqa: SLF001
        assert len(keeper_cgroups._mounts(f"{proc}/mountinfo")) == 0  # noqa: SLF001 - of `self`
        for is_v2 in places_above("memory", root=str(place)):
            assert is_v2.path.startswith(str(place))
        agent_places.limited_place(str(place))


@target(
    b"MemTotal:       16384 kB\n", b"MemAvailable:    8192 kB\n",
    b"SwapTotal: 1 kB\nSwapFree: 0 kB\n", b" kB",
    b"some avg10=1.00 avg60=0.00 avg300=0.00 total=1\n", b"pswpin 1\npswpout 1\n",
    b"0.00 0.00 0.00 1/1 1\n", b"Cpus_allowed_list:\t0-3\n", b"cpu  1 2 3 4 5 6 7 8\n", b"9" * 30,
    b"0-65535,",
)  # fmt: skip
def host_files(data: bytes) -> None:
    """Every file that a look at the host reads."""
    with a_place() as place:
        for name in ("meminfo", "vmstat", "loadavg", "stat", "self/status", "pressure/memory"):
            path = place / "proc" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        online = place / "sys/devices/system/cpu/online"
        online.parent.mkdir(parents=True)
        online.write_bytes(data)
        try:
            memory = read_memory(place, [])
            assert memory.total_bytes > 0 and (memory.used_percent or 0) >= 0
            assert 0 <= memory.swap_percent < math.inf
        except MemoryUnreadable as error:
            told(str(error))
        stall, load = read_stall(place / "proc/pressure/memory"), read_load(place)
        cpus = read_cpus(place, [])
        assert stall is None or 0 <= stall.some_percent < math.inf
        assert load is None or all(0 <= one < math.inf for one in load)
        assert cpus is None or 0 < cpus < math.inf
        read_paged(place)
        cores = Cores(place / "proc/stat")
        assert cores.busy_s() is None and (cores.busy_s() or 0) >= 0
        rescue_memory._fields(data.decode("utf-8", "surrogateescape"))


@target(
    b"(page size of 16384 bytes)\n", b"Pages free: 1.\n", b"vm.swapusage: total = 1024.00M",
    b"hw.memsize: 1\n",
)  # fmt: skip
def mac_figures(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    pages, facts = parse_vm_stat(text), parse_sysctl(text)
    assert pages.available_bytes is None or pages.available_bytes >= 0
    assert facts.total_bytes is None or facts.total_bytes > 0


@target(
    b"6,1,2,-;oom-kill:constraint=X,task_memcg=/paddock-x/fleet/run.1,task=x,pid=7,uid=0\n",
    b"pid=",
    b"3,1,2,-;Memory cgroup out of memory: Killed process 7 (x) total-vm:1kB, anon-rss:1kB",
    b"9" * 60,
)  # fmt: skip
def kernel_log(data: bytes) -> None:
    with a_place() as place:
        file = place / "kmsg"
        file.touch()
        log = KernelLog(str(file))
        try:
            file.write_bytes(data)
            found = log.victim("run.1")
            assert found is None or "process" in found
        finally:
            log.close()
        exit_in(data.decode("utf-8", "surrogateescape"))


def _proc(place: Path, **files: bytes) -> str:
    directory = place / "proc/self"
    directory.mkdir(parents=True)
    for name, data in files.items():
        (directory / name).write_bytes(data)
    return str(place / "proc")


def _lines(data: bytes) -> list[str]:
    return [line for line in os.fsdecode(data).split("\n") if line]


def _decoded(path: str) -> str:
    """mountinfo writes four signs in octal."""
    return re.sub(r"\\(040|011|012|134)", lambda found: chr(int(found[1], 8)), path)
