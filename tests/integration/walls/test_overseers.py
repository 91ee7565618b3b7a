"""Daemon and keeper stand outside the wall that they put around the fleet, and are the last whom
the kernel would take; tests/vm runs this too."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

import pytest

from paddock.cgroups.group import Group
from paddock.cgroups.mounts import directories_of
from paddock.cgroups.v1 import Group1
from paddock.daemon.birth import OOM_SCORE_ADJ
from paddock.drivers.attempts import attempt_of
from paddock.drivers.local.containment.choosing import read_home
from paddock.drivers.local.keeper.birth import OWN_OOM_SCORE_ADJ
from tests.kit.house import House, a_house
from tests.kit.waiting import until

WITHIN_S = 240.0  # in a guest whose host is busy, too
CALM = 500  # of an agent of usual priority


def score(pid: int | str) -> int:
    return int(Path(f"/proc/{pid}/oom_score_adj").read_text(encoding="ascii"))


def may_be_spared() -> bool:
    """For less than one was born with it takes CAP_SYS_RESOURCE, which root may lack."""
    words = ["sh", "-c", f"echo {OOM_SCORE_ADJ} >/proc/self/oom_score_adj"]
    return subprocess.run(words, check=False, capture_output=True).returncode == 0


def agents_of(group: Group) -> list[int]:
    return [
        pid for name in group.children() if attempt_of(name) for pid in group.child(name).pids()
    ]


@pytest.mark.timeout(3 * WITHIN_S)
def test_daemon_and_keeper_live_outside_the_fleets_wall_and_die_last(tmp_path: Path) -> None:
    with a_house(tmp_path) as house:
        _start(house)
        home = read_home(house.places.keeper)
        if home is None:
            pytest.skip("this machine has no cgroups for us")
        submitted = house.paddock("submit", "--", "sleep", "60", within_s=WITHIN_S)
        assert submitted.returncode == 0, submitted.stderr
        (agent,) = until(lambda: agents_of(home.fleet), within_s=WITHIN_S)
        daemon, keeper = overseers(house)
        for pid in (daemon, keeper):
            assert pid in home.supervisor.pids(), house.log()
            assert not is_below(pid, home.fleet)
        assert is_below(agent, home.fleet)
        until(lambda: score(agent) == CALM)  # set after it has joined, before it is the agent
        spared = (OOM_SCORE_ADJ, OWN_OOM_SCORE_ADJ)
        own = score("self")
        assert (score(daemon), score(keeper)) == (spared if may_be_spared() else (own, own))
        assert max(*spared, own) < CALM


def _start(house: House) -> None:
    """Under emulation it may take longer to start than a command waits for it."""
    start = functools.partial(house.paddock, "daemon", "start", within_s=WITHIN_S)
    until(lambda: start().returncode == 0, within_s=WITHIN_S)


def overseers(house: House) -> tuple[int, int]:
    found = house.daemon()
    return found["pid"], found["keeper_pid"]


def is_below(pid: int, group: Group) -> bool:
    """In any of its trees."""
    walls = group.directories.values() if isinstance(group, Group1) else [group.path]
    return any(
        f"{where}/".startswith(f"{wall}/")
        for where in directories_of(pid).values()
        for wall in walls
    )
