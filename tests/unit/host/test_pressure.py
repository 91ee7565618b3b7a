"""Stalls, paging, load and CPUs of machines made of files."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.core.units import GIB, MIB
from paddock.host.cgroups import cgroups_above
from paddock.host.memory import LinuxProbe
from paddock.host.pressure import (
    Paged,
    PagingRates,
    Stall,
    read_cpus,
    read_load,
    read_paged,
    read_stall,
    worst_stall,
)
from tests.kit.machine import Machine

STALLED = (
    "some avg10=12.53 avg60=8.75 avg300=4.41 total=5258633905\n"
    "full avg10=3.25 avg60=0.00 avg300=0.00 total=4\n"
)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.meminfo(total_kb=16 * GIB // 1024, available_kb=12 * GIB // 1024)
    return machine


def test_the_average_over_10_s_is_read(machine: Machine) -> None:
    machine.write("/proc/pressure/memory", STALLED)
    assert read_stall(machine.root / "proc/pressure/memory") == Stall(12.53, 3.25)


def test_an_older_kernel_does_not_say_when_all_tasks_wait_for_a_cpu(machine: Machine) -> None:
    machine.write("/proc/pressure/cpu", STALLED.splitlines()[0] + "\n")
    assert read_stall(machine.root / "proc/pressure/cpu") == Stall(12.53, None)


@pytest.mark.parametrize(
    "text", ["", "some\n", "full avg10=1.00 \n", "some avg10=NaN avg60=0\n", "some avg10=٤.0 x\n"]
)
def test_stalls_that_cannot_be_read_are_unknown(machine: Machine, text: str) -> None:
    machine.write("/proc/pressure/memory", text)
    assert read_stall(machine.root / "proc/pressure/memory") is None


def test_the_worst_of_the_host_and_its_cgroups_counts(machine: Machine) -> None:
    machine.write("/a", "some avg10=1.00 avg60=0\nfull avg10=0.50 avg60=0\n")
    machine.write("/b", "some avg10=9.00 avg60=0\nfull avg10=8.00 avg60=0\n")
    files = [machine.root / name for name in ("a", "b", "missing")]
    assert worst_stall(files) == Stall(9.0, 8.0)
    assert worst_stall(files[2:]) is None


def test_paging_counts_swap_and_not_written_files(machine: Machine) -> None:
    machine.write("/proc/vmstat", "pgpgout 28610220\npswpin 3\npswpout 7\nxpswpout 9\n")
    page = read_paged(machine.root)
    assert page is not None
    assert page.out_bytes * 3 == page.in_bytes * 7 > 0


@pytest.mark.parametrize("text", ["", "pswpin 3\n", "pswpin 3\npswpout many\n", "pswpout -1\n"])
def test_paging_that_is_not_told_whole_is_unknown(machine: Machine, text: str) -> None:
    machine.write("/proc/vmstat", text)
    assert read_paged(machine.root) is None


def test_the_load_is_read(machine: Machine) -> None:
    machine.write("/proc/loadavg", "1.39 1.00 133.33 2/98 21325\n")
    assert read_load(machine.root) == (1.39, 1.0, 133.33)


@pytest.mark.parametrize("text", ["", "1.0 2.0\n", "a b c d\n", "nan nan nan 1/1 1\n", "-1.0 1.0 "])
def test_a_load_that_cannot_be_read_is_unknown(machine: Machine, text: str) -> None:
    machine.write("/proc/loadavg", text)
    assert read_load(machine.root) is None


def cpus(machine: Machine, *, allowed: str = "0-7", online: str = "0-7") -> float | None:
    machine.write(
        "/proc/self/status", f"Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t{allowed}\n"
    )
    machine.write("/sys/devices/system/cpu/online", f"{online}\n")
    return read_cpus(machine.root, cgroups_above("cpu", machine.root))


def test_only_cpus_that_are_allowed_and_online_count(machine: Machine) -> None:
    assert cpus(machine, allowed="0-127", online="0-1") == 2
    assert cpus(machine, allowed="0,2-3", online="0-7") == 3


@pytest.mark.parametrize("text", ["", "x", "0-", "-1", "3-1", "0-99999999999", "0,,1", "٤"])
def test_cpus_that_cannot_be_read_are_unknown(machine: Machine, text: str) -> None:
    assert cpus(machine, allowed=text) is None
    assert cpus(machine, online=text) is None


def test_without_proc_the_cpus_are_unknown(tmp_path: Path) -> None:
    assert read_cpus(tmp_path, []) is None


def test_the_smallest_v2_quota_on_the_way_up_counts(machine: Machine) -> None:
    machine.v2("/a/b")
    machine.write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n")
    machine.write("/sys/fs/cgroup/a/cpu.max", "150000 100000\n")
    assert cpus(machine) == 1.5


def test_a_v1_quota_counts_as_a_v2_quota_does(machine: Machine) -> None:
    machine.write("/proc/self/cgroup", "3:cpu,cpuacct:/user\n4:memory:/elsewhere\n")
    mount = "35 24 0:31 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    machine.write("/proc/self/mountinfo", mount)
    for directory, quota in (("", -1), ("/user", 250000)):
        machine.write(f"/sys/fs/cgroup/cpu{directory}/cpu.cfs_quota_us", f"{quota}\n")
        machine.write(f"/sys/fs/cgroup/cpu{directory}/cpu.cfs_period_us", "100000\n")
    assert cpus(machine) == 2.5


@pytest.mark.parametrize("text", ["", "max", "100000", "0 100000", "5 0", "a b", "1 2 3"])
def test_a_quota_that_is_none_narrows_nothing(machine: Machine, text: str) -> None:
    machine.v2("/a")
    machine.write("/sys/fs/cgroup/a/cpu.max", text)
    assert cpus(machine) == 8


def test_a_quota_above_the_cpus_adds_none(machine: Machine) -> None:
    machine.v2("/a")
    machine.write("/sys/fs/cgroup/a/cpu.max", "6400000 100000\n")
    assert cpus(machine) == 8


def test_rates_are_between_two_looks() -> None:
    rates = PagingRates()
    assert rates.look(Paged(0, 0), at=10.0).out_bytes_per_s is None
    paging = rates.look(Paged(3 * MIB, 1 * MIB), at=12.0)
    assert (paging.out_bytes_per_s, paging.in_bytes_per_s) == (1.5 * MIB, 0.5 * MIB)


def test_a_look_that_failed_begins_the_rates_anew() -> None:
    rates = PagingRates()
    rates.look(Paged(0, 0), at=1.0)
    assert rates.look(None, at=2.0).out_bytes_per_s is None
    assert rates.look(Paged(10 * GIB, 0), at=3.0).out_bytes_per_s is None


@pytest.mark.parametrize(("out", "at"), [(5, 1.0), (5, 0.5), (0, 2.0)])
def test_no_time_between_looks_or_less_than_before_is_no_rate(out: int, at: float) -> None:
    rates = PagingRates()
    rates.look(Paged(1, 1), at=1.0)
    assert rates.look(Paged(out, 1), at=at).out_bytes_per_s is None


def rising(bytes_per_s: list[int], every_s: float = 1.0) -> list[bool]:
    rates, out, found = PagingRates(), 0, []
    rates.look(Paged(0, 0), at=0.0)
    for number, rate in enumerate(bytes_per_s, start=1):
        out += int(rate * every_s)
        found.append(rates.look(Paged(out, 0), at=number * every_s).rising)
    return found


def test_page_outs_that_begin_are_rising_and_those_that_go_on_are_not() -> None:
    found = rising([0] * 5 + [50 * MIB] * 60)
    assert not any(found[:5])
    assert all(found[5:10])
    assert not any(found[45:])


def test_page_outs_that_double_are_rising_again() -> None:
    assert any(rising([50 * MIB] * 60 + [200 * MIB] * 5)[60:])


def test_page_outs_that_end_are_not_rising() -> None:
    assert not any(rising([50 * MIB] * 60 + [0] * 20)[60:])


def test_a_single_small_burst_is_not_rising() -> None:
    assert not any(rising([0, 0, 2 * MIB, 0, 0]))


def test_looking_more_often_does_not_change_what_rises() -> None:
    assert any(rising([50 * MIB] * 40, every_s=0.05))
    assert not any(rising([50 * MIB] * 1200, every_s=0.05)[900:])


@given(st.lists(st.integers(0, MIB), max_size=50), st.floats(0.05, 5.0))
def test_a_trickle_never_rises(rates: list[int], every_s: float) -> None:
    assert not any(rising(rates, every_s))


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_probe_tells_the_core_of_stalls_and_rising_page_outs(machine: Machine) -> None:
    clock = Clock()
    machine.write("/proc/pressure/memory", STALLED)
    machine.write("/proc/vmstat", "pswpin 0\npswpout 0\n")
    probe = LinuxProbe(machine.root, clock=clock)
    first = probe.sample()
    assert (first.memory_stall_percent, first.pageouts_rising) == (3.25, False)
    machine.write("/proc/vmstat", "pswpin 0\npswpout 99999\n")
    clock.now = 1.0
    assert probe.sample().pageouts_rising


def test_the_probe_takes_the_stalls_of_the_cgroup_that_limits_it(machine: Machine) -> None:
    machine.v2("/a/b")
    machine.limit_v2("/sys/fs/cgroup/a", 4 * GIB)
    machine.write("/sys/fs/cgroup/a/memory.pressure", STALLED)
    machine.write("/proc/pressure/memory", STALLED.replace("3.25", "0.00"))
    assert LinuxProbe(machine.root).sample().memory_stall_percent == 3.25


def test_signals_that_a_host_does_not_have_press_nobody(machine: Machine) -> None:
    readings = LinuxProbe(machine.root).read()
    assert (readings.memory_stall, readings.cpu_stall, readings.load) == (None, None, None)
    assert (readings.paging.out_bytes_per_s, readings.cpus) == (None, None)
    assert (readings.memory.swap_total_bytes, readings.memory.swap_used_bytes) == (None, None)
    host = readings.host()
    assert (host.memory_stall_percent, host.pageouts_rising, host.swap_percent) == (0.0, False, 0.0)


def test_a_host_that_does_not_say_what_of_its_swap_is_free_does_not_look_full(
    machine: Machine,
) -> None:
    machine.write("/proc/meminfo", "MemTotal: 100 kB\nMemAvailable: 50 kB\nSwapTotal: 200 kB\n")
    memory = LinuxProbe(machine.root).read().memory
    assert (memory.swap_total_bytes, memory.swap_used_bytes) == (200 * 1024, None)
    assert memory.swap_percent == 0.0


def test_the_probe_follows_a_move_to_another_cgroup(machine: Machine) -> None:
    machine.v2("/a")
    machine.limit_v2("/sys/fs/cgroup/b", 2 * GIB)
    probe = LinuxProbe(machine.root)
    assert probe.sample().total_bytes == 16 * GIB
    machine.write("/proc/self/cgroup", "0::/b\n")
    assert probe.sample().total_bytes == 2 * GIB


def test_the_limits_stay_while_the_own_cgroup_cannot_be_read(machine: Machine) -> None:
    machine.v2("/a")
    machine.limit_v2("/sys/fs/cgroup/a", 2 * GIB)
    probe = LinuxProbe(machine.root)
    (machine.root / "proc/self/cgroup").unlink()
    assert probe.sample().total_bytes == 2 * GIB
