"""One stream over the files of a run's attempts: read anywhere, from behind, and never too much."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path

import pytest

from paddock.core.run import Attempt
from paddock.logs.output import OutputStore
from paddock.logs.packing import MEMBER_BYTES, UNPACKED_KEPT
from paddock.logs.shelf import BLOCK_BYTES


@pytest.fixture
def store(tmp_path: Path) -> OutputStore:
    return OutputStore(tmp_path / "output")


def test_of_who_never_wrote_nothing_is_read(store: OutputStore) -> None:
    assert store.size("a") == 0
    assert store.read("a", 0, 10) == b""
    assert store.tail("a", 5) == 0
    assert store.runs() == []
    store.remove("a")


def test_attempts_are_one_stream_in_their_order(store: OutputStore) -> None:
    for number in (10, 2, 1):
        store.append(Attempt("a", number), f"attempt {number}\n".encode())
    store.append(Attempt("a", 2), b"more\n")
    whole = b"attempt 1\nattempt 2\nmore\nattempt 10\n"
    assert store.read("a") == whole
    assert store.size("a") == len(whole)
    for begin in range(len(whole) + 2):
        for most in (1, 7, 100):
            assert store.read("a", begin, most) == whole[begin : begin + most]


@pytest.mark.parametrize("seed", range(5))
def test_the_last_lines_begin_where_a_simple_reader_finds_them(
    store: OutputStore, seed: int
) -> None:
    chance = random.Random(seed)
    whole = b""
    for number in range(1, 5):
        sizes = [chance.choice([0, 1, 50, BLOCK_BYTES]) for _ in range(chance.randrange(5))]
        data = b"\n".join(b"x" * size for size in sizes)
        whole += data
        store.append(Attempt("a", number), data)
    for lines in range(12):
        expected = b"".join(whole.splitlines(keepends=True)[-lines:]) if lines else b""
        assert store.read("a", store.tail("a", lines), len(whole) + 1) == expected


def test_an_endless_line_takes_no_more_memory_than_what_was_unpacked_last(
    store: OutputStore,
) -> None:
    for _ in range(32):
        store.append(Attempt("a", 1), b"x" * (1 << 20))
    store.intake.settle()
    tracemalloc.start()
    assert store.tail("a", 1) == 0
    assert len(store.read("a", 1000, 100)) == 100
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < (UNPACKED_KEPT + 4) * MEMBER_BYTES


@pytest.mark.parametrize("run", ["..", ".", "", "a/b", "../a", "a\0b", "a\nb", "/etc"])
def test_a_name_that_leads_elsewhere_is_nobodys(store: OutputStore, run: str) -> None:
    assert store.read(run) == b""
    store.remove(run)
    with pytest.raises(ValueError, match="cannot name"):
        store.append(Attempt(run, 1), b"x")


def test_links_are_never_followed(store: OutputStore, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "1.log").write_bytes(b"secret")
    store.append(Attempt("a", 1), b"own\n")
    (tmp_path / "output" / "b").symlink_to(precious)
    (tmp_path / "output" / "a" / "2.log").symlink_to(precious / "1.log")
    assert store.read("b") == b""
    assert store.read("a") == b"own\n"
    assert store.runs() == ["a"]
    for write in (Attempt("b", 1), Attempt("a", 2)):
        with pytest.raises(OSError, match=r"symbolic|directory"):
            store.append(write, b"x")
    store.remove("b")
    store.remove("a")
    assert (precious / "1.log").read_bytes() == b"secret"
    assert list((tmp_path / "output").iterdir()) == []


def test_what_is_written_is_closed_to_others(store: OutputStore, tmp_path: Path) -> None:
    store.append(Attempt("a", 1), b"x")
    directory = tmp_path / "output" / "a"
    assert directory.stat().st_mode & 0o777 == 0o700
    assert (directory / "1.log").stat().st_mode & 0o777 == 0o600
