"""Runs that wait for a workspace: no attempt, no repeated story, and on when there is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.core.events import CancelRequested
from paddock.core.run import Outcome, Queued, Running
from paddock.workspaces import size_rules
from tests.kit.factories import a_spec
from tests.kit.repositories import git
from tests.kit.stand import Stand, of
from tests.kit.supervising import Supervised, in_a_loop, until


def waits(one: Supervised, run: str) -> str:
    state = one.run(run).state
    return state.because if isinstance(state, Queued) and state.awaits_place else ""


def test_where_all_are_taken_a_run_waits_and_says_for_what(
    tmp_path: Path, repository: Path
) -> None:
    stand = Stand(tmp_path, most=1)

    async def scenario() -> None:
        async with stand.life() as one:
            await one.submit(a_spec("a"), "sleep=600", labels=of(repository))
            await until(lambda: isinstance(one.run("a").state, Running), within_s=60)
            await one.submit(a_spec("b"), "exit=0", labels=of(repository))
            await until(lambda: waits(one, "b") != "", within_s=60)
            assert "all 1 workspaces are in use" in waits(one, "b")
            assert one.run("b").attempts == 0
            looks = stand.looks
            await until(lambda: stand.looks > looks + 1, within_s=60)
            one.supervisor.post(CancelRequested(0.0, "a", force=True))
            [end] = await one.ended("b", within_s=60)
            assert end.outcome is Outcome.SUCCEEDED and one.run("b").attempts == 1
            told = [move.because for move in stand.store.story("b")]
            assert [text.split(";")[0] for text in told[1:]] == [
                "there is room for it",
                "all 1 workspaces are in use",
                "there may be a workspace for it now",
                "there is room for it",
                "the agent runs",
                "exit code 0",
            ]

    in_a_loop(scenario)


def test_who_waited_goes_on_under_the_next_daemon(tmp_path: Path, repository: Path) -> None:
    stand = Stand(tmp_path, most=1)
    stand.room.prepare("other", repository=repository)

    async def scenario() -> None:
        async with stand.life() as one:
            await one.submit(a_spec("b"), "exit=0", labels=of(repository))
            await until(lambda: waits(one, "b") != "", within_s=60)
            await one.supervisor.settled()
        again = Stand(tmp_path, most=1)
        again.store = stand.store
        async with again.life() as one:
            assert waits(one, "b") != ""
            again.grounds.places.want()
            again.room.release("other")
            [end] = await one.ended("b", within_s=60)
            assert end.outcome is Outcome.SUCCEEDED

    in_a_loop(scenario)


def test_a_large_address_gets_more_time(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knew how large it is before it was fetched."""
    monkeypatch.setattr(size_rules, "_FACTORS", ((1 << 20, 1.0), (1 << 30, 1.25)))
    stand = Stand(tmp_path)
    (repository / "large.bin").write_bytes(b"\0" * (2 << 20))
    git(repository, "add", "large.bin")
    git(repository, "commit", "-m", "large")
    git(repository, "config", "uploadpack.allowFilter", "true")

    async def scenario() -> None:
        async with stand.life() as one:
            await one.submit(a_spec("a"), "sleep=600", labels=of(f"file://{repository}"))
            await until(lambda: isinstance(one.run("a").state, Running), within_s=60)
            state = one.run("a").state
            assert isinstance(state, Running) and state.hard_at is not None
            simple_s = one.supervisor.fleet.policy.timeouts.simple_s
            assert state.hard_at - state.since_at == pytest.approx(1.25 * 2 * simple_s)
            told = stand.store.story
            await until(lambda: any("1.25 times" in move.because for move in told("a")))

    in_a_loop(scenario)
