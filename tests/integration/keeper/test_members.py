"""Every process of an attempt is found, wherever it went, and signalled by its identity."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from paddock.drivers.local.keeper.members import look_at, send
from paddock.drivers.local.keeper_client import journals
from tests.kit import leaks
from tests.kit.keeping import Keeping, agent
from tests.kit.waiting import until


def members(kept: Keeping, attempt: str) -> list[int]:
    return [pid for pid, _ in kept.client.call("members", attempt=attempt)["members"]]


def test_a_daemon_left_behind_is_found_by_its_mark_and_killed(kept: Keeping) -> None:
    kept.spawn("a", agent("daemonizer"))
    main = kept.ended("a")["pid"]
    (stray,) = members(kept, "a")
    assert stray != main
    assert Path(f"/proc/{stray}/stat").read_text(encoding="ascii").split()[3] == str(kept.pid)
    assert kept.client.call("kill_all", attempt="a") | {"id": 0} == {
        "id": 0,
        "ok": True,
        "left": [],
    }
    assert not leaks.is_alive(stray)


def test_children_in_groups_of_their_own_are_members(kept: Keeping) -> None:
    kept.spawn("a", agent("forker", 8))
    kept.spawn("b", agent("forker", 2))
    until(lambda: len(members(kept, "a")) == 9)
    until(lambda: len(members(kept, "b")) == 3)
    sent = kept.client.call("signal", attempt="a", signal=signal.SIGTERM, to="session")["sent"]
    assert sent == 9
    until(lambda: members(kept, "a") == [])
    assert len(members(kept, "b")) == 3


def test_who_cleared_its_environment_is_found_by_session_and_descent(kept: Keeping) -> None:
    forget = "exec env -i sleep 1000"
    kept.spawn("a", ["sh", "-c", f"({forget}) & {forget}"])
    until(lambda: len(members(kept, "a")) == 2)
    kept.client.call("signal", attempt="a", signal=signal.SIGKILL)
    kept.ended("a")
    assert len(members(kept, "a")) == 1, "an orphan without mark, in the session of a dead leader"
    assert kept.client.call("kill_all", attempt="a")["left"] == []


def test_a_deaf_agent_is_killed_with_everything_it_has(kept: Keeping) -> None:
    kept.spawn("a", agent("deaf"))
    kept.running("a")
    kept.client.close()
    until(lambda: kept.written("a") == b"deaf\n")
    kept.connect()
    assert kept.client.call("signal", attempt="a", signal=signal.SIGTERM, to="members")["sent"] == 1
    assert kept.client.call("kill_all", attempt="a")["left"] == []
    assert kept.ended("a")["signal"] == signal.SIGKILL


def test_many_are_killed_at_once(kept: Keeping) -> None:
    for number in range(10):
        kept.spawn(f"a{number}", agent("forker", 3))
    asked = [kept.client.ask("kill_all", attempt=f"a{number}") for number in range(10)]
    assert all(kept.client.answer_to(number)["left"] == [] for number in asked)


def test_a_signal_never_reaches_who_got_the_pid_later(kept: Keeping) -> None:
    pid = kept.spawn("a", ["sleep", "1000"])["pid"]
    found = look_at(pid)
    assert found is not None
    assert not send(pid, found.start + 1, signal.SIGKILL)
    assert kept.running("a")["pid"] == pid


@pytest.mark.parametrize("request_name", ["members", "signal", "kill_all"])
def test_an_attempt_that_is_not_known_is_refused(kept: Keeping, request_name: str) -> None:
    number = kept.client.ask(request_name, attempt="nobody", signal=9)
    with pytest.raises(Exception, match="no such attempt"):
        kept.client.answer_to(number)


def test_why_it_is_killed_is_written_down_before_it_is_dead(kept: Keeping) -> None:
    kept.spawn("a", ["sleep", "1000"])
    why = {"outcome": "cancelled", "because": "nobody wants it"}
    kept.running("a")
    kept.client.call("kill_all", attempt="a", why=why)
    kept.client.call("kill_all", attempt="a", why=why)
    kept.client.call("kill_all", attempt="a")
    assert kept.ended("a")["stop"] == why
    ((_, *records),) = journals(kept.directory).values()
    assert [(record["state"], record.get("stop")) for record in records] == [
        ("starting", None),
        ("running", why),
        ("exited", why),
    ]


def stop_all(kept: Keeping) -> int:
    asked = kept.client.call("signal", attempt="a", signal=signal.SIGSTOP, to="members")
    return int(asked["sent"])


def test_a_stopped_process_is_not_stopped_again(kept: Keeping) -> None:
    kept.spawn("a", agent("forker", 3))
    until(lambda: len(members(kept, "a")) == 4)
    assert stop_all(kept) == 4
    until(lambda: stop_all(kept) == 0)
    assert kept.client.call("kill_all", attempt="a")["left"] == []
