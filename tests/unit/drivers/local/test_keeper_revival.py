"""When a dead daemon is due again."""

from __future__ import annotations

import os
import signal

from paddock.drivers.local.keeper.revival import LONGEST_GAP_S, STEADY_AFTER_S, Revival

HOW = {"argv": ["daemon"], "env": {}, "after_s": 2.0}


def due_in_s(tries: int, *, lived_s: float = 1.0) -> float | None:
    revival = Revival()
    revival.tries = tries
    revival.learn(HOW, 100.0)
    assert revival.wait_s(100.0) is None, "it is there"
    revival.daemon_went(100.0 + lived_s)
    return revival.wait_s(100.0 + lived_s)


def test_every_daemon_that_dies_at_once_waits_longer_for_its_successor() -> None:
    assert [due_in_s(tries) for tries in range(4)] == [2.0, 4.0, 8.0, 16.0]
    assert due_in_s(50) == LONGEST_GAP_S


def test_a_daemon_that_was_there_for_long_is_brought_back_soon() -> None:
    assert due_in_s(5, lived_s=STEADY_AFTER_S) == 2.0


def test_without_a_command_nothing_is_due() -> None:
    revival = Revival()
    revival.learn(None, 0.0)
    revival.daemon_went(1.0)
    assert revival.wait_s(1.0) is None


def test_one_that_left_on_purpose_is_not_due() -> None:
    revival = Revival()
    revival.learn(HOW, 0.0)
    revival.off()
    revival.daemon_went(1.0)
    assert revival.wait_s(1.0) is None


def on_its_way() -> tuple[Revival, int]:
    revival = Revival()
    revival.learn({"argv": ["sleep", "60"], "env": {"PATH": os.defpath}, "after_s": 1.0}, 0.0)
    revival.daemon_went(1.0)
    revival.act(5.0)
    pid = revival._pid  # noqa: SLF001
    assert pid
    return revival, pid


def test_one_on_its_way_is_called_off_when_another_has_come() -> None:
    revival, pid = on_its_way()
    revival.learn(None, 6.0, pid=os.getpid())
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGTERM


def test_the_one_that_was_brought_back_is_left_alone() -> None:
    revival, pid = on_its_way()
    revival.learn(None, 6.0, pid=pid)
    revival.learn(None, 6.0, pid=0)  # who it is cannot be known
    os.kill(pid, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
