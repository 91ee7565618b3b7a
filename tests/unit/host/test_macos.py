"""What Macs print, taken apart. tests/data/macos says where it is from."""

from pathlib import Path

import pytest

from paddock.core.units import GIB, MIB
from paddock.host.macos import Facts, Pages, parse_sysctl, parse_vm_stat
from paddock.host.pressure import Paged

DATA = Path(__file__).parents[2] / "data/macos"


def recorded(name: str) -> str:
    return (DATA / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "pages", "page_bytes"),
    [
        ("vm_stat-intel-32g-fresh.txt", 6127229 + 1080348 + 11820, 4096),
        ("vm_stat-arm64-32g-cached.txt", 9436 + 1021174 + 22877, 16384),
        ("vm_stat-arm64-tagged-swapping.txt", 10069 + 398262 + 11278, 16384),
    ],
)
def test_free_file_backed_and_purgeable_pages_are_available(
    name: str, pages: int, page_bytes: int
) -> None:
    assert parse_vm_stat(recorded(name)).available_bytes == pages * page_bytes


@pytest.mark.parametrize(
    "name", ["vm_stat-intel-32g-fresh.txt", "vm_stat-arm64-tagged-swapping.txt"]
)
def test_available_and_what_activity_monitor_calls_used_are_nearly_the_whole(name: str) -> None:
    text = recorded(name)
    page_bytes = 4096 if "4096" in text else 16384
    lines = dict(line.split(":") for line in text.replace('"', "").splitlines()[1:])
    number = {key: int(value.strip(" .")) * page_bytes for key, value in lines.items()}
    used = number["Anonymous pages"] - number["Pages purgeable"]
    used += number["Pages wired down"] + number["Pages occupied by compressor"]
    available = parse_vm_stat(text).available_bytes
    assert available is not None
    assert 0.97 * 32 * GIB < available + used <= 32 * GIB


def test_page_outs_and_swap_outs_are_both_counted() -> None:
    paged = parse_vm_stat(recorded("vm_stat-arm64-tagged-swapping.txt")).paged
    assert paged == Paged((115304 + 3028624) * 16384, 1024615 * 16384)


def test_paging_that_is_not_printed_is_unknown() -> None:
    assert parse_vm_stat(recorded("vm_stat-arm64-32g-cached.txt")).paged is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "vm_stat: command not found",
        "Pages free: 5.\nFile-backed pages: 5.\nPages purgeable: 1.\n",
        "Mach Virtual Memory Statistics: (page size of 0 bytes)\nPages free: 5.\n",
        "Mach Virtual Memory Statistics: (page size of 4096 bytes)\nPages free: 5.\n",
        "Mach Virtual Memory Statistics: (page size of 4096 bytes)\nPages free: many.\n",
    ],
)
def test_a_vm_stat_that_does_not_say_enough_leaves_the_memory_unknown(text: str) -> None:
    assert parse_vm_stat(text) == Pages(None, None)


def test_sysctl_tells_size_swap_load_and_cpus() -> None:
    assert parse_sysctl(recorded("sysctl-48g-18-cores.txt")) == Facts(
        total_bytes=48 * GIB,
        swap_total_bytes=13 * GIB,
        swap_used_bytes=int(11625.69 * MIB),
        load=(21.53, 26.57, 41.30),
        cpus=18,
    )


def test_a_decimal_comma_is_understood() -> None:
    facts = parse_sysctl(recorded("sysctl-comma.txt"))
    assert facts.swap_used_bytes == int(124.5 * MIB)
    assert facts.load == (2.10, 1.95, 1.80)


def test_a_mac_that_never_swapped_has_no_swap() -> None:
    facts = parse_sysctl(recorded("sysctl-32g-never-swapped.txt"))
    assert (facts.swap_total_bytes, facts.swap_used_bytes) == (0, 0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hw.memsize\n",
        "hw.memsize: 0\nhw.ncpu: 0\n",
        "hw.memsize: -1\nhw.ncpu: x\nvm.loadavg: { }\nvm.swapusage: total = much\n",
        "vm.loadavg: { nan nan nan }\n",
    ],
)
def test_what_sysctl_does_not_say_is_unknown(text: str) -> None:
    assert parse_sysctl(text) == Facts()


@pytest.mark.parametrize(
    ("line", "pressure"),
    [
        ("kern.memorystatus_vm_pressure_level: 1\n", 1),
        ("kern.memorystatus_vm_pressure_level: 4\n", 4),
        ("kern.memorystatus_vm_pressure_level: \n", None),
        ("", None),
    ],
)
def test_the_systems_own_word_for_pressure_is_read(line: str, pressure: int | None) -> None:
    assert parse_sysctl(recorded("sysctl-48g-18-cores.txt") + line).pressure == pressure
