"""Agents that would not be found, or have others taken for them."""

from __future__ import annotations

import os
import time

import pytest

from paddock.drivers.local.keeper.members import look_at
from tests.kit import leaks
from tests.kit.keeping import Keeping, agent
from tests.kit.waiting import until


def test_one_whose_main_thread_has_left_is_found_and_killed(kept: Keeping) -> None:
    pid = kept.spawn("a", agent("headless", 1))["pid"]
    kept.client.close()
    until(lambda: kept.written("a") == b"headless\n")
    kept.connect()
    until(lambda: f"/proc/{pid}/stat" and _first_state(pid) == "Z")
    found = look_at(pid)
    assert found is not None
    assert (found.state, found.task == pid) == ("S", False)
    assert kept.client.call("members", attempt="a")["members"] == [[pid, found.start]]
    assert kept.client.call("kill_all", attempt="a")["left"] == []
    assert kept.ended("a")["state"] == "exited"


def test_an_orphan_whose_main_thread_has_left_keeps_its_attempt_from_being_empty(
    kept: Keeping,
) -> None:
    words = " ".join(agent("headless", 1))
    kept.spawn("a", ["sh", "-c", f"setsid -f {words}; sleep 0.5"])
    assert not kept.ended("a")["empty"]
    ((pid, _),) = kept.client.call("members", attempt="a")["members"]
    until(lambda: _first_state(pid) == "Z")
    assert kept.client.call("kill_all", attempt="a")["left"] == []
    until(lambda: kept.known("a")["empty"])


@pytest.mark.parametrize("words", [(0,), (2,), (10,), (2, "setsid"), (10, "setsid")])
def test_who_hops_from_fork_to_fork_is_caught(kept: Keeping, words: tuple[object, ...]) -> None:
    kept.spawn("a", agent("hopper", *words))
    assert not kept.ended("a")["empty"], "it is never said to be gone while it hops"
    began = time.monotonic()
    while kept.client.call("kill_all", attempt="a", within_s=20.0)["left"]:
        assert time.monotonic() - began < 15.0
    until(lambda: kept.known("a")["empty"])
    assert leaks.marked(kept.mark) == {}


def test_a_mark_put_on_later_changes_nobodys_owner(kept: Keeping) -> None:
    """First met as an orphan of its own attempt, and only then in another's clothes."""
    wears = f"env PADDOCK_ATTEMPT={kept.mark}.b sleep 1000"
    kept.spawn("b", ["sleep", "1000"])
    kept.spawn("a", ["sh", "-c", f"setsid -f sh -c 'sleep 0.5; exec {wears}'"])
    assert not kept.ended("a")["empty"]
    found = [look_at(one) for one, _ in kept.client.call("members", attempt="a")["members"]]
    (pid,) = [one.pid for one in found if one is not None and one.parent == kept.pid]
    until(lambda: _cmdline(pid).startswith(b"sleep"))
    assert [one for one, _ in kept.client.call("members", attempt="a")["members"]] == [pid]
    assert kept.client.call("kill_all", attempt="b")["left"] == []
    assert leaks.is_alive(pid)
    assert kept.client.call("kill_all", attempt="a")["left"] == []
    assert not leaks.is_alive(pid)


def test_who_the_daemon_knows_better_is_killed_too(kept: Keeping) -> None:
    kept.spawn("a", ["sleep", "1000"])
    pid = kept.spawn("b", ["sleep", "1000"])["pid"]
    found = look_at(pid)
    assert found is not None
    wrong = [[pid, found.start + 1]]
    assert kept.client.call("kill_all", attempt="a", also=wrong)["left"] == []
    assert kept.running("b")
    kept.client.call("kill_all", attempt="a", also=[[pid, found.start]])
    assert kept.ended("b")["signal"] == 9


def test_a_forged_report_does_not_unmake_a_run(kept: Keeping) -> None:
    told = kept.directory / "go"
    kept.spawn("a", ["sh", "-c", f"while [ ! -e {told} ]; do sleep 0.02; done; exit 0"])
    kept.running("a")
    for name in ["shim.1", "shim.2", *(path.name for path in kept.directory.glob("shim.*"))]:
        (kept.directory / name).write_text("fail exec\n", encoding="ascii")
    told.touch()
    assert (kept.ended("a")["state"], kept.known("a")["exit_code"]) == ("exited", 0)
    for path in kept.directory.glob("shim.*"):
        path.unlink()


def _first_state(pid: int) -> str:
    """As /proc tells it of the main thread."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:  # noqa: PTH123
        return file.read().rpartition(")")[2].split()[0]


def _cmdline(pid: int) -> bytes:
    handle = os.open(f"/proc/{pid}/cmdline", os.O_RDONLY)
    try:
        return os.read(handle, 4096)
    finally:
        os.close(handle)
