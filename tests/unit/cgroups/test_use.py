"""What a cgroup holds on a kernel whose sums lag behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.cgroups.use import held_bytes
from tests.kit.machine import Machine

MIB = 2**20


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def v1_group(machine: Machine, path: str, *, stat: tuple[int, int], charged: int) -> str:
    total, own = stat
    text = f"cache 0\nrss {own}\nshmem 0\ntotal_cache 0\ntotal_rss {total}\ntotal_shmem 0\n"
    machine.write(f"{path}/memory.stat", text)
    machine.write(f"{path}/memory.usage_in_bytes", f"{charged}\n")
    return f"{machine.root}{path}"


def test_a_sum_that_lags_behind_is_made_from_those_below(machine: Machine) -> None:
    """As seen: the ceiling says 55 MiB when the leaf has 304."""
    top = v1_group(machine, "/c", stat=(55 * MIB, 0), charged=306 * MIB)
    v1_group(machine, "/c/a", stat=(55 * MIB, 0), charged=306 * MIB)
    v1_group(machine, "/c/a/main", stat=(304 * MIB, 304 * MIB), charged=306 * MIB)
    assert held_bytes(top, is_v2=False) == 304 * MIB


def test_in_v2_only_leaves_are_added_up(machine: Machine) -> None:
    for path, anon in (("/c", 0), ("/c/a", 1), ("/c/a/main", 300 * MIB), ("/c/b", 4 * MIB)):
        machine.write(f"{path}/memory.stat", f"anon {anon}\nfile 0\n")
        machine.write(f"{path}/memory.current", f"{306 * MIB}\n")
    assert held_bytes(f"{machine.root}/c", is_v2=True) == 304 * MIB


def test_memory_that_is_gone_does_not_count_though_the_sum_still_has_it(machine: Machine) -> None:
    top = v1_group(machine, "/c", stat=(304 * MIB, 304 * MIB), charged=5 * MIB)
    assert held_bytes(top, is_v2=False) == 5 * MIB


def test_page_cache_is_not_use(machine: Machine) -> None:
    machine.write("/c/memory.stat", f"anon {10 * MIB}\nfile {400 * MIB}\n")
    machine.write("/c/memory.current", f"{411 * MIB}\n")
    assert held_bytes(f"{machine.root}/c", is_v2=True) == 10 * MIB
