"""Every script that the operational guide asks for has its command here, and it works."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest

from tests.kit.house import PADDOCK, House, shell
from tests.kit.waiting import until

# The guide's table: the script, and the words that take its place.
TABLE = {
    "setup-agent-host.sh": ("host", "setup"),
    "spawn-agent.sh": ("run",),
    "kill-agent.sh": ("kill",),
    "check-agent-memory.sh": ("memory",),
    "agent-status.sh": ("status",),
    "watch-memory.sh": ("watch",),
    "emergency-memory-relief.sh": ("relieve",),
    "create-agent-cgroup.sh": ("cgroup", "create"),
    "run-in-cgroup.sh": ("cgroup", "exec"),
}


@pytest.mark.parametrize("script", TABLE)
def test_each_has_a_command_with_an_example(script: str, house: House) -> None:
    done = house.paddock(*TABLE[script], "--help")
    assert done.returncode == 0
    assert "Example" in done.stdout


def test_the_guide_can_be_followed_from_its_first_line_to_its_last(house: House) -> None:
    setup = house.paddock("host", "setup", "--dry-run")
    assert "swap" in setup.stdout + setup.stderr
    spawned = house.paddock("run", "--name", "agent-001", "--memory", "64M", "--", "echo", "built")
    assert (spawned.returncode, spawned.stdout) == (0, "built\n")
    (one, two) = house.submit(shell("agent-002", "sleep 60"), shell("agent-003", "sleep 60")).runs
    until(lambda: {v["state"] for v in house.told("ls")} == {"running"}, within_s=20)
    used = {view["name"]: view for view in house.told("memory")}
    assert used["agent-002"]["limit_bytes"] == 64 << 20
    assert house.told("status")["counts"]["running"] == 2
    assert house.paddock("kill", "agent-002").returncode == 0
    assert house.paddock("kill", "--force", "agent-003").returncode == 0
    ends = house.ended([one.id, two.id])
    assert {end.outcome for end in ends} == {"cancelled"}
    relieved = house.paddock("relieve", "99")
    assert relieved.returncode == 0, relieved.stderr
    assert watched(house)["used_percent"] > 0
    made = house.paddock("cgroup", "create", "by-hand", "--memory", "64M")
    assert made.returncode == 0, made.stderr
    done = house.paddock("cgroup", "exec", "by-hand", "--", "sh", "-c", "exit 5")
    assert done.returncode == 5
    assert house.paddock("cgroup", "rm", "by-hand").returncode == 0
    assert house.paddock("kill", "--all", "--force").returncode == 0


def watched(house: House) -> dict[str, float]:
    """The first line of a watch that is then interrupted."""
    watch = subprocess.Popen(
        [*PADDOCK, "watch", "--json", "--interval", "0.2s"],
        env=house.env,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert watch.stdout is not None
    with watch.stdout:
        line = watch.stdout.readline()
    os.kill(watch.pid, signal.SIGTERM)
    watch.wait(10)
    found: dict[str, float] = json.loads(line)
    return found
