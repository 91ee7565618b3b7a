"""Daemons come and go: epochs, last words, the restart of a dead one, the end of the keeper."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from paddock.drivers.local.keeper.protocol import encode
from paddock.drivers.local.keeper_client import (
    KeeperClient,
    KeeperGone,
    KeeperRefused,
    journals,
    launch_keeper,
)
from tests.kit import leaks
from tests.kit.keeping import PYTHON, Keeping
from tests.kit.waiting import until


def refusal(client: KeeperClient, do: str, **asked: object) -> str:
    with pytest.raises(KeeperRefused) as refused:
        client.call(do, **asked)  # type: ignore[arg-type]
    return refused.value.code


def stopped(kept: Keeping) -> bool:
    status = Path(f"/proc/{kept.pid}/status").read_text(encoding="utf-8")
    return "State:\tT" in status


@pytest.mark.parametrize("hello_first", [True, False])
def test_a_spawn_that_a_killed_daemon_had_sent(kept: Keeping, *, hello_first: bool) -> None:
    """The keeper is held still, so that the old spawn and the new hello wait side by side.

    Read before the hello, the spawn is in the new daemon's list; read after it, it never starts.
    """
    old, new = kept.client, kept.visit()
    new.hello(None)
    os.kill(kept.pid, signal.SIGSTOP)
    until(lambda: stopped(kept))
    order = kept.order("late", ["sh", "-c", "echo started"])
    if not hello_first:
        old.ask("spawn", **order)
    hello, listing = new.ask("hello", version=1, epoch=2), new.ask("list")
    if hello_first:
        old.ask("spawn", **order)
    old.close()
    os.kill(kept.pid, signal.SIGCONT)
    new.answer_to(hello)
    attempts = [one["attempt"] for one in new.answer_to(listing)["attempts"]]
    kept.epoch, kept.client = 2, new
    # Which of the two the keeper looks at first is the kernel's choice; hello first is certain
    # only where it was there first.
    assert attempts in ([[]] if hello_first else [[], ["late"]])
    assert bool(kept.known("late")) == bool(attempts)


def test_last_words_are_heard_but_start_nothing(kept: Keeping) -> None:
    kept.spawn("done", ["true"])
    kept.ended("done")
    old = kept.client
    new = kept.visit()
    new.hello(None)
    os.kill(kept.pid, signal.SIGSTOP)
    until(lambda: stopped(kept))
    number = new.ask("hello", version=1, epoch=2)
    # More than the keeper reads at once, so that the spawn is still unread when the hello is.
    old.ask("list", filler="x" * 150_000)
    old.ask("forget", attempt="done")
    old.ask("spawn", **kept.order("late", ["sh", "-c", "echo started"]))
    os.kill(kept.pid, signal.SIGCONT)
    new.answer_to(number)
    kept.epoch, kept.client = 2, new
    assert kept.known("late") == {}
    assert kept.known("done") == {}, "committed by the old daemon, so forgotten"


def test_an_older_daemon_is_refused_and_the_newest_is_told_everything(kept: Keeping) -> None:
    first = kept.client
    second = kept.connect()
    with pytest.raises(KeeperGone):
        until(lambda: first.pump(0.1))
    assert first.events == [{"event": "superseded"}]
    late = kept.visit()
    number = late.ask("hello", version=1, epoch=1)
    with pytest.raises(KeeperRefused) as refused:
        late.answer_to(number)
    assert refused.value.code == "old_epoch"
    kept.spawn("a", ["sleep", "0.1"])
    kept.ended("a")
    assert [event["state"] for event in second.events] == ["running", "exited"]


def test_the_same_daemon_may_come_back(kept: Keeping) -> None:
    kept.client.close()
    kept.epoch -= 1
    kept.connect()
    assert kept.spawn("a", ["true"])["state"] == "starting"


def test_a_visitor_may_look_and_kill_but_not_start(kept: Keeping) -> None:
    kept.spawn("a", ["sleep", "1000"])
    visitor = kept.visit()
    assert refusal(visitor, "list") == "hello_first"
    visitor.hello(None)
    assert refusal(visitor, "spawn", **kept.order("b", ["true"])) == "not_a_daemon"
    assert refusal(visitor, "forget", attempt="a") == "not_a_daemon"
    assert [one["attempt"] for one in visitor.call("list")["attempts"]] == ["a"]
    assert visitor.call("kill_all", attempt="a")["left"] == []


def test_a_dead_daemon_is_started_again_ever_less_often(kept: Keeping, tmp_path: Path) -> None:
    told = tmp_path / "told"
    script = "import os, sys; told = [os.environ['WHO'], *sorted(os.listdir('/proc/self/fd'))[:-1]]"
    script += "; told += [os.readlink(f'/proc/self/fd/{n}') for n in range(3)]"
    script += "; open(sys.argv[1], 'a').write(' '.join(told) + chr(10))"
    argv = [*PYTHON, "-c", script, str(told)]
    env = {"WHO": "daemon", "PADDOCK_RUN": kept.mark}
    kept.connect(restart={"argv": argv, "env": env, "after_s": 0.05}).close()
    until(lambda: told.exists() and told.read_text(encoding="utf-8").count("daemon") >= 3)
    client = kept.visit()
    assert client.hello(None)["restarts"] >= 3
    kept.connect()
    lines = set(told.read_text(encoding="utf-8").splitlines())
    assert lines == {"daemon 0 1 2 /dev/null /dev/null /dev/null"}


def test_a_daemon_that_leaves_on_purpose_is_left_in_peace(kept: Keeping, tmp_path: Path) -> None:
    told = tmp_path / "told"
    argv = ["/bin/sh", "-c", f"echo >>{told}"]
    client = kept.connect(restart={"argv": argv, "env": {}, "after_s": 0.01})
    kept.spawn("a", ["echo", "moved"])
    client.call("leave")
    client.close()
    # The keeper takes over the output only after the daemon would have been due.
    until(lambda: kept.written("a"))
    assert not told.exists()


def test_a_retired_keeper_serves_until_it_is_empty(kept: Keeping) -> None:
    kept.spawn("a", ["sleep", "1000"])
    kept.client.call("retire")
    assert refusal(kept.client, "spawn", **kept.order("b", ["true"])) == "retiring"
    assert kept.spawn("a", ["true"])["state"] in ("starting", "running")
    kept.client.call("kill_all", attempt="a")
    kept.ended("a")
    assert leaks.is_alive(kept.pid)
    kept.client.call("forget", attempt="a")
    until(lambda: not leaks.is_alive(kept.pid))
    left = sorted(path.name for path in kept.directory.iterdir())
    assert left == ["keeper.lock", "mover.lock"]


def test_sigterm_and_sigint_do_not_part_agents_from_their_keeper(kept: Keeping) -> None:
    kept.spawn("a", ["sleep", "1000"])
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(kept.pid, number)
    assert kept.running("a")
    kept.client.call("kill_all", attempt="a")
    kept.ended("a")
    kept.client.call("forget", attempt="a")
    assert leaks.is_alive(kept.pid)
    os.kill(kept.pid, signal.SIGTERM)
    until(lambda: not leaks.is_alive(kept.pid))


def test_endings_outlive_the_keeper_and_its_successor(kept: Keeping) -> None:
    kept.spawn("gone", ["sh", "-c", "exit 5"])
    kept.ended("gone")
    kept.client.call("forget", attempt="gone")
    kept.spawn("a", ["sh", "-c", "exit 6"])
    kept.ended("a")
    leaks.end({kept.pid: kept.start})
    until(lambda: not leaks.is_alive(kept.pid))
    kept.launch()
    kept.connect()
    kept.spawn("b", ["true"])
    kept.ended("b")
    found = journals(kept.directory)
    assert len(found) == 2
    endings = {
        record["attempt"]: record["exit_code"]
        for header, *records in found.values()
        for record in records
        if header["keeper"]["boot"] and record["state"] == "exited"
    }
    assert {name: endings[name] for name in ("a", "b")} == {"a": 6, "b": 0}
    kept.fifo("a").unlink()


def test_a_client_that_never_reads_does_not_hold_up_the_others(kept: Keeping) -> None:
    for number in range(20):
        kept.spawn(f"a{number}", ["true"])
    deaf = kept.visit()
    deaf.hello(None)
    # In one write: what they ask for is more than the keeper would hold for one client.
    numbers = range(10_000, 12_000)
    flood = b"".join(encode({"id": number, "do": "list"}) for number in numbers)
    assert os.write(deaf.fileno(), flood) == len(flood)
    assert len(kept.client.call("list")["attempts"]) == 20
    assert leaks.resident_bytes(kept.pid) < 24 << 20, "20 MB of answers are not held"
    for number in numbers:
        assert len(deaf.answer_to(number)["attempts"]) == 20


def test_a_socket_that_was_swept_away_comes_back(kept: Keeping) -> None:
    kept.client.close()
    (kept.directory / "keeper.sock").unlink()
    until((kept.directory / "keeper.sock").exists)
    kept.connect()
    assert kept.spawn("a", ["true"])["state"] == "starting"


def test_what_was_said_before_hanging_up_counts(kept: Keeping) -> None:
    """Even if the first answer finds nobody any more."""
    kept.spawn("a", ["true"])
    kept.ended("a")
    os.kill(kept.pid, signal.SIGSTOP)
    until(lambda: stopped(kept))
    for _ in range(50):
        kept.client.ask("list")
    kept.client.ask("forget", attempt="a")
    kept.client.close()
    os.kill(kept.pid, signal.SIGCONT)
    kept.connect()
    assert kept.known("a") == {}


def test_who_asks_without_a_number_hears_only_of_what_went_wrong(kept: Keeping) -> None:
    for attempt in ("a", "b"):
        kept.client.queue({"do": "forget", "attempt": attempt}, answered=False)
    kept.client.queue({"do": "no such thing"}, answered=False)
    kept.client.flush()
    came = until(lambda: list(kept.client.receive()))
    assert [message["error"] for message in came] == ["unknown_request"]


def test_a_kill_that_a_dead_daemon_had_asked_for_is_done_and_explained(kept: Keeping) -> None:
    kept.spawn("a", ["sleep", "1000"])
    kept.running("a")
    old, new = kept.client, kept.visit()
    new.hello(None)
    os.kill(kept.pid, signal.SIGSTOP)
    until(lambda: stopped(kept))
    number = new.ask("hello", version=1, epoch=2)
    why = {"outcome": "cancelled", "because": "killed on request"}
    old.ask("kill_all", attempt="a", why=why)
    old.close()
    os.kill(kept.pid, signal.SIGCONT)
    new.answer_to(number)
    kept.epoch, kept.client = 2, new
    ended = kept.ended("a")
    assert (ended["signal"], ended["stop"]) == (signal.SIGKILL, why)


def test_a_directory_removed_under_a_daemon_is_made_again_with_all_that_is_in_it(
    kept: Keeping,
) -> None:
    spawned = kept.spawn("a", ["sleep", "1000"])
    shutil.rmtree(kept.directory)
    kept.spawn("b", ["sh", "-c", "exit 3"], fifo=str(kept.directory / "attempts" / "b.fifo"))
    assert kept.ended("b")["exit_code"] == 3

    def is_back() -> bool:
        kept.client.call("list")  # as a daemon that says something every few seconds
        return (kept.directory / "keeper.sock").exists()

    until(is_back)
    assert launch_keeper(kept.directory) is False, "a second keeper would know of nobody"
    (lines,) = journals(kept.directory).values()
    assert {line["attempt"] for line in lines[1:]} == {"a", "b"}
    kept.client.close()
    kept.connect()
    leaks.end({spawned["pid"]: spawned["start"]})
    assert kept.ended("a")["signal"] == signal.SIGKILL


def test_a_keeper_whose_directory_is_gone_ends_with_its_last_agent(tmp_path: Path) -> None:
    directory = tmp_path / "state"
    directory.mkdir()
    kept = Keeping(directory, splice_after_s=0.05)
    spawned = kept.spawn("a", ["sleep", "1000"])
    kept.client.close()
    directory.rename(tmp_path / "elsewhere")
    shutil.rmtree(tmp_path / "elsewhere")
    try:
        with pytest.raises(AssertionError):  # time in which it must stay with its agent
            until(lambda: not leaks.is_alive(kept.pid), within_s=1.5)
    finally:
        leaks.end({spawned["pid"]: spawned["start"]})
    until(lambda: not leaks.is_alive(kept.pid))
