"""`wait`: for runs and fleets to end, and how they did."""

from __future__ import annotations

from typing import Any

from paddock.wire.run_request import RunRequest
from paddock.wire.views import BreakerView, Submit
from tests.unit.cli.conftest import Paddock
from tests.unit.cli.fake_client import FakeClient
from tests.unit.cli.fake_daemon import FakeDaemon, Life


def test_a_fleet_is_listed_and_waited_for_by_its_name(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.lives["one"] = Life(outcome="failed", exit_code=1, because="ended with exit code 1")
    runs = tuple(RunRequest(name=name, command=("true",)) for name in ("one", "two"))
    FakeClient(daemon).submit(Submit(key="k" * 8, directory="/", fleet="trio", runs=runs))
    daemon.add("other")
    assert [run["name"] for run in paddock("ls", "--fleet", "trio", "--json").json] == [
        "one",
        "two",
    ]
    called = paddock("wait", "--fleet", "trio", "--json")
    assert (called.code, [run["name"] for run in called.json]) == (1, ["one", "two"])
    assert paddock("wait", "--fleet", "quartet").code == 4
    for words in ([], ["--fleet", "trio", "one"]):
        assert paddock("wait", *words).code == 2


def test_wait_ends_with_0_when_all_succeeded(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.add("a")
    daemon.add("b")
    assert paddock("wait", "a", "b").code == 0


def test_wait_ends_with_1_and_says_what_did_not_succeed(
    paddock: Paddock, daemon: FakeDaemon
) -> None:
    daemon.lives["b"] = Life(outcome="failed", exit_code=3, because="ended with exit code 3")
    daemon.add("a")
    daemon.add("b")
    called = paddock("wait", "--json", "a", "b")
    assert called.code == 1
    assert called.err == "paddock: b ended: failed (exit code 3)\n"
    assert [run["name"] for run in called.json] == ["a", "b"]


def test_wait_gives_up_in_time(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.lives["a"] = Life(endless=True)
    daemon.add("a")
    called = paddock("wait", "--timeout", "10ms", "a")
    assert (called.code, called.err) == (1, "paddock: not ended in time: a\n")


def test_wait_says_once_that_a_breaker_holds_a_run_up(paddock: Paddock, daemon: FakeDaemon) -> None:
    why = "at place 1 in the queue: the breaker of coder is open after 3 failures"
    daemon.open_breakers = [
        BreakerView(group="coder", state="open", failures=3),
        BreakerView(group="other", state="closed", failures=1),
        BreakerView(group="probed", state="half_open", failures=3),
    ]
    facts: dict[str, Any] = {"state": "queued", "place": 1, "waits_for": why}
    # It needs itself, so that it stays where it is however often somebody looks.
    for number, group in enumerate(("coder", "coder", "other", "probed"), start=1):
        daemon.add(f"r{number}", group=group, needs=(f"r000{number}",), **facts)
    called = paddock("wait", "--timeout", "10ms", "r1", "r2", "r3", "r4")
    assert called.code == 1
    assert (
        called.err == f"paddock: r1 is queued: {why}\npaddock: not ended in time: r1, r2, r3, r4\n"
    )


def test_wait_for_an_unknown_run_is_exit_4(paddock: Paddock) -> None:
    assert paddock("wait", "nobody").code == 4
    assert paddock("wait").code == 2
