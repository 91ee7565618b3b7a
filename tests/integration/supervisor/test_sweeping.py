"""What attempts leave goes at once if there is anything in it, and else when few others end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.supervisor import sweeping
from paddock.supervisor.sweeping import Sweeper, is_untouched


def tick(path: Path) -> None:
    """Until the clock of the file system has moved on since this was last changed: it goes in steps
    of 1 to 10 ms."""
    probe = path.with_name(f"{path.name}.probe")
    while True:
        probe.touch()
        if probe.stat().st_mtime_ns > path.stat().st_ctime_ns:
            probe.unlink()
            return


@pytest.fixture
def sweeper(tmp_path: Path) -> Iterator[Sweeper]:
    def remove(name: str) -> None:
        for each in (tmp_path / name).iterdir():
            each.unlink()
        (tmp_path / name).rmdir()

    made = Sweeper(remove, tmp_path.joinpath)
    yield made
    made.close()


def a_directory(path: Path, *, holds: str = "") -> Path:
    path.mkdir()
    if holds:
        tick(path)
        (path / holds).touch()
    return path


async def gone(path: Path, *, within_s: float = 10.0) -> float:
    """How long it took."""
    began = time.monotonic()
    while path.exists():
        assert time.monotonic() < began + within_s, f"{path} is still there"
        await asyncio.sleep(0.005)
    return time.monotonic() - began


@pytest.mark.parametrize("touched", ["a file", "was a file", "a directory"])
def test_whatever_is_put_there_it_is_touched(tmp_path: Path, touched: str) -> None:
    made = a_directory(tmp_path / "made")
    assert is_untouched(made)
    tick(made)
    if touched == "a directory":
        (made / "directory").mkdir()
    else:
        (made / "file").touch()
    if touched == "was a file":
        (made / "file").unlink()
    assert not is_untouched(made)


def test_a_new_name_touches_nothing(tmp_path: Path) -> None:
    made = a_directory(tmp_path / "made")
    tick(made)
    assert is_untouched(made.rename(tmp_path / "named"))


def test_what_is_not_there_or_holds_something_waits_for_nothing(tmp_path: Path) -> None:
    assert not is_untouched(tmp_path / "nothing")
    elsewhere = a_directory(tmp_path / "elsewhere", holds="file")
    assert not is_untouched(elsewhere)


def test_what_holds_something_goes_while_others_still_end(tmp_path: Path, sweeper: Sweeper) -> None:
    async def play() -> None:
        full, empty = a_directory(tmp_path / "full", holds="file"), a_directory(tmp_path / "empty")
        sweeper.add("full")
        sweeper.add("empty")
        began = time.monotonic()
        while time.monotonic() < began + 1.5 * sweeping.QUIET_S:
            a_directory(tmp_path / f"more-{time.monotonic_ns()}")
            sweeper.add(max(each.name for each in tmp_path.glob("more-*")))
            await asyncio.sleep(0.02)
        assert not full.exists() and empty.exists()
        for each in list(tmp_path.iterdir()):
            await gone(each)

    asyncio.run(play())


@pytest.mark.parametrize(("name", "value"), [("LATEST_S", 0.2), ("MOST", 20)])
def test_without_a_quiet_moment_it_goes_nevertheless(
    tmp_path: Path, sweeper: Sweeper, monkeypatch: pytest.MonkeyPatch, name: str, value: float
) -> None:
    async def play() -> None:
        monkeypatch.setattr(sweeping, "QUIET_S", 0.3)
        monkeypatch.setattr(sweeping, name, value)
        first = a_directory(tmp_path / "first")
        sweeper.add("first")
        began = time.monotonic()
        number = 0
        while first.exists():
            assert time.monotonic() < began + 10
            number += 1
            a_directory(tmp_path / f"more-{number}")
            sweeper.add(f"more-{number}")
            await asyncio.sleep(0.01)
        assert (tmp_path / f"more-{number}").exists()

    asyncio.run(play())


@pytest.mark.parametrize("bad", ["a file", "no place"])
def test_one_that_cannot_be_removed_keeps_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, bad: str
) -> None:
    def path(name: str) -> Path:
        if name == "no place":
            raise ValueError("nothing has such a name")
        return tmp_path / name

    async def play() -> None:
        sweeper = Sweeper(lambda name: (tmp_path / name).rmdir(), path)
        (tmp_path / "a file").touch()
        other = a_directory(tmp_path / "other")
        sweeper.add(bad)
        sweeper.add("other")
        await gone(other)
        sweeper.close()

    asyncio.run(play())
    assert f"{bad} is left" in caplog.text


def test_who_closes_it_is_told_what_is_left(tmp_path: Path, sweeper: Sweeper) -> None:
    async def play() -> None:
        a_directory(tmp_path / "empty")
        sweeper.add("empty")
        await asyncio.sleep(4 * sweeping.SWEEP_S)
        a_directory(tmp_path / "late", holds="file")
        sweeper.add("late")
        assert sweeper.close() == ["late", "empty"]
        await asyncio.sleep(2 * sweeping.QUIET_S)
        assert sorted(each.name for each in tmp_path.iterdir()) == ["empty", "late"]

    asyncio.run(play())
