"""`paddock kill` without a daemon: by name, politely, at once, and all."""

from __future__ import annotations

import json
import signal
import time

import pytest

from tests.integration.rescue.pen import Pen, gone

KILLED, TERMINATED = -signal.SIGKILL, -signal.SIGTERM


def test_a_name_is_enough_and_the_neighbour_lives(pen: Pen) -> None:
    wanted, other = pen.agent("3f2a", 1, "child"), pen.agent("91bc")
    done = pen.paddock("kill", "--force", "the-3f2a")
    assert (done.returncode, done.stdout) == (0, "3f2a\n"), done.stderr
    assert done.stderr == "paddock: there is no daemon: killing without it\n"
    assert wanted.wait(30) == KILLED
    assert pen.fleet.child("3f2a.1").pids() == []  # its child in a session of its own, too
    assert not gone(other)
    said = json.loads((pen.state / "keeper/attempts/3f2a.1.killed").read_text())
    assert said["outcome"] == "cancelled"


def test_politely_means_sigterm_first(pen: Pen) -> None:
    agent = pen.agent("a")
    began_at = time.monotonic()
    assert pen.paddock("kill", "a").returncode == 0
    assert agent.wait(30) == TERMINATED
    assert time.monotonic() - began_at < 8


def test_one_that_is_frozen_hears_sigterm(pen: Pen) -> None:
    agent = pen.agent("a")
    assert pen.fleet.child("a.1").freeze()
    assert pen.paddock("kill", "a").returncode == 0
    assert agent.wait(30) == TERMINATED


def test_who_does_not_listen_is_killed_after_ten_seconds(pen: Pen) -> None:
    deaf = pen.agent("deaf", 1, "deaf")
    began_at = time.monotonic()
    done = pen.paddock("kill", "deaf")
    assert (done.returncode, deaf.wait(30)) == (0, KILLED)
    assert 10 <= time.monotonic() - began_at < 20


def test_all_force_kills_all_at_once_and_nobody_else(pen: Pen) -> None:
    deaf = pen.agent("deaf", 1, "deaf", "child")
    frozen = pen.agent("frozen")
    by_hand = pen.hold(pen.fleet.child("hand-made"), 1)
    stranger = pen.hold(pen.ceiling.child("other"), 1)
    assert pen.fleet.child("frozen.1").child("main").freeze()
    done = pen.paddock("kill", "--all", "--force", "--json")
    assert done.returncode == 0, done.stderr
    assert sorted(json.loads(done.stdout)["runs"]) == ["deaf", "frozen", "hand-made"]
    assert [one.wait(30) for one in (deaf, frozen, by_hand)] == [KILLED] * 3
    assert pen.fleet.pids() == []
    assert not gone(stranger)


def test_fifteen_processes_in_sessions_of_their_own_are_gone_together(pen: Pen) -> None:
    pen.agent("a", 1, *["child"])
    env = pen.marked("a")
    main = pen.fleet.child("a.1").child("main")
    more = [pen.hold(main, 1, "child", env=env) for _ in range(7)]
    assert len(main.pids()) >= 15
    assert pen.paddock("kill", "--force", "a").returncode == 0
    assert main.pids() == []
    assert [one.wait(30) for one in more] == [KILLED] * 7


def test_a_beginning_that_fits_two_is_refused(pen: Pen) -> None:
    both = pen.agent("3f2a"), pen.agent("3f91")
    done = pen.paddock("kill", "--force", "3f")
    assert (done.returncode, done.stderr) == (
        2,
        "paddock: '3f' could be 3f2a, 3f91: say more of it\n",
    )
    assert not any(map(gone, both))


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_where_one_is_not_there_nobody_is_killed(pen: Pen, force: list[str]) -> None:
    agent = pen.agent("a")
    done = pen.paddock("kill", *force, "a", "nobody")
    assert done.returncode == 4
    assert "nobody; nobody was killed" in done.stderr
    assert not gone(agent)
