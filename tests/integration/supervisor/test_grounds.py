"""Where attempts stand: real repositories, scratch and ports; the driver notes who begins."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from paddock.core.events import CancelRequested, Event, HeartbeatDeclared
from paddock.core.run import Attempt, Outcome, Running
from paddock.ports import Launch
from paddock.storage.memory import MemoryStore
from paddock.supervisor.black_boxes import BlackBoxes
from paddock.supervisor.grounds import Grounds
from paddock.supervisor.recovery import inherit, recover
from paddock.supervisor.sweeping import QUIET_S
from paddock.supervisor.wanted import FLEETING_LABEL
from paddock.workspaces.port_blocks import PortBlocks
from paddock.workspaces.scratch import Scratch
from tests.kit.factories import a_policy, a_spec
from tests.kit.repositories import git
from tests.kit.stand import Noting, Stand, a_launch, of
from tests.kit.supervising import Supervised, a_recipe, in_a_loop, until


def test_each_attempt_has_scratch_and_ports_of_its_own(stand: Stand) -> None:
    async def scenario() -> None:
        async with stand.life() as one:
            for name in ("a", "b"):
                await one.submit(a_spec(name), "sleep=60")
            await until(lambda: len(stand.driver.launched) == 2)
            found = [stand.driver.launched[name] for name in ("a", "b")]
            ports = {int(launch.ours["PADDOCK_PORT_BASE"]) for launch in found}
            places = {Path(launch.ours["PADDOCK_SCRATCH"]) for launch in found}
            assert len(ports) == len(places) == 2
            assert all(
                place.is_dir() and place in launch.reach
                for place, launch in (
                    (Path(launch.ours["PADDOCK_SCRATCH"]), launch) for launch in found
                )
            )
            for place in places:
                (place / "left").mkdir()
            one.supervisor.post(CancelRequested(0.0, "a", force=True))
            one.supervisor.post(CancelRequested(0.0, "b", force=True))
            await one.ended("a", "b")
            await until(lambda: stand.scratches == [])

    in_a_loop(scenario)


def test_a_run_with_a_repository_begins_in_its_own_workspace(
    stand: Stand, repository: Path
) -> None:
    async def scenario() -> None:
        async with stand.life() as one:
            await one.submit(a_spec("a"), "exit=0", labels=of(repository))
            await one.ended("a")
            launch = stand.driver.launched["a"]
            assert launch.directory == stand.room.path("a") != repository
            assert git(launch.directory, "branch", "--show-current") == "paddock/a"
            assert repository / ".git" in launch.reach
            await until(lambda: stand.state("a") == "idle")

    in_a_loop(scenario)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"branch": "no-such-branch"}, "no-such-branch"),
        ({"repository": "/no/such/place"}, "/no/such/place"),
    ],
)
def test_a_workspace_that_cannot_be_is_no_start_and_says_why(
    stand: Stand, repository: Path, wanted: Mapping[str, Any], words: str
) -> None:
    async def scenario() -> None:
        async with stand.life() as one:
            labels = of(**{"repository": repository, **wanted})
            await one.submit(a_spec("a"), "exit=0", labels=labels)
            [end] = await one.ended("a")
            assert end.outcome is Outcome.SPAWN_FAILED and words in end.because
            assert stand.driver.launched == {} and stand.scratches == []

    in_a_loop(scenario)


def test_the_next_daemon_keeps_what_lives_and_removes_the_rest(stand: Stand) -> None:
    async def scenario() -> None:
        scratch = Scratch(stand.directory / "scratch")
        for name in ("lives.2.p20340", "dead.1.p20350", "nobody-knows-this"):
            scratch.make(name)
        stand.grounds.adopt({Attempt("lives", 2)})
        await until(lambda: stand.scratches == ["lives.2.p20340"])
        assert stand.blocks().retake(20340, "another") is None, "its ports are held"
        other = stand.blocks().retake(20350, "another")
        assert other is not None
        other.close()
        stand.grounds.clear(Attempt("lives", 2))
        await until(lambda: stand.scratches == [])
        stand.grounds.close()

    in_a_loop(scenario)


@pytest.mark.parametrize("held", ["nothing", "a file"])
def test_who_was_not_begun_by_a_killed_daemon_keeps_the_scratch_of_its_beginning(
    stand: Stand, held: str
) -> None:
    """It has the same name: what the last daemon left is removed a moment later."""

    async def scenario() -> None:
        begun: list[Launch] = []
        launch = msgspec.structs.replace(a_launch(Attempt("a", 1), stand.directory), labels={})
        stand.grounds.lay(launch, begun.append)
        left = Path(begun[0].ours["PADDOCK_SCRATCH"])
        if held == "a file":
            (left / "old").touch()
        grounds = Grounds(stand.room, Scratch(stand.directory / "scratch"), stand.blocks())
        # The kernel does that, of who was killed.
        stand.grounds._laid[Attempt("a", 1)].block.close()  # noqa: SLF001
        grounds.adopt(())
        grounds.lay(launch, begun.append)
        assert begun[1].ours == begun[0].ours
        (left / "work").write_text("done")
        await until(lambda: stand.scratches == [left.name])
        await asyncio.sleep(QUIET_S + 0.3)
        assert (left / "work").read_text() == "done" and stand.scratches == [left.name]
        grounds.close()

    in_a_loop(scenario)


def test_odd_things_among_the_scratch_keep_no_daemon_from_beginning(stand: Stand) -> None:
    async def scenario() -> None:
        top = stand.directory / "scratch"
        for name in ("a b", "-", "ä", f"{'x' * 120}.1.p20000"):
            (top / name).mkdir(parents=True)
        (top / "b.1.p20480").mkdir()
        stand.grounds.adopt(())
        await until(lambda: "b.1.p20480" not in stand.scratches)
        await until(lambda: not any(name.startswith("left-") for name in stand.scratches))

    in_a_loop(scenario)


def test_what_was_not_committed_is_saved_and_the_black_box_says_so(
    stand: Stand, repository: Path
) -> None:
    async def scenario() -> None:
        async with stand.life() as one:
            boxes = BlackBoxes(one.supervisor, stand.directory / "boxes", room=stand.room)
            await one.submit(a_spec("a"), "sleep=60", labels=of(repository))
            await until(lambda: isinstance(one.run("a").state, Running))
            path = stand.driver.launched["a"].directory
            (path / "done").write_text("done")
            git(path, "add", "done")
            git(path, "commit", "-m", "half of it")
            (path / "half").write_text("half")
            one.supervisor.post(CancelRequested(0.0, "a", force=True))
            await one.ended("a")
            await until(lambda: boxes.read("a") is not None)
            box = boxes.read("a") or {}
            assert "on paddock/a: half" in box["saved"]
            assert box["commits"].startswith("1 since its start, the newest")
            assert "half of it" in box["commits"]
            commit = box["saved"].split()[2]
            assert git(repository, "show", f"{commit}:half") == "half"
            await boxes.finish()

    in_a_loop(scenario)


def test_a_late_release_of_one_attempt_is_none_of_the_next(stand: Stand, repository: Path) -> None:
    first, second = Attempt("a", 1), Attempt("a", 2)

    async def scenario() -> None:
        begun: list[Launch] = []
        for attempt in (first, second):
            stand.grounds.lay(a_launch(attempt, repository), begun.append)
        await until(lambda: len(begun) == 2)
        stand.grounds.leaving.give_back("a", first)
        stand.grounds.leaving.give_back("a", None)
        assert stand.state("a") == "taken"
        stand.grounds.leaving.give_back("a", second)
        assert stand.state("a") == "idle"
        stand.grounds.close()

    in_a_loop(scenario)


def test_ports_that_another_has_by_now_are_given_to_nobody(stand: Stand) -> None:
    async def scenario() -> None:
        other = stand.blocks().retake(20340, "another")
        assert other is not None
        Scratch(stand.directory / "scratch").make("lives.2.p20340")
        stand.grounds.adopt({Attempt("lives", 2)})
        stand.grounds.clear(Attempt("lives", 2))
        assert stand.grounds._spare == []  # noqa: SLF001
        other.close()
        stand.grounds.close()

    in_a_loop(scenario)


def test_a_daemon_comes_back_though_ports_cannot_be_held(tmp_path: Path) -> None:
    stand = Stand(tmp_path)
    stand.grounds = Grounds(
        stand.room, Scratch(tmp_path / "scratch"), PortBlocks((tmp_path / "nowhere",))
    )

    async def scenario() -> None:
        Scratch(tmp_path / "scratch").make("lives.2.p20340")
        stand.grounds.adopt({Attempt("lives", 2)})
        assert stand.scratches == ["lives.2.p20340"]
        stand.grounds.close()

    in_a_loop(scenario)


# -- heartbeats ---------------------------------------------------------------------------------


def beats(one: Supervised, repository: Path, script: str) -> None:
    template = a_spec("health")
    labels = {**of(repository), FLEETING_LABEL: "1"}
    one.supervisor.ask(
        lambda now: HeartbeatDeclared(now, template, every_s=1.0),
        heartbeat_recipes={"health": a_recipe(script, labels=labels)},
    )


def test_the_workspace_of_a_beat_goes_with_its_end(stand: Stand, repository: Path) -> None:
    async def scenario() -> None:
        async with stand.life() as one:
            beats(one, repository, "exit=0")
            await until(lambda: len(stand.driver.launched) >= 2, within_s=20)
            await until(lambda: stand.room.records() == [], within_s=20)
            assert git(repository, "branch", "--list", "paddock/*") == ""
            assert list((stand.directory / "workspaces").glob("*/.gone/*")) == []

    in_a_loop(scenario)


async def a_beat_that_found_something(
    stand: Stand, one: Supervised, repository: Path
) -> tuple[str, Launch]:
    beats(one, repository, "sleep=60")
    await until(lambda: bool(stand.driver.launched), within_s=20)
    [(run, launch)] = stand.driver.launched.items()
    (launch.directory / "found.txt").write_text("a finding")
    return run, launch


def test_a_beat_with_work_that_is_only_there_keeps_it(stand: Stand, repository: Path) -> None:
    async def scenario() -> None:
        async with stand.life() as one:
            run, launch = await a_beat_that_found_something(stand, one, repository)
            stand.driver.terminate(launch.attempt)
            await one.ended(run)
            await until(lambda: stand.state(run) == "idle")
            stand.room.let_go(run)
            assert (launch.directory / "found.txt").read_text() == "a finding"
            assert [judged.removed for judged in stand.room.gc()] == [False]

    in_a_loop(scenario)


def test_what_a_beat_committed_stays_on_its_branch(stand: Stand, repository: Path) -> None:
    async def scenario() -> None:
        async with stand.life() as one:
            run, launch = await a_beat_that_found_something(stand, one, repository)
            git(launch.directory, "add", "found.txt")
            git(launch.directory, "commit", "-m", "found")
            stand.driver.terminate(launch.attempt)
            await one.ended(run)
            await until(lambda: stand.room.record(run) is None)
            assert git(repository, "show", f"paddock/{run}:found.txt") == "a finding"
            assert b"a finding" in stand.room.diff(run).text

    in_a_loop(scenario)


def test_a_beat_that_ended_without_a_daemon_is_cleared_by_the_next(
    stand: Stand, repository: Path
) -> None:
    async def scenario() -> None:
        manner = stand.fleeting_manner(repository)
        stand.room.prepare("health.7", repository=repository, manner=manner)
        stand.grounds.adopt(())
        await until(lambda: stand.room.records() == [])
        stand.grounds.close()

    in_a_loop(scenario)


# -- sizes of addresses -------------------------------------------------------------------------


def grown(repository: Path, megabytes: int) -> str:
    (repository / "large.bin").write_bytes(b"\0" * (megabytes << 20))
    git(repository, "add", "large.bin")
    git(repository, "commit", "-m", "large")
    git(repository, "config", "uploadpack.allowFilter", "true")
    return f"file://{repository}"


@pytest.mark.parametrize("more", [{}, {"shallow": False, "submodules": True}])
def test_an_address_that_turns_out_too_large_is_no_start(
    stand: Stand, repository: Path, more: dict[str, Any]
) -> None:
    async def scenario() -> None:
        async with stand.life() as one:
            labels = of(grown(repository, 3), ask_mb=2, **more)
            await one.submit(a_spec("a"), "exit=0", labels=labels)
            [end] = await one.ended("a")
            assert end.outcome is Outcome.SPAWN_FAILED
            assert "the working tree has 3 MiB, more than performance.max_repo_size_mb (2)" in (
                end.because
            )
            assert "--yes, --shallow or --sparse DIR" in end.because
            assert stand.driver.launched == {} and stand.room.records() == []

    in_a_loop(scenario)


@pytest.mark.parametrize("answer", [{"any_size": True}, {"shallow": True}, {"sparse": ("src",)}])
def test_with_an_answer_it_starts(stand: Stand, repository: Path, answer: dict[str, Any]) -> None:
    async def scenario() -> None:
        async with stand.life() as one:
            labels = of(grown(repository, 3), ask_mb=2, **answer)
            await one.submit(a_spec("a"), "exit=0", labels=labels)
            [end] = await one.ended("a")
            assert end.outcome is Outcome.SUCCEEDED, end.because

    in_a_loop(scenario)


def test_a_later_attempt_is_not_measured_by_what_the_first_made(
    stand: Stand, repository: Path
) -> None:
    async def scenario() -> None:
        async with stand.life() as one:
            labels = of(f"file://{repository}", ask_mb=2)
            await one.submit(a_spec("a", retries=1), "sleep=60", labels=labels)
            await until(lambda: isinstance(one.run("a").state, Running))
            there = stand.driver.launched["a"].directory
            (there / "built.bin").write_bytes(b"\0" * (3 << 20))
            stand.driver.terminate(Attempt("a", 1))
            await until(lambda: stand.driver.launched["a"].attempt.number == 2, within_s=20)
            assert stand.driver.launched["a"].directory == there

    in_a_loop(scenario)


# -- a store that was lost ----------------------------------------------------------------------


class Surviving(Noting):
    """As the keeper's: its attempts outlive the daemon."""

    def __init__(self, *left: Attempt) -> None:
        super().__init__()
        self.left = frozenset(left)

    def adopt(self, tell: Callable[[Event], None]) -> frozenset[Attempt]:
        assert callable(tell)
        return self.left


def test_agents_that_no_store_knows_keep_their_scratch_and_ports(stand: Stand) -> None:
    stranger = Attempt("stranger", 1)
    stand.driver = Surviving(stranger)
    scratch = Scratch(stand.directory / "scratch")
    scratch.make("stranger.1.p20340")
    stand.store = MemoryStore()

    async def scenario() -> None:
        async with stand.life() as one:
            await recover(one.supervisor, inherit(stand.store, a_policy()))
            assert one.supervisor.hands.driver_of(stranger) is None, "it is left alone"
            assert stand.scratches == ["stranger.1.p20340"]
            assert stand.blocks().retake(20340, "another") is None, "its ports are held"
        assert stand.scratches == ["stranger.1.p20340"], "also after this daemon"

    in_a_loop(scenario)
