"""Where attempts stand: real repositories, scratch and ports; the driver notes who begins."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from paddock.core.events import CancelRequested, Event, Noticed
from paddock.core.run import Attempt, Ended, Outcome, Queued, Running
from paddock.drivers.fake.driver import FakeDriver
from paddock.ports import Launch
from paddock.storage.memory import MemoryStore
from paddock.supervisor.black_boxes import BlackBoxes
from paddock.supervisor.grounds import MARKER_LABEL, REPOSITORY_LABEL, Grounds, Wanted
from paddock.supervisor.readiness import Readiness
from paddock.workspaces import processes
from paddock.workspaces.port_blocks import PortBlocks
from paddock.workspaces.room import Room
from paddock.workspaces.scratch import Scratch
from tests.kit.factories import a_policy, a_spec
from tests.kit.repositories import a_repository, git
from tests.kit.supervising import Supervised, in_a_loop, supervised, until


class Noting(FakeDriver):
    def __init__(self) -> None:
        super().__init__()
        self.launched: dict[str, Launch] = {}

    def start(self, launch: Launch, tell: Callable[[Event], None]) -> None:
        self.launched[launch.attempt.run] = launch
        super().start(launch, tell)


class Stand:
    def __init__(self, directory: Path, *, most: int = 10) -> None:
        self.directory = directory
        self.room = Room(directory / "workspaces", most=most)
        self.grounds = Grounds(self.room, Scratch(directory / "scratch"), self.blocks())
        self.driver = Noting()
        self.store = MemoryStore()

    def blocks(self) -> PortBlocks:
        (self.directory / "locks").mkdir(exist_ok=True)
        return PortBlocks((self.directory / "locks",))

    @property
    def scratches(self) -> list[str]:
        return sorted(path.name for path in (self.directory / "scratch").glob("*"))

    @asynccontextmanager
    async def life(self) -> AsyncIterator[Supervised]:
        async with supervised(self.store, a_policy(), self.driver) as one:
            one.supervisor.hands.grounds = self.grounds
            self.grounds.tell = one.supervisor.post
            try:
                yield one
            finally:
                self.grounds.close()


@pytest.fixture
def stand(tmp_path: Path) -> Stand:
    return Stand(tmp_path)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_repository(tmp_path / "repository")


def of(repository: Path | str, **more: Any) -> dict[str, str]:
    wanted = Wanted(repository=str(repository), **more)
    return {REPOSITORY_LABEL: msgspec.json.encode(wanted).decode()}


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
            await until(lambda: _state(stand, "a") == "idle")

    in_a_loop(scenario)


def _state(stand: Stand, run: str) -> str:
    record = stand.room.record(run)
    return record.state.value if record else ""


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


def test_where_all_are_taken_a_run_waits_and_says_for_what(
    tmp_path: Path, repository: Path
) -> None:
    stand = Stand(tmp_path, most=1)

    async def scenario() -> None:
        async with stand.life() as one:
            await one.submit(a_spec("a"), "sleep=60", labels=of(repository))
            await until(lambda: isinstance(one.run("a").state, Running))
            await one.submit(a_spec("b"), "exit=0", labels=of(repository))
            await until(lambda: _waits(one, "b") != "")
            assert "workspace" in _waits(one, "b")
            one.supervisor.post(CancelRequested(0.0, "a", force=True))
            [end] = await one.ended("b")
            assert end.outcome is Outcome.SUCCEEDED

    in_a_loop(scenario)


def _waits(one: Supervised, run: str) -> str:
    state = one.run(run).state
    return state.because if isinstance(state, Queued) and state.not_before_at else ""


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
            await until(lambda: _state(stand, "a") == "idle")
            assert stand.driver.launched == {}

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


@pytest.mark.parametrize("by", ["commit", "file"])
def test_a_ready_marker_is_heard_of_within_two_seconds(
    stand: Stand, repository: Path, by: str
) -> None:
    async def scenario() -> None:
        async with stand.life() as one:
            ready = Readiness(one.supervisor, stand.room)
            heard: list[str] = []
            one.supervisor.on_change.append(lambda change: heard.append(change.because))
            labels = {**of(repository), MARKER_LABEL: "TESTS-GREEN"}
            await one.submit(a_spec("a"), "sleep=60", labels=labels)
            await until(lambda: "a" in ready._watched)  # noqa: SLF001
            path = stand.driver.launched["a"].directory
            if by == "commit":
                git(path, "commit", "--allow-empty", "-m", "all done: TESTS-GREEN")
            else:
                (path / "TESTS-GREEN").touch()
            await until(lambda: any(text.startswith("ready: ") for text in heard), within_s=2.0)
            one.supervisor.post(CancelRequested(0.0, "a", force=True))
            await one.ended("a")
            ready.close()

    in_a_loop(scenario)


def test_nothing_is_heard_of_a_marker_that_is_not_there(stand: Stand, repository: Path) -> None:
    async def scenario() -> None:
        async with stand.life() as one:
            ready = Readiness(one.supervisor, stand.room)
            told: list[Event] = []
            post = one.supervisor.post

            def noting(event: Event) -> None:
                told.append(event)
                post(event)

            one.supervisor.post = noting  # type: ignore[method-assign]
            labels = {**of(repository), MARKER_LABEL: "TESTS-GREEN"}
            await one.submit(a_spec("a"), "sleep=60", labels=labels)
            await until(lambda: "a" in ready._watched)  # noqa: SLF001
            git(stand.driver.launched["a"].directory, "commit", "--allow-empty", "-m", "not yet")
            await asyncio.sleep(0.5)
            one.supervisor.post(CancelRequested(0.0, "a", force=True))
            assert isinstance((await one.ended("a"))[0], Ended)
            await until(lambda: "a" not in ready._watched)  # noqa: SLF001
            assert not [event for event in told if isinstance(event, Noticed)]
            ready.close()

    in_a_loop(scenario)


def test_a_daemon_that_stops_waits_for_no_git(stand: Stand, tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    slow.mkdir()
    (slow / "git").write_text("#!/bin/sh\nexec sleep 60\n")
    (slow / "git").chmod(0o755)

    async def scenario() -> None:
        async with stand.life() as one:
            await one.submit(a_spec("a"), "exit=0", labels=of("https://localhost:1/never.git"))
            await until(lambda: stand.grounds.is_coming(one.run("a").attempt))
            await until(lambda: bool(processes._running))  # noqa: SLF001
        await until(lambda: not processes._running)  # noqa: SLF001

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{slow}:/usr/bin:/bin")
        in_a_loop(scenario)


def test_a_late_release_of_one_attempt_is_none_of_the_next(stand: Stand, repository: Path) -> None:
    first, second = Attempt("a", 1), Attempt("a", 2)

    async def scenario() -> None:
        begun: list[Launch] = []
        for attempt in (first, second):
            launch = Launch(
                attempt=attempt,
                command=("true",),
                environment={},
                directory=Path("/"),
                limit_bytes=1,
                labels=of(repository),
            )
            stand.grounds.lay(launch, begun.append)
        await until(lambda: len(begun) == 2)
        stand.grounds._leave_workspace("a", first)  # noqa: SLF001
        stand.grounds._leave_workspace("a", None)  # noqa: SLF001
        assert _state(stand, "a") == "taken"
        stand.grounds._leave_workspace("a", second)  # noqa: SLF001
        assert _state(stand, "a") == "idle"
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
