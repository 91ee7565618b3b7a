"""Runs that are cancelled while they are prepared, and daemons that stop: nobody waits for git."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from paddock.core.events import CancelRequested
from paddock.core.run import Attempt, Outcome, Running
from paddock.supervisor.black_boxes import BlackBoxes
from paddock.supervisor.grounds import AT_ONCE
from paddock.workspaces.room import Room
from tests.kit.factories import a_spec
from tests.kit.repositories import a_repository, git, write
from tests.kit.slow_git import SlowGit
from tests.kit.stand import Stand, of
from tests.kit.supervising import in_a_loop, until

SOON_S = 10.0  # a clone has fifteen minutes


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    all_threads_end()


def all_threads_end() -> None:
    """At its end the interpreter waits for threads: one that goes on keeps a daemon from ending."""
    begun = time.monotonic()
    while names := [one.name for one in threading.enumerate() if one.name.startswith(_OURS)]:
        assert time.monotonic() - begun < SOON_S, names
        time.sleep(0.005)


_OURS = ("workspaces", "sweeping", "collecting", "salvage", "places")


def test_clones_of_cancelled_runs_keep_nobody_waiting(
    stand: Stand, repository: Path, tmp_path: Path
) -> None:
    names = [f"slow{number}" for number in range(AT_ONCE)]
    for name in names:
        a_repository(tmp_path / name)
    slow = SlowGit(tmp_path / "slow", word="fetch")

    async def scenario() -> None:
        async with stand.life() as one:
            for name in names:
                labels = of(f"file://{tmp_path / name}")
                await one.submit(a_spec(name, memory="100M"), "exit=0", labels=labels)
            await until(lambda: len(slow.staying) == 2 * AT_ONCE, within_s=20)
            await one.submit(a_spec("waits", memory="100M"), "exit=0", labels=of(repository))
            for name in names:
                one.supervisor.post(CancelRequested(0.0, name))
            ends = await one.ended(*names)
            assert {end.outcome for end in ends} == {Outcome.CANCELLED}
            [end] = await one.ended("waits", within_s=SOON_S)
            assert end.outcome is Outcome.SUCCEEDED
            await until(lambda: slow.ended)
            await until(lambda: not _left_of_clones(stand))
            assert [record.name for record in stand.room.records()] == ["waits"]

    with slow.used():
        in_a_loop(scenario)


def _left_of_clones(stand: Stand) -> list[Path]:
    top = stand.directory / "workspaces"
    return [*top.glob("*/.clon*"), *top.glob("*/.deleting-*")]


def test_one_that_waits_for_its_turn_to_be_made_never_has_it(
    stand: Stand, repository: Path, tmp_path: Path
) -> None:
    slow = SlowGit(tmp_path / "slow", word="fetch")

    async def scenario() -> None:
        async with stand.life() as one:
            for number in range(AT_ONCE):  # of one address: one clones, the others wait for it
                labels = of(f"file://{repository}")
                await one.submit(a_spec(f"first{number}", memory="1M"), "exit=0", labels=labels)
            await until(lambda: len(slow.staying) == 2, within_s=20)
            await one.submit(a_spec("last", memory="1M"), "exit=0", labels=of(repository))
            await until(lambda: stand.grounds.is_coming(Attempt("last", 1)))
            for run in ("last", *(f"first{number}" for number in range(AT_ONCE))):
                one.supervisor.post(CancelRequested(0.0, run))
            await one.ended("last", *(f"first{number}" for number in range(AT_ONCE)))
            await until(lambda: slow.ended and not _left_of_clones(stand))
            assert stand.room.records() == [] and stand.driver.launched == {}

    with slow.used():
        in_a_loop(scenario)


def test_one_that_is_cancelled_does_not_wait_for_git(stand: Stand, repository: Path) -> None:
    gate = threading.Event()
    prepare = stand.room.prepare

    def slowly(*words: Any, **more: Any) -> Path:
        assert gate.wait(20)
        return prepare(*words, **more)

    stand.room.prepare = slowly  # type: ignore[method-assign]

    async def scenario() -> None:
        async with stand.life() as one:
            await one.submit(a_spec("a"), "exit=0", labels=of(repository))
            await until(lambda: stand.grounds.is_coming(one.run("a").attempt))
            one.supervisor.post(CancelRequested(0.0, "a"))
            [end] = await one.ended("a")
            assert end.outcome is Outcome.CANCELLED
            gate.set()
            await until(lambda: stand.grounds.leaving.holders == {})
            assert stand.driver.launched == {} and stand.room.records() == []

    in_a_loop(scenario)


def test_the_black_box_of_one_that_never_began_speaks_of_no_workspace(
    stand: Stand, repository: Path, tmp_path: Path
) -> None:
    slow = SlowGit(tmp_path / "slow", word="read-tree")

    async def scenario() -> None:
        async with stand.life() as one:
            boxes = BlackBoxes(one.supervisor, stand.directory / "boxes", room=stand.room)
            await one.submit(a_spec("a"), "exit=0", labels=of(repository))
            await until(lambda: len(slow.staying) == 2)
            one.supervisor.post(CancelRequested(0.0, "a"))
            await one.ended("a")
            await until(lambda: boxes.read("a") is not None)
            assert "saved" not in (boxes.read("a") or {})
            await boxes.finish()

    with slow.used():
        in_a_loop(scenario)


# -- a daemon that stops ------------------------------------------------------------------------


def test_a_daemon_that_stops_waits_for_no_clone(
    stand: Stand, repository: Path, tmp_path: Path
) -> None:
    slow = SlowGit(tmp_path / "slow", word="fetch")

    async def scenario() -> None:
        async with stand.life() as one:
            await one.submit(a_spec("a"), "exit=0", labels=of(f"file://{repository}"))
            await until(lambda: len(slow.staying) == 2)
        await until(lambda: slow.ended)

    with slow.used():
        in_a_loop(scenario)


def test_a_daemon_that_stops_waits_for_no_gc(
    stand: Stand, repository: Path, tmp_path: Path
) -> None:
    stand.room = stand.grounds.room = Room(stand.directory / "workspaces", idle_days=0)
    for name in ("a", "b", "c"):
        stand.room.prepare(name, repository=repository)
        stand.room.release(name)
    slow = SlowGit(tmp_path / "slow", word="status")

    async def scenario() -> None:
        async with stand.life():
            stand.grounds._collectors.submit(stand.grounds._collect)  # noqa: SLF001
            await until(lambda: len(slow.staying) == 2)
        await until(lambda: slow.ended)

    with slow.used():
        in_a_loop(scenario)
    all_threads_end()
    after = Room(stand.directory / "workspaces", idle_days=0)
    assert sorted(record.name for record in after.records()) == ["a", "b", "c"]
    assert [judged.removed for judged in after.gc()] == [True, True, True]
    assert git(repository, "worktree", "list").count("\n") == 0


def test_a_daemon_that_stops_does_not_wait_for_all_salvages(
    stand: Stand, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paddock.supervisor.black_boxes.GIT_S", 0.2)
    names = ["a", "b", "c", "d"]  # more than are saved at once
    slow = SlowGit(tmp_path / "slow", word="commit-tree")

    async def scenario() -> None:
        async with stand.life() as one:
            boxes = BlackBoxes(one.supervisor, stand.directory / "boxes", room=stand.room)
            for name in names:
                await one.submit(a_spec(name, memory="1M"), "sleep=60", labels=of(repository))
            await until(lambda: all(isinstance(one.run(n).state, Running) for n in names))
            for name in names:
                write(stand.driver.launched[name].directory, {"half.txt": f"half of {name}\n"})
                one.supervisor.post(CancelRequested(0.0, name, force=True))
            await one.ended(*names)
            await until(lambda: len(slow.staying) == 4)
            begun = time.monotonic()
            await boxes.finish()
            assert time.monotonic() - begun < SOON_S
        await until(lambda: slow.ended)

    with slow.used():
        in_a_loop(scenario)
    all_threads_end()
    after = Stand(stand.directory)
    after.store = stand.store
    in_a_loop(lambda: what_was_owed_is_saved(after, names))
    for name in names:
        assert git(repository, "show", f"paddock/{name}:half.txt") == f"half of {name}"


async def what_was_owed_is_saved(stand: Stand, names: list[str]) -> None:
    async with stand.life() as one:
        boxes = BlackBoxes(one.supervisor, stand.directory / "boxes", room=stand.room)
        await boxes.resume()
        await until(lambda: all(boxes.read(name) for name in names), within_s=60)
        told = {name: (boxes.read(name) or {}).get("saved", "") for name in names}
        assert all("half.txt" in text for text in told.values()), told
        await boxes.finish()
        again = BlackBoxes(one.supervisor, stand.directory / "boxes", room=stand.room)
        await again.resume()
        assert not again._tasks, "it is done once"  # noqa: SLF001
        await again.finish()
