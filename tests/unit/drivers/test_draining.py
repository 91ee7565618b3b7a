"""Draining a FIFO: in order and whole, at once or by a thread, and never at the loop's expense."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from paddock.core.run import Attempt
from paddock.drivers import draining
from paddock.drivers.container import drain as container
from paddock.drivers.draining import Drain, Ends
from paddock.drivers.keep_all import KEEP_ALL, KeepAll
from paddock.drivers.local import drain as local
from paddock.drivers.local.keeper.output import open_fifo
from paddock.logs.keeping import Keeping
from paddock.logs.output import OutputStore
from paddock.ports import Fate

A = Attempt("run", 1)
Make = Callable[[Path, OutputStore], Drain]


def of_local(directory: Path, store: OutputStore) -> Drain:
    fifos = (f"{directory}/fifo", "")
    segment = f"{directory}/output/run/1.log"
    return local.drain_of(fifos, segment, lambda _: None, attempt=A, capture=store.intake)


def of_container(directory: Path, store: OutputStore) -> Drain:
    words = (f"{directory}/fifo", f"{directory}/output/run/1.log", lambda _: None)
    return container.drain_of(*words, attempt=A, capture=store.intake)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.002)


def written_in_a_thread(fifo: str, data: bytes) -> threading.Thread:
    def write() -> None:
        with open(fifo, "wb", buffering=0) as file:  # noqa: PTH123
            left = data
            while left:
                left = left[file.write(left) :]

    thread = threading.Thread(target=write)
    thread.start()
    return thread


@pytest.mark.parametrize("make", [of_local, of_container])
def test_a_flood_comes_through_whole_and_rotated(tmp_path: Path, make: Make) -> None:
    data = b"".join(b"line %d\n" % n for n in range(400_000))

    async def scenario() -> None:
        os.mkfifo(tmp_path / "fifo")
        store = OutputStore(tmp_path / "output", packers=1)
        store.intake.about("run", "flood", Keeping(buffer_bytes=1 << 20, full=True))
        drain = make(tmp_path, store)
        thread = written_in_a_thread(f"{tmp_path}/fifo", data)
        await until(lambda: not thread.is_alive())
        await until(drain.empty)
        drain.close()
        store.intake.settle()
        store.close()
        assert store.size("run") == len(data)
        found = b""
        while piece := store.read("run", len(found), 1 << 20):
            found += piece
        assert found == data
        assert len(list((tmp_path / "output/run").glob("agent_flood_*.log.gz"))) > 1

    asyncio.run(scenario())


def test_a_flood_that_is_held_goes_on_when_it_is_told_and_what_goes_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not when it looks again: that is for the day on which nobody tells it."""
    monkeypatch.setattr(draining, "HELD_AT_MOST_S", 60.0)
    data = b"".join(b"line %d\n" % n for n in range(400_000))

    async def scenario() -> None:
        os.mkfifo(tmp_path / "fifo")
        store = OutputStore(tmp_path / "output", packers=1)
        store.intake.about("run", "x", Keeping(buffer_bytes=1 << 17, total_bytes=1 << 18, files=2))
        drain = of_local(tmp_path, store)
        thread = written_in_a_thread(f"{tmp_path}/fifo", data)
        await until(lambda: not thread.is_alive())
        await until(drain.empty)
        drain.close()
        store.intake.settle()
        store.close()
        assert store.intake.counted.held > 1
        first = store.piece("run", 0, 1 << 20)
        found, at = b"", first.at
        while piece := store.read("run", at + len(found), 1 << 20):
            found += piece
        lost = data.removesuffix(found)
        assert len(lost) < len(data) and first.at == len(lost)
        assert store.missing("run") == (len(lost), lost.count(b"\n"))

    asyncio.run(scenario())


def test_after_its_end_whoever_is_told_to_go_on_opens_nothing(tmp_path: Path) -> None:
    told: list[Callable[[], None]] = []

    class Behind(KeepAll):
        def fate(self, attempt: Attempt) -> Fate:  # noqa: ARG002
            return Fate.HOLD

        def when_free(self, attempt: Attempt, then: Callable[[], None]) -> None:  # noqa: ARG002
            told.append(then)

    async def scenario() -> None:
        os.mkfifo(tmp_path / "fifo")
        opened: list[int] = []

        def opening() -> int:
            opened.append(open_fifo(f"{tmp_path}/fifo"))
            return opened[-1]

        ends = Ends(opening, lambda *_: pytest.fail("it is held"), "file")
        drain = Drain(ends, lambda _: None, attempt=A, capture=Behind())
        os.write(opened[0], b"x")
        assert not drain.empty()
        drain.close()
        [go_on] = told
        go_on()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert len(opened) == 1

    asyncio.run(scenario())


def test_while_a_disk_is_slow_the_loop_goes_on_and_closing_waits(tmp_path: Path) -> None:
    """The thread that moves is in the kernel's hands; whoever closes must not leave it there."""
    go_on, is_in = threading.Event(), threading.Event()

    def keep(fifo_fd: int, most: int) -> int:
        is_in.set()
        assert go_on.wait(10)
        return len(os.read(fifo_fd, most))

    async def scenario() -> None:
        os.mkfifo(tmp_path / "fifo")
        writer = os.open(tmp_path / "fifo", os.O_RDWR)
        ends = Ends(lambda: open_fifo(f"{tmp_path}/fifo"), keep, "file")
        drain = Drain(ends, lambda _: None, attempt=A, capture=KEEP_ALL)
        os.write(writer, b"x" * 60_000)
        await until(is_in.is_set)
        assert not drain.empty(), "what is on its way is not there yet"
        asyncio.get_running_loop().call_later(0.05, go_on.set)
        await until(go_on.is_set)  # the loop is free: the call above comes
        await until(drain.empty)
        is_in.clear()
        go_on.clear()
        os.write(writer, b"x" * 60_000)
        await until(is_in.is_set)
        threading.Timer(0.05, go_on.set).start()
        drain.close()
        assert go_on.is_set(), "nobody moves a byte after that"
        os.close(writer)

    asyncio.run(scenario())


def test_who_waits_for_a_slow_disk_after_trouble_does_not_spin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look after the trouble finds it in a mover's hands already: its end was asked for."""
    monkeypatch.setattr(draining, "RETRY_S", 0.05)
    go_on, kept, moves = threading.Event(), list[int](), list[int]()
    move = Drain._move  # noqa: SLF001

    def keep(fifo_fd: int, most: int) -> int:
        kept.append(most)
        if len(kept) == 1:
            raise OSError(errno.EIO, "I/O error")
        assert go_on.wait(10)
        return len(os.read(fifo_fd, most))

    def counted(drain: Drain) -> bool:
        moves.append(1)
        return move(drain)

    monkeypatch.setattr(Drain, "_move", counted)

    async def scenario() -> None:
        os.mkfifo(tmp_path / "fifo")
        writer = os.open(tmp_path / "fifo", os.O_RDWR)
        ends = Ends(lambda: open_fifo(f"{tmp_path}/fifo"), keep, "file")
        drain = Drain(ends, lambda _: None, attempt=A, capture=KEEP_ALL)
        os.write(writer, b"x")
        await until(lambda: bool(kept))
        os.write(writer, b"x" * 60_000)
        assert not drain.empty()
        await asyncio.sleep(0.2)
        assert len(moves) < 10
        go_on.set()
        await until(drain.empty)
        drain.close()
        os.close(writer)

    asyncio.run(scenario())


def a_scenario_without_room(tmp_path: Path, *, burst: int) -> Callable[[], Awaitable[None]]:
    def keep(*_: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    async def scenario() -> None:
        os.mkfifo(tmp_path / "fifo")
        writer = os.open(tmp_path / "fifo", os.O_RDWR | os.O_NONBLOCK)
        store = OutputStore(tmp_path / "output", packers=0)
        ends = Ends(lambda: open_fifo(f"{tmp_path}/fifo"), keep, "file")
        drain = Drain(ends, lambda _: None, attempt=A, capture=store.intake)
        count = 0
        for _ in range(20):
            with suppress(BlockingIOError):
                count += os.write(writer, b"x" * (burst - 1) + b"\n")
            await asyncio.sleep(0.005)
        await until(drain.empty)
        assert store.missing("run").bytes == count > 5 * burst
        assert store.notices()
        drain.close()
        os.close(writer)

    return scenario


@pytest.mark.parametrize("burst", [100, 60_000])
def test_where_there_is_no_room_the_agent_goes_on_and_bytes_are_counted(
    tmp_path: Path, burst: int
) -> None:
    asyncio.run(a_scenario_without_room(tmp_path, burst=burst)())  # type: ignore[arg-type]
