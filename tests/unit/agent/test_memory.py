"""How near the wall is, on machines made of files and on this one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from paddock import agent
from paddock.agent import gauging, places, processes
from tests.kit.machine import V1_UNLIMITED, Machine

MIB = 1 << 20
V1 = "/sys/fs/cgroup/memory"
V2 = "/sys/fs/cgroup"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """The helper looks at this one instead of ours."""
    found = places.limited_place
    monkeypatch.setattr(gauging, "limited_place", lambda: found(str(tmp_path)))
    return Machine(tmp_path)


def v2(machine: Machine, *, used: int, cache: int = 0, high: object = "max") -> None:
    machine.v2("/paddock/fleet/r.1/main")
    leaf = f"{V2}/paddock/fleet/r.1"
    machine.write(f"{V2}/paddock/fleet/memory.max", f"{900 * MIB}\n")
    machine.write(f"{leaf}/main/memory.max", "max\n")
    machine.write(f"{leaf}/memory.max", f"{100 * MIB}\n")
    machine.write(f"{leaf}/memory.high", f"{high}\n")
    machine.write(f"{leaf}/memory.current", f"{used}\n")
    machine.write(f"{leaf}/memory.stat", f"anon 1\nactive_file {cache}\ninactive_file 0\n")


def v1(machine: Machine, *, used: int, cache: int = 0, high: object = None) -> None:
    assert high in (None, "max"), "v1 knows nothing of it"
    machine.v1("/paddock/r.1")
    machine.write(f"{V1}/paddock/memory.limit_in_bytes", f"{V1_UNLIMITED}\n")
    machine.write(f"{V1}/paddock/r.1/memory.limit_in_bytes", f"{100 * MIB}\n")
    machine.write(f"{V1}/paddock/r.1/memory.usage_in_bytes", f"{used}\n")
    machine.write(f"{V1}/paddock/r.1/memory.stat", f"cache 9\ntotal_inactive_file {cache}\n")


@pytest.mark.parametrize("version", [v1, v2])
@pytest.mark.parametrize(("used", "near"), [(0, 0), (79, 0), (80, 1), (99, 1)])
def test_memory_is_to_be_reduced_from_80_percent_of_the_limit(
    machine: Machine, version: Callable[..., None], used: int, near: int
) -> None:
    version(machine, used=used * MIB)
    assert agent.should_reduce_memory() is bool(near)
    assert agent.memory() == (used * MIB, 100 * MIB)
    assert agent.memory().share == pytest.approx(used / 100)


@pytest.mark.parametrize("version", [v1, v2])
def test_page_cache_is_no_use_of_memory(machine: Machine, version: Callable[..., None]) -> None:
    version(machine, used=95 * MIB, cache=30 * MIB)
    assert not agent.should_reduce_memory()
    assert agent.memory().used == 65 * MIB


def test_below_the_throttle_of_v2_it_is_time_already(machine: Machine) -> None:
    """At memory.high the kernel all but stops a program: 80 % would never come."""
    v2(machine, used=72 * MIB, high=75 * MIB)
    assert agent.should_reduce_memory()
    gauging.forget()
    v2(machine, used=70 * MIB, high=75 * MIB)
    assert not agent.should_reduce_memory()


@pytest.mark.parametrize("version", [v1, v2])
def test_the_file_stays_open_and_what_it_says_is_read_anew(
    machine: Machine, version: Callable[..., None]
) -> None:
    version(machine, used=10 * MIB)
    assert not agent.should_reduce_memory()
    (file,) = [*machine.root.rglob("r.1/memory.current"), *machine.root.rglob("r.1/memory.usage*")]
    descriptors = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    file.write_text(f"{90 * MIB}\n", encoding="ascii")  # the same file, as the kernel's is
    assert agent.should_reduce_memory()
    assert len(os.listdir("/proc/self/fd")) == descriptors  # noqa: PTH208


def test_a_limit_that_was_changed_is_seen_after_a_while(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    v1(machine, used=90 * MIB)
    assert agent.should_reduce_memory()
    machine.write(f"{V1}/paddock/r.1/memory.limit_in_bytes", f"{200 * MIB}\n")
    assert agent.should_reduce_memory(), "for a while the old one counts"
    later = time.monotonic() + gauging.LOOK_AGAIN_S
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert not agent.should_reduce_memory()


def test_in_a_container_whose_path_is_not_mounted_its_top_counts(machine: Machine) -> None:
    machine.v1("/docker/abc", mounted_from="/elsewhere")
    machine.write(f"{V1}/memory.limit_in_bytes", f"{100 * MIB}\n")
    machine.write(f"{V1}/memory.usage_in_bytes", f"{85 * MIB}\n")
    assert agent.should_reduce_memory()


def test_the_limit_that_paddock_states_counts_where_the_cgroup_is_somebody_elses(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without walls, in a container of 100M that others are in too."""
    v1(machine, used=99 * MIB)
    monkeypatch.setenv("PADDOCK_MEMORY_LIMIT", str(100 * MIB))
    assert agent.memory().limit == 100 * MIB, "a wall of that size is the run's own"
    gauging.forget()
    monkeypatch.setenv("PADDOCK_MEMORY_LIMIT", str(50 * MIB))
    found = agent.memory()
    assert found.limit == 50 * MIB and found.used != 99 * MIB


def test_without_walls_the_processes_are_added_up(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert places.limited_place(str(machine.root)) is None
    monkeypatch.setenv("PADDOCK_MEMORY_LIMIT", str(1 << 50))
    used = agent.memory().used
    assert used >= processes.exact_bytes(os.getpid()) // 2 > 0
    assert not agent.should_reduce_memory()
    gauging.forget()
    monkeypatch.setenv("PADDOCK_MEMORY_LIMIT", str(used // 2))
    assert agent.should_reduce_memory()


@pytest.mark.parametrize("stated", ["", "0", "much", "-1", "9" * 40])
def test_without_any_limit_there_is_nothing_to_reduce(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, stated: str
) -> None:
    assert machine.root.exists()
    monkeypatch.setenv("PADDOCK_MEMORY_LIMIT", stated)
    assert not agent.should_reduce_memory()
    found = agent.memory()
    assert found.limit is None and found.used > 0 and found.share == 0.0


def test_a_cgroup_that_is_gone_is_no_error(machine: Machine) -> None:
    v2(machine, used=90 * MIB)
    assert agent.should_reduce_memory()
    (machine.root / V2.lstrip("/") / "paddock/fleet/r.1/memory.current").write_text("")
    assert not agent.should_reduce_memory()


def test_on_this_machine_it_answers_whatever_it_has() -> None:
    found = agent.memory()
    assert found.used > 0 and (found.limit is None or found.limit > 0)
    assert agent.should_reduce_memory() in (True, False)
