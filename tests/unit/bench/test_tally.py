"""What the kernel counts, read while there is something to read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from paddock.bench.cells import Outcome
from paddock.bench.tally import Tally, throttled_s
from paddock.bench.watching import Watched
from paddock.cgroups.group import Group
from paddock.cgroups.home import FLEET
from paddock.cgroups.v1 import Group1
from paddock.cgroups.v2 import Group2
from paddock.rescue.records import HomeDirectory
from tests.kit.fleet_views import a_run_view

AGENT = "agent-1"


def a_home_of_v2(top: Path, *, of_fleet: int, of_agent: int) -> HomeDirectory:
    leaf = top / FLEET / f"{AGENT}.1"
    leaf.mkdir(parents=True)
    (top / FLEET / "memory.events").write_text(f"oom 1\noom_kill {of_fleet}\n")
    (leaf / "memory.events").write_text(f"oom 1\noom_kill {of_agent}\n")
    (leaf / "cpu.stat").write_text("usage_usec 9\nnr_throttled 3\nthrottled_usec 1500000\n")
    return HomeDirectory(Group2(str(top)), 2)


def a_home_of_v1(top: Path, *, of_agent: int) -> HomeDirectory:
    for name in ("memory", "cpu"):
        (top / name / FLEET / f"{AGENT}.1").mkdir(parents=True)
    text = "oom_kill_disable 0\nunder_oom 0\noom_kill {}\n"
    fleet = top / "memory" / FLEET
    (fleet / "memory.oom_control").write_text(text.format(0))
    (fleet / f"{AGENT}.1/memory.oom_control").write_text(text.format(of_agent))
    stat = "nr_periods 9\nnr_throttled 3\nthrottled_time 1500000000\n"
    (top / "cpu" / FLEET / f"{AGENT}.1/cpu.stat").write_text(stat)
    return HomeDirectory(Group1({name: str(top / name) for name in ("memory", "cpu")}), 1)


@pytest.mark.parametrize("version", [1, 2])
def test_what_was_seen_stands_when_its_cgroup_is_gone(tmp_path: Path, version: int) -> None:
    if version == 1:
        home = a_home_of_v1(tmp_path, of_agent=2)
    else:
        home = a_home_of_v2(tmp_path, of_fleet=2, of_agent=2)
    tally = Tally()
    tally.look(home)
    shutil.rmtree(tmp_path)
    tally.look(home)
    assert tally.kills_of(AGENT) == 2
    assert tally.throttled_s_of(AGENT) == 1.5
    assert (tally.kills_of("agent"), tally.throttled_s_of("agent")) == (0, None)


def test_without_walls_nothing_is_counted() -> None:
    tally = Tally()
    tally.look(None)
    assert tally == Tally()


def test_a_group_without_a_quota_is_held_back_by_none(tmp_path: Path) -> None:
    groups: tuple[Group, ...] = (Group2(str(tmp_path)), Group1({"memory": str(tmp_path)}))
    assert [throttled_s(group) for group in groups] == [None, None]


def an_outcome(
    tally: Tally, *, because: str = "exit code 0", outcome: str = "succeeded"
) -> Outcome:
    view = a_run_view(AGENT, state="ended", outcome=outcome, because=because)
    return Outcome(2.0, [view], Watched(tally=tally), 0.0)


def test_kills_are_those_of_the_kernel_and_of_an_end_that_tells() -> None:
    view = a_run_view(AGENT)
    assert an_outcome(Tally()).ooms == 0
    assert an_outcome(Tally(kills={f"{view.id}.1": 1, f"{view.id}.2": 2})).ooms == 3
    assert an_outcome(Tally(fleet_kills=4)).ooms == 4
    told = "exit code 0; cc1 was killed at the memory wall"
    assert an_outcome(Tally(), because=told).ooms == 1
    assert an_outcome(Tally(kills={f"{view.id}.1": 2}), because=told).ooms == 2
    assert an_outcome(Tally(), outcome="memory_limit_exceeded").ooms == 1


def test_time_held_back_is_a_share() -> None:
    view = a_run_view(AGENT)
    assert an_outcome(Tally(throttled_s={f"{view.id}.1": 1.5})).throttled_percent == 75
    assert an_outcome(Tally()).throttled_percent is None
