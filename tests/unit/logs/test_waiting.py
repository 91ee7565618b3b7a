"""Parts that wait to be packed: how many there are, who waits for them, when the disk has them."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from paddock.core.run import Attempt
from paddock.logs.aside import Aside
from paddock.logs.keeping import Keeping
from paddock.logs.names import Kind, parsed
from paddock.logs.output import OutputStore
from paddock.logs.packers import Packing
from paddock.ports import Fate
from tests.kit.waiting import until

RUN = "20261118-abc"
A = Attempt(RUN, 1)


class Packer:
    """One that has begun and goes on only when it is let: before it writes what it packed."""

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()

    def step(self, name: str) -> None:
        if name == "write":
            self.begun.set()
            assert self.go_on.wait(10)


@contextmanager
def a_store(directory: Path, packer: Packer) -> Iterator[OutputStore]:
    clock = count(1e6, 10_000.0).__next__  # hours between two looks: no agent is verbose
    store = OutputStore(directory, packers=1, step=packer.step, now=clock)
    store.intake.about(RUN, "review", Keeping(buffer_bytes=100, total_bytes=100_000))
    try:
        yield store
    finally:
        packer.go_on.set()
        store.close()


def kinds(directory: Path) -> list[Kind]:
    found = [parsed(path.name) for path in (directory / RUN).iterdir()]
    return sorted(part.kind for part in found if part is not None)


def test_who_waits_has_two_parts_before_it_and_nothing_live(tmp_path: Path) -> None:
    """What lies on the disk unpacked is never more than that."""
    packer = Packer()
    with a_store(tmp_path, packer) as store:
        moved = 0
        while store.intake.fate(A) is Fate.KEEP:
            store.append(A, b"x" * 9 + b"\n")
            moved += 10
            assert moved <= 200
        assert kinds(tmp_path) == [Kind.WAITING, Kind.WAITING]
        packer.go_on.set()
        store.intake.settle()
        assert kinds(tmp_path) == [Kind.PACKED, Kind.PACKED]
        assert store.size(RUN) == moved and store.missing(RUN) == (0, 0)


def test_who_waits_is_told_as_soon_as_one_of_them_is_packed(tmp_path: Path) -> None:
    packer, told = Packer(), threading.Event()
    with a_store(tmp_path, packer) as store:
        store.append(A, b"x")
        store.append(A, b"x" * 99)
        assert packer.begun.wait(10)
        store.intake.when_free(A, told.set)
        assert told.is_set(), "one may wait: nobody is held"
        told.clear()
        store.append(A, b"x")
        store.append(A, b"x" * 99)
        store.intake.when_free(A, told.set)
        assert not told.is_set()
        packer.go_on.set()
        assert told.wait(10)
        assert store.intake.fate(A) is Fate.KEEP


def test_who_asks_twice_is_told_once_also_when_nothing_could_be_packed() -> None:
    """An agent does not wait for what does not come."""
    begun, go_on = threading.Event(), threading.Event()
    told: list[str] = []

    def fail(_: str) -> bool:
        begun.set()
        assert go_on.wait(10)
        raise OSError("no room")

    def tell() -> None:
        told.append("free")

    packing = Packing(fail, packers=1)
    packing.ask("run", waiting=1)
    assert begun.wait(10)
    packing.ask("run", waiting=1)
    assert packing.is_behind("run") and not packing.is_behind("another")
    packing.when_free("run", tell)
    packing.when_free("run", tell)
    go_on.set()
    packing.settle()
    assert told == ["free"] and not packing.is_behind("run")
    packing.close()


class Disk:
    """What was synced: inode, the names that were there, and by which thread."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced: list[tuple[int, list[str], str]] = []
        sync = os.fsync

        def noting(descriptor: int) -> None:
            found = sorted(path.name for path in directory.iterdir())
            sync(descriptor)
            inode = os.fstat(descriptor).st_ino
            self.synced.append((inode, found, threading.current_thread().name))

        monkeypatch.setattr(os, "fsync", noting)


def test_what_was_rotated_is_put_on_the_disk_under_its_name_and_nobody_waits_for_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Power may fail before the packer is done, or has its turn."""
    packer, directory = Packer(), tmp_path / RUN
    with a_store(tmp_path, packer) as store:
        store.append(A, b"x" * 50)
        live = (directory / "1.log").stat().st_ino
        disk = Disk(directory, monkeypatch)
        store.append(A, b"x" * 50)
        until(lambda: len(disk.synced) == 2)
        assert [synced[0] for synced in disk.synced] == [live, directory.stat().st_ino]
        for _, found, thread in disk.synced:
            assert thread.startswith("aside")
            assert any(name.startswith("agent_review_") for name in found)


def test_what_another_daemon_left_waiting_is_put_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packer, directory = Packer(), tmp_path / RUN
    directory.mkdir()
    left = directory / "agent_x_20261118T000000Z.1.0-6.log"
    left.write_bytes(b"first\n")
    inode = left.stat().st_ino
    disk = Disk(directory, monkeypatch)
    with a_store(tmp_path, packer) as store:
        store.take_up()
        until(lambda: any(synced[0] == inode for synced in disk.synced))


def test_what_was_packed_is_on_the_disk_under_its_name_before_its_raw_bytes_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packer, directory = Packer(), tmp_path / RUN
    packer.go_on.set()
    with a_store(tmp_path, packer) as store:
        store.append(A, b"x" * 50)
        disk = Disk(directory, monkeypatch)
        store.append(A, b"x" * 50)
        store.intake.settle()
        [packed] = directory.glob("*.gz")
        own = [synced for synced in disk.synced if synced[2].startswith("pack")]
        (file, before, _), (name, after, _) = own
        assert (file, name) == (packed.stat().st_ino, directory.stat().st_ino)
        assert packed.name not in before and packed.name in after
        for found in (before, after):
            assert any(one.startswith("agent_review_") and one.endswith(".log") for one in found)


def test_what_cannot_be_put_on_the_disk_keeps_nobody_from_the_next() -> None:
    asked: list[str] = []

    def fail() -> None:
        asked.append("first")
        raise OSError("input/output error")

    aside = Aside(at_once=False)
    aside.sync("run", fail)
    aside.sync("run", lambda: asked.append("second"))
    until(lambda: asked == ["first", "second"])
    aside.close()
    aside.sync("run", lambda: asked.append("third"))
    assert asked == ["first", "second"]


def test_at_the_end_files_are_given_back_and_the_rest_is_left_to_the_next_daemon() -> None:
    begun, go_on = threading.Event(), threading.Event()
    asked: list[str] = []
    reader, writer = os.pipe()

    def slowly() -> None:
        begun.set()
        assert go_on.wait(10)

    aside = Aside(at_once=False)
    aside.sync("run", slowly)
    assert begun.wait(10)
    aside.sync("run", lambda: asked.append("next"))
    aside.let_go(writer)
    closing = threading.Thread(target=aside.close)
    closing.start()
    until(lambda: aside.is_closed)
    go_on.set()
    closing.join()
    assert asked == []
    assert os.read(reader, 1) == b"", "nobody holds its other end"
    os.close(reader)
