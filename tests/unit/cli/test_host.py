"""`paddock host show` as people and scripts see it."""

import os
from pathlib import Path

import pytest

from paddock.cli.host import as_object, by_default_policy, lines, two_looks
from paddock.cli.main import main
from paddock.core.units import GIB
from paddock.host.memory import LinuxProbe, Memory, Readings
from paddock.host.pressure import Paging, Stall
from tests.kit.machine import Machine
from tests.unit.cli.conftest import Paddock

KEYS = {
    *("total_bytes", "available_bytes", "used_percent", "physical_bytes", "limited_by"),
    *("swap_total_bytes", "swap_used_bytes", "pageout_bytes_per_s", "swapin_bytes_per_s"),
    *("memory_some_percent", "memory_full_percent", "cpu_some_percent", "load", "cpus"),
    *("ladder", "because"),
}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.meminfo(total_kb=16 * GIB // 1024, available_kb=12 * GIB // 1024)
    return machine


def shown(machine: Machine, width: int | None = None) -> list[str]:
    readings = two_looks(LinuxProbe(machine.root))
    ladder = by_default_policy(readings)
    return [line.rstrip() for line in lines(readings, ladder, width=width, colour=False)]


def test_it_shows_this_machine_without_a_daemon(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["host", "show"]) == 0
    out = capsys.readouterr().out
    names = [line[:9].strip() for line in out.splitlines()]
    wanted = ["memory", "limit", "swap", "paging", "stalls", "load", "cpus", "ladder"]
    assert names == wanted


def test_the_json_has_the_keys_scripts_rely_on(paddock: Paddock) -> None:
    called = paddock("host", "show", "--json")
    assert (called.code, called.err) == (0, "")
    assert set(called.json) == KEYS
    assert called.json["total_bytes"] >= called.json["available_bytes"] > 0
    assert called.json["cpus"] <= (os.cpu_count() or 1)


def test_a_machine_that_tells_little_is_shown_as_far_as_it_goes(machine: Machine) -> None:
    assert shown(machine) == [
        "   memory  12 GiB of 16 GiB available, 25 % used",
        "    limit  none: all of the machine's memory counts",
        "     swap  cannot be read here",
        "   paging  cannot be read here",
        "   stalls  cannot be read here",
        "     load  cannot be read here",
        "     cpus  cannot be read here",
        "   ladder  calm",
    ]


def test_the_cgroup_that_limits_is_named_and_the_step_says_why(machine: Machine) -> None:
    machine.v2("/a")
    machine.limit_v2("/sys/fs/cgroup/a", 8 * GIB, anon=7 * GIB)
    found = shown(machine)
    assert found[0] == "   memory  1 GiB of 8 GiB available, 88 % used"
    path = machine.root / "sys/fs/cgroup/a"
    assert found[1] == f"    limit  {path}, of the machine's 16 GiB"
    assert found[-1] == "   ladder  preempt: host memory at 88 % (step at 85 %)"


def test_everything_a_pressed_host_tells_is_shown() -> None:
    readings = Readings(
        memory=Memory(
            physical_bytes=16 * GIB,
            total_bytes=16 * GIB,
            available_bytes=8 * GIB,
            used_percent=50.0,
            swap_total_bytes=4 * GIB,
            swap_used_bytes=3 * GIB,
        ),
        memory_stall=Stall(20.5, 4.0),
        cpu_stall=Stall(33.0, None),
        paging=Paging(2048.0, 1024.4, rising=False),
        load=(1.5, 2.25, 3.0),
        cpus=1.5,
    )
    found = list(lines(readings, by_default_policy(readings), width=None, colour=False))
    assert found[2:] == [
        "     swap  3 GiB of 4 GiB used, 75 %",
        "   paging  2 KiB/s out, 1 KiB/s in",
        "   stalls  on memory some tasks 20.5 % of the time, all tasks 4 %; on CPU some tasks 33 %",
        "     load  1.50 over 1 min, 2.25 over 5, 3.00 over 15",
        "     cpus  1.5",
        "   ladder  queue: swap is 75 % full",
    ]


def test_a_host_without_swap_says_none(machine: Machine) -> None:
    machine.write("/proc/meminfo", "MemTotal: 100 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n")
    found = shown(machine)
    assert found[0] == "   memory  100 KiB, of which the use cannot be read here"
    assert found[2] == "     swap  none"
    assert found[-1] == "   ladder  queue: the host's memory cannot be read"


def test_what_cannot_be_read_is_null_in_json(machine: Machine) -> None:
    readings = LinuxProbe(machine.root).read()
    found = as_object(readings, by_default_policy(readings))
    unknown = {key for key, value in found.items() if value is None}
    assert unknown == KEYS - {
        *("total_bytes", "available_bytes", "used_percent", "physical_bytes"),
        *("ladder", "because"),
    }


def test_nothing_is_wider_than_the_terminal(machine: Machine) -> None:
    machine.v2("/a")
    machine.limit_v2("/sys/fs/cgroup/a", 8 * GIB, anon=7 * GIB)
    assert max(map(len, shown(machine, width=40))) <= 40


def test_host_alone_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["host", "nonsense"]) == 2
    assert "nonsense" in capsys.readouterr().err
