"""The commands that change runs and the daemon: kill, retry, priority, freeze, breaker, daemon."""

from __future__ import annotations

import pytest

from paddock.wire.run_request import RunRequest
from paddock.wire.views import BreakerView, Otherwise, Submit
from tests.unit.cli.conftest import Paddock
from tests.unit.cli.fake_client import FakeClient
from tests.unit.cli.fake_daemon import FakeDaemon


def test_kill_prints_what_it_killed(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.add("a")
    daemon.add("b")
    daemon.beats["health"] = 30.0
    called = paddock("kill", "--force", "a", "b", "health")
    assert (called.code, called.out) == (0, "r0001\nr0002\nhealth (heartbeat)\n")
    assert daemon.killed == [("r0001", True), ("r0002", True)]


def test_kill_all_takes_everything_that_has_not_ended(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.add("a")
    daemon.add("b", state="ended", outcome="succeeded")
    assert paddock("kill", "--all", "--json").json == {"runs": ["r0001"], "heartbeats": []}


def test_kill_with_nothing_there_says_so(paddock: Paddock) -> None:
    called = paddock("kill", "--all")
    assert (called.code, called.err) == (0, "paddock: nothing to kill\n")


def test_one_that_has_already_ended_is_no_mistake(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.add("a")
    daemon.add("b", state="ended", outcome="succeeded")
    called = paddock("kill", "a", "b")
    assert (called.code, called.out) == (0, "r0001\n")
    assert called.err == "paddock: b has already ended\n"


@pytest.mark.parametrize("args", [["kill"], ["kill", "--all", "a"]])
def test_kill_wants_runs_or_all_and_not_both(paddock: Paddock, args: list[str]) -> None:
    assert paddock(*args).code == 2


def test_retry_takes_another_wall_timeout_or_priority(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.add("a", state="ended")
    words = ("--memory", "4G", "--timeout", "none", "--priority", "low", "--retries", "2")
    assert paddock("retry", *words, "a").code == 0
    said = Otherwise(memory_bytes=4 << 30, timeout_s="none", priority="low", retries=2)
    assert daemon.otherwise == said
    called = paddock("retry", "--memory", "huge", "--retries", "-1", "a")
    assert called.code == 2
    assert "--memory: found 'huge'" in called.err and "--retries: found" in called.err


def test_retry_prints_the_id_of_the_new_run(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.add("a", state="ended", outcome="failed")
    assert paddock("retry", "a").out == "r0002\n"
    assert paddock("retry", "--json", "r0001").json["id"] == "r0003"
    assert daemon.otherwise == Otherwise()
    called = paddock("retry", "r0002")
    assert (called.code, called.err) == (3, "paddock: a has not ended\n")


def test_priority_says_what_it_is_now(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.add("a")
    assert paddock("priority", "a", "high").out == "a is high now: running for 3 s\n"
    assert paddock("priority", "--json", "a", "low").json["priority"] == "low"
    assert paddock("priority", "a", "urgent").code == 2


def test_freeze_and_thaw(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.add("a")
    assert paddock("freeze", "a").out == "a: running, frozen by user\n"
    assert paddock("thaw", "a").out == "a: running for 9 s\n"
    assert paddock("freeze", "--json", "a").json["frozen"] == "user"
    assert paddock("thaw", "--json", "a").json["frozen"] is None


def test_breaker_lists_and_resets(paddock: Paddock, daemon: FakeDaemon) -> None:
    assert "no group has failed of late" in paddock("breaker").err
    daemon.open_breakers = [
        BreakerView(
            group="claude/web", state="half_open", failures=3, retry_in_s=4.0, last_run="fix"
        )
    ]
    assert paddock("breaker").out.splitlines()[1].split() == [
        *("claude/web", "half", "open", "3", "in", "4", "s", "-", "fix"),
    ]
    assert paddock("breaker", "--json").json[0]["state"] == "half_open"
    reset = paddock("breaker", "reset", "claude/web")
    assert reset.out == "the breaker of claude/web is closed\n"
    assert paddock("breaker", "reset", "nobody").code == 4


def test_daemon_status_starts_none_and_is_exit_69_without_one(
    paddock: Paddock, daemon: FakeDaemon
) -> None:
    daemon.running = False
    called = paddock("daemon", "status")
    assert (called.code, called.err) == (69, "paddock: no daemon is running\n")
    assert paddock("daemon", "stop").code == 69
    assert daemon.starts == 0


def test_daemon_status_as_json_has_the_keys_that_scripts_rely_on(paddock: Paddock) -> None:
    found = paddock("daemon", "status", "--json").json
    assert found.keys() >= {"pid", "keeper_pid", "version", "socket", "uptime_s"}
    assert "process 4999999" in paddock("daemon", "status").out


def test_daemon_start_starts_one_and_shows_it(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.running = False
    assert "process 4999999, version 0.1.0, for 1 min 15 s" in paddock("daemon", "start").out
    assert daemon.starts == 1


def test_daemon_stop_waits_until_it_is_gone(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.add("a")
    assert paddock("daemon", "stop").out == "stopped (it was process 4999999)\n"
    assert daemon.killed == []
    daemon.running = True
    assert paddock("daemon", "stop", "--kill", "--json").json["pid"] == 4999999
    assert daemon.killed == [("r0001", False)]


@pytest.mark.parametrize("name", ["start", "stop", "status"])
def test_every_subcommand_of_daemon_has_help_with_an_example(paddock: Paddock, name: str) -> None:
    called = paddock("daemon", name, "--help")
    assert f"paddock daemon {name}" in called.out.partition("Example")[2]


def test_daemon_help_lists_run_without_importing_the_daemon(paddock: Paddock) -> None:
    called = paddock("daemon", "--help")
    assert called.code == 0
    assert "Be the daemon, in the foreground." in called.out


def test_kill_takes_a_fleet_by_its_name(paddock: Paddock, daemon: FakeDaemon) -> None:
    run = RunRequest(name="one", command=("true",))
    FakeClient(daemon).submit(Submit(key="k" * 8, directory="/", fleet="trio", runs=(run,)))
    other = daemon.add("other")
    assert paddock("kill", "--fleet", "trio").out == "r0001\n"
    assert daemon.runs[other.id].state == "running"
    assert paddock("kill", "--fleet", "trio", "--all").code == 2


def test_a_wrong_priority_is_called_by_what_it_is(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.add("one")
    called = paddock("priority", "one", "urgent")
    assert (called.code, "Invalid value for 'PRIORITY'" in called.err) == (2, True)


def test_what_is_no_address_to_listen_on_is_bad_usage(paddock: Paddock) -> None:
    called = paddock("daemon", "run", "--listen", "banana")
    assert called.code == 2
    assert "--listen: found 'banana'; allowed: an address, as in 127.0.0.1:7070" in called.err
