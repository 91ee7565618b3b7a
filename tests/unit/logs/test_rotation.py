"""Rotation: what is kept, what goes first, and that all of it is counted."""

from __future__ import annotations

import gzip
import os
import random
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from paddock.core.run import Attempt
from paddock.logs.keeping import Keeping
from paddock.logs.names import Kind, parsed
from paddock.logs.output import OutputStore
from paddock.logs.shelf import Missing
from paddock.ports import Fate
from tests.kit.discarding import discard

RUN = "20261017-abc"
A = Attempt(RUN, 1)


def slowly() -> Callable[[], float]:
    """Hours between two looks at the clock: no agent is verbose."""
    return count(1e6, 10_000.0).__next__


def a_store(directory: Path, keeping: Keeping, *, packers: int = 0) -> OutputStore:
    store = OutputStore(directory, packers=packers, now=slowly())
    store.intake.about(RUN, "review", keeping)
    return store


def kinds(directory: Path) -> list[Kind]:
    found = [parsed(path.name) for path in (directory / RUN).iterdir()]
    return sorted(part.kind for part in found if part is not None)


def kept(store: OutputStore) -> bytes:
    data, at = b"", 0
    while (piece := store.piece(RUN, at, 1000)).data:
        data += piece.data
        at = piece.at + len(piece.data)
    return data


def test_at_its_size_a_file_is_packed_under_the_agents_name(tmp_path: Path) -> None:
    store = a_store(tmp_path, Keeping(buffer_bytes=100, total_bytes=1000))
    store.append(A, b"x" * 99)
    store.append(A, b"\n")
    store.append(A, b"live\n")
    [packed] = (tmp_path / RUN).glob("agent_review_*.log.gz")
    assert gzip.decompress(packed.read_bytes()) == b"x" * 99 + b"\n"
    assert packed.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / RUN / "1.log").read_bytes() == b"live\n"
    assert store.read(RUN, 98, 5) == b"x\nliv"
    assert store.missing(RUN) == (0, 0)


def test_the_last_files_are_kept_and_the_rest_is_counted(tmp_path: Path) -> None:
    store = a_store(tmp_path, Keeping(buffer_bytes=100, total_bytes=100_000, files=2))
    whole = b""
    for n in range(100):
        line = b"line %d\n" % n
        store.append(A, line)
        whole += line
    assert kinds(tmp_path) == [Kind.PACKED, Kind.PACKED, Kind.LIVE, Kind.GAP]
    left = kept(store)
    assert whole.endswith(left)
    lost = whole.removesuffix(left)
    assert store.missing(RUN) == Missing(len(lost), lost.count(b"\n"))
    first = store.piece(RUN, 0, 10)
    assert (first.at, first.missing_lines) == (len(lost), lost.count(b"\n"))
    assert store.piece(RUN, 1, 10).missing_lines is None, "part of a gap: not known"
    assert store.size(RUN) == len(whole)


def test_a_verbose_agent_has_more_room_before_it_is_cut(tmp_path: Path) -> None:
    store = OutputStore(tmp_path, packers=0)
    store.intake.about(RUN, "x", Keeping(buffer_bytes=1000, total_bytes=40_000))
    store.append(A, b"x" * 19_999)
    assert kinds(tmp_path) == [Kind.LIVE]
    store.append(A, b"x")
    assert kinds(tmp_path) == [Kind.PACKED]


def test_all_files_together_stay_below_the_total(tmp_path: Path) -> None:
    """What cannot be packed, so that nothing else would stop it."""
    total = 40_000
    store = a_store(tmp_path, Keeping(buffer_bytes=5_000, total_bytes=total, files=100))
    chance = random.Random(1)
    for _ in range(300):
        store.append(A, chance.randbytes(1000))
        used = sum(path.stat().st_size for path in (tmp_path / RUN).iterdir())
        assert used < total * 1.05
    assert len(kept(store)) > total / 2


def test_a_full_log_keeps_everything(tmp_path: Path) -> None:
    store = a_store(tmp_path, Keeping(buffer_bytes=100, total_bytes=100, files=1, full=True))
    whole = b"".join(b"line %d\n" % n for n in range(500))
    for at in range(0, len(whole), 50):
        store.append(A, whole[at : at + 50])
    assert kept(store) == whole
    assert store.missing(RUN) == (0, 0)


def test_of_a_run_that_nobody_knows_nothing_is_let_go(tmp_path: Path) -> None:
    """A daemon that has just come must not judge by the usual settings."""
    store = OutputStore(tmp_path, packers=0, now=slowly())
    store.intake.usual = Keeping(buffer_bytes=100, total_bytes=200, files=1)
    for n in range(100):
        store.append(A, b"line %d\n" % n)
    assert store.missing(RUN) == (0, 0)


def test_attempts_share_the_total_and_the_oldest_goes_first(tmp_path: Path) -> None:
    store = a_store(tmp_path, Keeping(buffer_bytes=1000, total_bytes=2000, files=3))
    whole = b""
    for number in range(1, 8):
        data = random.Random(number).randbytes(600)
        store.append(Attempt(RUN, number), data)
        whole += data
        store.intake.tidy_soon(RUN)
    left = kept(store)
    assert 1000 <= len(left) <= 2000
    assert whole.endswith(left)
    assert store.size(RUN) == len(whole)
    assert store.missing(RUN).bytes == len(whole) - len(left)


def test_a_file_that_its_agent_writes_itself_is_not_rotated(tmp_path: Path) -> None:
    """In a virtual machine it is a second name of the file: a rename would change nothing."""
    store = a_store(tmp_path, Keeping(buffer_bytes=10, total_bytes=1000))
    store.append(A, b"x")
    os.link(tmp_path / RUN / "1.log", tmp_path / "out")
    store.append(A, b"x" * 100)
    assert kinds(tmp_path) == [Kind.LIVE]


def test_after_a_loss_of_power_what_is_missing_is_a_gap(tmp_path: Path) -> None:
    """The new name was on the disk, and its last bytes were not."""
    store = a_store(tmp_path, Keeping(buffer_bytes=1000))
    directory = tmp_path / RUN
    store.append(A, b"0123456789\n")
    (directory / "1.log").rename(directory / "agent_x_20261017T000000Z.1.0-20.log")
    (directory / "1.log").write_bytes(b"after\n")
    assert kept(store) == b"0123456789\nafter\n"
    assert store.piece(RUN, 11, 100).at == 20
    store.intake.tidy_soon(RUN)
    assert kept(store) == b"0123456789\nafter\n"
    assert store.missing(RUN).bytes == 9
    assert store.size(RUN) == 26


def test_a_packed_file_that_was_spoilt_is_passed_over(tmp_path: Path) -> None:
    store = a_store(tmp_path, Keeping(buffer_bytes=100))
    store.append(A, b"x")
    store.append(A, b"x" * 99)
    store.append(A, b"after")
    [packed] = (tmp_path / RUN).glob("*.gz")
    packed.write_bytes(b"nonsense")
    assert store.read(RUN, 0, 10) == b"after"
    assert store.tail(RUN, 5) == 0


def test_an_agent_that_writes_faster_than_is_packed_waits(tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def step(name: str) -> None:
        if name == "write":
            begun.set()
            assert go_on.wait(10)

    store = OutputStore(tmp_path, packers=1, step=step, now=slowly())
    store.intake.about(RUN, "x", Keeping(buffer_bytes=100))
    try:
        store.append(A, b"x")
        store.append(A, b"x" * 99)
        assert begun.wait(10)
        assert store.intake.fate(A) is Fate.KEEP, "the next file has room"
        store.append(A, b"x")
        store.append(A, b"x" * 99)
        assert store.intake.fate(A) is Fate.HOLD
        assert store.intake.fate(Attempt("other", 1)) is Fate.KEEP
    finally:
        go_on.set()
    store.intake.settle()
    assert store.intake.fate(A) is Fate.KEEP
    store.close()


def test_readers_see_each_byte_once_while_files_are_rotated_and_packed(tmp_path: Path) -> None:
    store = a_store(tmp_path, Keeping(buffer_bytes=2000, full=True), packers=1)
    whole = b"".join(b"line %d\n" % n for n in range(20_000))
    over = threading.Event()
    wrong: list[str] = []

    def read() -> None:
        chance = random.Random(1)
        while not over.is_set():
            at = chance.randrange(max(1, store.size(RUN)))
            piece = store.piece(RUN, at, 300)
            if piece.at != at or whole[at : at + len(piece.data)] != piece.data or not piece.data:
                wrong.append(f"{at}: {piece.at} {piece.data[:40]!r}")

    store.append(A, whole[:100])
    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for at in range(100, len(whole), 700):
        store.append(A, whole[at : at + 700])
    over.set()
    for reader in readers:
        reader.join()
    store.close()
    assert wrong == []
    assert kept(store) == whole


def test_what_a_killed_daemon_left_is_taken_up(tmp_path: Path) -> None:
    directory = tmp_path / RUN
    directory.mkdir()
    (directory / "agent_x_20261017T000000Z.1.0-6.log").write_bytes(b"first\n")
    (directory / ".agent_x_20261017T000000Z.1.0-6.log.gz").write_bytes(b"half")
    (directory / "1.log").write_bytes(b"second\n")
    store = OutputStore(tmp_path, packers=1)
    store.take_up()
    store.intake.settle()
    store.close()
    assert kinds(tmp_path) == [Kind.PACKED, Kind.LIVE]
    assert not list(directory.glob(".*"))
    assert kept(store) == b"first\nsecond\n"


@pytest.mark.parametrize("packers", [0, 1])
def test_a_run_that_is_removed_stays_removed(tmp_path: Path, packers: int) -> None:
    store = a_store(tmp_path, Keeping(buffer_bytes=1000), packers=packers)
    for _ in range(200):
        store.append(A, b"x" * 300)
    store.remove(RUN)
    store.close()
    assert list(tmp_path.iterdir()) == []
    assert store.size(RUN) == 0


def test_the_quick_look_of_a_follower_sees_what_the_thorough_one_does(tmp_path: Path) -> None:
    """Over rotations, gaps, attempts, and an attempt that writes after its successor has begun."""
    store = a_store(tmp_path, Keeping(buffer_bytes=300, full=True))
    chance = random.Random(1)
    at = 0
    for n in range(400):
        number = 1 + n // 150 - (n % 150 == 1)
        attempt = Attempt(RUN, max(1, number))
        if n % 37 == 5:
            discard(store, attempt, b"not kept.\n")
        else:
            store.append(attempt, b"line %d\n" % n)
        if n % 101 == 100:
            store.intake.closed(attempt)
        while (quick := store.fresh(RUN, at, 50)).data or quick.at > at:
            assert quick == store.piece(RUN, at, 50)
            at = quick.at + len(quick.data)
        if chance.random() < 0.2:
            at = max(0, at - chance.randrange(400))
    assert at == store.size(RUN) or store.fresh(RUN, at, 50).data
