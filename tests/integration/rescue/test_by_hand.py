"""`paddock cgroup`: walls that hold, joined before the command begins, and gone afterwards."""

from __future__ import annotations

import json
import signal
import sys

from paddock.cgroups.v1 import Group1
from tests.integration.rescue.pen import Pen
from tests.kit.waiting import until

HOG = [sys.executable, "-I", "-S", "-c", "held = bytearray(b'x') * (200 << 20)"]


def test_a_command_over_its_wall_dies_alone(pen: Pen) -> None:
    made = pen.paddock("cgroup", "create", "build", "--memory", "64M", "--pids", "20")
    assert made.returncode == 0, made.stderr
    assert made.stdout.strip() == pen.fleet.child("hand-build").path
    neighbour = pen.agent("neighbour")
    died = pen.paddock("cgroup", "exec", "build", "--", *HOG)
    assert died.returncode == -signal.SIGKILL
    assert pen.fleet.child("hand-build").counters().oom_kills == 1
    assert neighbour.poll() is None
    assert pen.paddock("cgroup", "rm", "build").returncode == 0
    assert not pen.fleet.child("hand-build").exists()


def test_the_commands_exit_code_is_ours(pen: Pen) -> None:
    pen.paddock("cgroup", "create", "x")
    done = pen.paddock("cgroup", "exec", "x", "--", "sh", "-c", "echo $0 $1; exit 7", "a b", "-c")
    assert (done.returncode, done.stdout) == (7, "a b -c\n")
    nowhere = pen.paddock("cgroup", "exec", "x", "--", "no-such-command")
    assert nowhere.returncode == 127
    assert nowhere.stderr == "paddock: there is no command no-such-command\n"
    assert pen.paddock("cgroup", "exec", "x", "--", "/etc/passwd").returncode == 126
    assert pen.paddock("cgroup", "exec", "y", "--", "true").returncode == 4


def test_a_command_gets_the_signals_that_a_shell_would_give_it(pen: Pen) -> None:
    """Python ignores SIGPIPE: inherited, `yes | head` would never end."""
    pen.paddock("cgroup", "create", "x")
    done = pen.paddock("cgroup", "exec", "x", "--", "grep", "SigIgn", "/proc/self/status")
    ignored = int(done.stdout.split()[1], 16)
    assert not ignored >> (signal.SIGPIPE - 1) & 1
    assert not ignored >> (signal.SIGXFSZ - 1) & 1


def test_its_processes_are_counted_and_too_many_refused(pen: Pen) -> None:
    pen.paddock("cgroup", "create", "few", "--memory", "64M", "--pids", "3")
    fork = "for i in 1 2 3 4 5 6; do sleep 1 & done; wait"
    done = pen.paddock("cgroup", "exec", "few", "--", "sh", "-c", fork)
    assert done.returncode != 0
    assert pen.fleet.child("hand-few").counters().refused_forks > 0


def test_those_that_were_made_are_listed_and_watched(pen: Pen) -> None:
    assert pen.paddock("cgroup", "ls", "--json").stdout == "[]\n"
    pen.paddock("cgroup", "create", "build", "--memory", "64M")
    holding = pen.hold(pen.fleet.child("hand-build"), 20)
    (said,) = json.loads(pen.paddock("cgroup", "ls", "--json").stdout)
    assert (said["name"], said["limit_bytes"], said["processes"]) == ("build", 64 << 20, 1)
    assert said["used_bytes"] > 12 << 20
    line = pen.paddock("cgroup", "ls").stdout
    assert line.startswith("build  ") and line.endswith(" of 64 MiB, 1 process\n")
    refused = pen.paddock("cgroup", "rm", "build")
    assert (refused.returncode, refused.stdout) == (3, "")
    assert "--kill kills them first" in refused.stderr
    assert pen.paddock("cgroup", "rm", "--kill", "build").returncode == 0
    assert holding.wait(30) == -signal.SIGKILL


def test_one_of_that_name_is_not_made_twice(pen: Pen) -> None:
    pen.paddock("cgroup", "create", "x", "--memory", "64M")
    again = pen.paddock("cgroup", "create", "x", "--memory", "128M")
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "there is already a cgroup x" in again.stderr
    (said,) = json.loads(pen.paddock("cgroup", "ls", "--json").stdout)
    assert said["limit_bytes"] == 64 << 20


def test_a_wall_that_cannot_be_had_is_a_refusal_and_leaves_nothing(pen: Pen) -> None:
    if not isinstance(pen.fleet, Group1):
        done = pen.paddock("cgroup", "create", "x", "--memory", "64M", "--memory-high", "32M")
        assert done.returncode == 0
        return
    done = pen.paddock("cgroup", "create", "x", "--memory", "64M", "--memory-high", "32M")
    assert (done.returncode, done.stderr) == (
        3,
        "paddock: x would have no wall: cgroups of this host cannot wall high\n",
    )
    assert not pen.fleet.child("hand-x").exists()


def test_without_a_paddock_it_is_below_the_callers_own_cgroup(pen: Pen) -> None:
    (pen.state / "keeper/home").unlink()
    own = pen.ceiling.child("shell")
    made = pen.paddock("cgroup", "create", "x", "--memory", "64M", within=own)
    if not isinstance(pen.fleet, Group1):  # v2: none with walls below one that has processes
        assert (made.returncode, made.stderr.count("\n")) == (3, 1)
        assert own.children() == []
        return
    assert made.stdout.strip() == f"{own.path}/paddock-hand/hand-x", made.stderr
    died = pen.paddock("cgroup", "exec", "x", "--", *HOG, within=own)
    assert died.returncode == -signal.SIGKILL
    assert pen.paddock("cgroup", "rm", "x", within=own).returncode == 0
    until(lambda: own.children() == [])
