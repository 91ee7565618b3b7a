"""Workspaces that are given back while somebody is at work on them, or the disk is full."""

from __future__ import annotations

import asyncio
import errno
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from paddock.core.run import Attempt
from paddock.ports import Launch
from paddock.supervisor import leaving
from paddock.workspaces.locks import hold
from tests.kit.stand import Stand, a_launch
from tests.kit.supervising import in_a_loop, until


@contextmanager
def saving(stand: Stand, run: str, seconds: float) -> Iterator[None]:
    """As a salvage does, of a workspace with many files."""
    path = stand.room.path(run)
    assert path is not None
    begun = threading.Event()

    def save() -> None:
        with hold(path.parent / f".{run}.lock", who=f"saving {run}", wait_s=10):
            begun.set()
            time.sleep(seconds)

    thread = threading.Thread(target=save)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        thread.join()


async def begun_in(stand: Stand, repository: Path, attempt: Attempt) -> list[Launch]:
    begun: list[Launch] = []
    stand.grounds.lay(a_launch(attempt, repository), begun.append)
    return begun


def test_the_loop_does_not_wait_for_a_workspace_that_is_being_saved(
    stand: Stand, repository: Path
) -> None:
    async def scenario() -> None:
        first, second = Attempt("a", 1), Attempt("b", 1)
        begun = await begun_in(stand, repository, first)
        await until(lambda: bool(begun))
        with saving(stand, "a", 2.0):
            stand.grounds.clear(first)
            await asyncio.sleep(0.2)  # it is on its way back
            before = time.monotonic()
            again = await begun_in(stand, repository, second)
            assert time.monotonic() - before < 0.5, "the loop stood still"
            await until(lambda: bool(again))
            await until(lambda: stand.state("a") == "idle")
        stand.grounds.close()

    in_a_loop(scenario)


def test_one_that_could_not_be_given_back_is_given_back_later(
    stand: Stand, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaving, "AGAIN_S", 0.05)
    release, tried = stand.room.release, []

    def full_at_first(run: str, **more: object) -> None:
        tried.append(run)
        if len(tried) == 1:
            raise OSError(errno.ENOSPC, "no space left on device")
        release(run, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(stand.room, "release", full_at_first)

    async def scenario() -> None:
        first = Attempt("a", 1)
        begun = await begun_in(stand, repository, first)
        await until(lambda: bool(begun))
        stand.grounds.clear(first)
        await until(lambda: stand.state("a") == "idle", within_s=5.0)
        stand.grounds.close()

    in_a_loop(scenario)
