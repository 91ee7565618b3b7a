"""The probe of a Mac with programs that print what Macs printed, or hang, or are not there."""

import time
from pathlib import Path

import pytest

from paddock.core.policy import LadderPolicy
from paddock.core.pressure import Ladder, Rung, climb
from paddock.core.units import GIB, MIB
from paddock.host.macos import MacProbe
from paddock.host.memory import MemoryUnreadable
from tests.kit import leaks

DATA = Path(__file__).parents[2] / "data/macos"
SYSCTL = DATA / "sysctl-32g-swapping.txt"
SWAPPING = DATA / "vm_stat-arm64-tagged-swapping.txt"
LATER = DATA / "vm_stat-arm64-tagged-later.txt"


class Mac:
    """Two shell scripts that stand for vm_stat and sysctl."""

    def __init__(self, directory: Path) -> None:
        self.vm_stat = directory / "vm_stat"
        self.sysctl = directory / "sysctl"
        self.now = 0.0
        self.print(self.vm_stat, SWAPPING)
        self.print(self.sysctl, SYSCTL)

    def print(self, program: Path, file: Path, then: str = "") -> None:
        self.do(program, f"cat '{file}'; {then}")

    def do(self, program: Path, script: str) -> None:
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)

    def probe(self, within_s: float = 20.0) -> MacProbe:
        return MacProbe(
            vm_stat=self.vm_stat, sysctl=self.sysctl, within_s=within_s, clock=lambda: self.now
        )


@pytest.fixture
def mac(tmp_path: Path) -> Mac:
    return Mac(tmp_path)


def test_a_mac_is_read_by_its_programs(mac: Mac) -> None:
    probe = mac.probe()
    readings = probe.read()
    memory = readings.memory
    assert (memory.total_bytes, memory.physical_bytes, memory.limited_by) == (
        32 * GIB,
        32 * GIB,
        None,
    )
    assert memory.available_bytes == (10069 + 398262 + 11278) * 16384
    assert memory.used_percent == 79.99
    assert memory.swap_used_bytes == int(9689.94 * MIB)
    assert (readings.load, readings.cpus) == ((1.28, 1.18, 1.13), 10.0)
    assert (readings.memory_stall, readings.cpu_stall) == (None, None)


def test_page_outs_between_two_looks_are_a_rate(mac: Mac) -> None:
    probe = mac.probe()
    assert probe.read().paging.out_bytes_per_s is None
    mac.print(mac.vm_stat, LATER)
    mac.now = 40.0
    out = (115388 + 3171828 - 115304 - 3028624) * 16384 / 40
    assert probe.read().paging.out_bytes_per_s == out


def test_the_core_is_told_what_a_mac_has(mac: Mac) -> None:
    host = mac.probe().sample()
    assert (host.total_bytes, host.used_percent) == (32 * GIB, 79.99)
    assert host.swap_percent == 94.63
    assert (host.memory_stall_percent, host.pageouts_rising) == (0.0, False)


def test_the_language_of_the_user_does_not_reach_the_programs(
    mac: Mac, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "it_IT.UTF-8")
    mac.do(mac.sysctl, 'test "$LC_ALL" = C && echo hw.memsize: 1073741824')
    assert mac.probe().read().memory.total_bytes == GIB


def test_a_name_that_this_mac_does_not_know_leaves_the_others(mac: Mac) -> None:
    mac.print(mac.sysctl, SYSCTL, then="echo 'sysctl: unknown oid' >&2; exit 1")
    assert mac.probe().read().memory.total_bytes == 32 * GIB


def test_a_program_that_hangs_is_ended_and_the_memory_counts_as_unread(mac: Mac) -> None:
    probe = mac.probe(within_s=0.5)
    mac.do(mac.vm_stat, f"exec sleep 600 # {mac.vm_stat}")
    began = time.monotonic()
    host = probe.sample()
    assert time.monotonic() - began < 60
    assert (host.available_bytes, host.used_percent, host.total_bytes) == (None, None, 32 * GIB)


def test_a_program_that_is_gone_leaves_the_size_that_was_known(mac: Mac) -> None:
    probe = mac.probe()
    mac.vm_stat.unlink()
    mac.sysctl.unlink()
    readings = probe.read()
    assert (readings.memory.total_bytes, readings.memory.available_bytes) == (32 * GIB, None)
    assert (readings.load, readings.cpus) == (None, None)


def test_a_mac_that_does_not_say_its_size_is_an_error(mac: Mac) -> None:
    mac.do(mac.sysctl, "echo nothing")
    with pytest.raises(MemoryUnreadable, match=r"/sysctl does not say hw\.memsize"):
        mac.probe()


def test_looking_leaves_no_descriptor_open(mac: Mac) -> None:
    probe = mac.probe()
    before = leaks.descriptors()
    probe.read()
    assert leaks.descriptors() == before


@pytest.mark.parametrize(
    ("level", "swap_percent", "rung"),
    [
        ("1", 0.0, Rung.SKIP_LOW),
        ("2", 94.63, Rung.QUEUE),
        ("4", 94.63, Rung.QUEUE),
        ("", 94.63, Rung.QUEUE),
    ],
)
def test_swap_is_pressure_only_where_the_system_says_so_itself(
    mac: Mac, level: str, swap_percent: float, rung: Rung
) -> None:
    """95 % of 10 GiB in use, and 76 % of memory; on a Mac that says nothing, swap counts."""
    mac.print(mac.vm_stat, DATA / "vm_stat-arm64-tagged-later.txt")
    mac.print(mac.sysctl, SYSCTL, f"echo 'kern.memorystatus_vm_pressure_level: {level}'")
    host = mac.probe().sample()
    assert host.swap_percent == swap_percent
    assert climb(Ladder(), host, LadderPolicy(), at=0.0).rung is rung


def test_page_outs_are_no_pressure_while_the_system_is_calm(mac: Mac) -> None:
    for level, rising in (("1", False), ("2", True)):
        mac.now = 0.0
        mac.print(mac.vm_stat, SWAPPING)
        mac.print(mac.sysctl, SYSCTL, f"echo 'kern.memorystatus_vm_pressure_level: {level}'")
        probe = mac.probe()
        probe.sample()
        mac.print(mac.vm_stat, LATER)
        mac.now = 2.0
        assert probe.sample().pageouts_rising is rising
