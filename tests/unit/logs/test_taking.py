"""Bytes for which there is no room: counted to the last one, whoever is killed over it."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from paddock.core.run import Attempt
from paddock.logs.output import OutputStore
from paddock.logs.shelf import NONE, Missing
from paddock.logs.taking import FILE, MOST_BYTES, Left, Taking, Whose
from paddock.logs.tidying import Tidier
from paddock.ports import Fate
from tests.kit.discarding import a_pipe, discard

A, B = Attempt("a", 1), Attempt("b", 2)


@pytest.fixture(autouse=True)
def _all_descriptors_are_closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Those of whoever was killed, too."""
    made: list[Taking] = []
    prepare = Taking.prepare

    def noted(self: Taking) -> Left | None:
        made.append(self)
        return prepare(self)

    monkeypatch.setattr(Taking, "prepare", noted)
    yield
    for one in made:
        one.close()


def taking(directory: Path) -> Taking:
    return Taking(directory, lambda _: None)


def take(by: Taking, data: bytes, whose: Whose) -> Missing:
    with a_pipe(data) as fifo_fd:
        return by.take(fifo_fd, len(data), whose)


@pytest.mark.parametrize(
    "data",
    [b"\n", b"some\ntext", b"x" * MOST_BYTES, bytes(range(256)) * 16, b"\xff" * 5000, b"\0" * 9],
)
def test_what_was_taken_last_is_known_to_the_next(tmp_path: Path, data: bytes) -> None:
    first = taking(tmp_path)
    assert first.prepare() is None, "nothing was taken yet"
    take(first, b"some of another\n" * 4000, Whose(B, 7))
    assert take(first, data, Whose(A, 1000, Missing(10, 3))) == (len(data), data.count(b"\n"))
    first.close()
    for _ in range(2):
        again = taking(tmp_path)
        assert again.prepare() == Left(A, 1000 + len(data), 3 + data.count(b"\n"))
        again.close()


@pytest.mark.parametrize("last", range(1, 5))
def test_whoever_ends_as_the_filler_does_is_counted_whole(tmp_path: Path, last: int) -> None:
    first = taking(tmp_path)
    first.prepare()
    take(first, b"x", Whose(B, 0))
    filler = (tmp_path / FILE).read_bytes()[4096:]
    data = b"x" * (100 - last) + filler[100 - last : 100]
    take(first, data, Whose(A, 0))
    first.close()
    found = taking(tmp_path).prepare()
    assert found is not None and (found.end == 100) is (last < 4)


def test_an_empty_pipe_and_one_that_holds_more(tmp_path: Path) -> None:
    by = taking(tmp_path)
    by.prepare()
    assert take(by, b"", Whose(A, 0)) == NONE
    with a_pipe(b"") as fifo_fd:
        assert by.take(fifo_fd, 10, Whose(A, 0)) == NONE, "its agent has read them itself"
    with a_pipe(b"x" * 1000) as fifo_fd:
        assert by.take(fifo_fd, 100, Whose(A, 0)).bytes == 100
        assert len(os.read(fifo_fd, 5000)) == 900


def spoil_by_text(path: Path) -> None:
    path.write_text("not ours")


def spoil_by_numbers(path: Path) -> None:
    path.write_text('["a", "x", null, 1, 2]')


def spoil_by_a_link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def spoil_by_a_directory(path: Path) -> None:
    path.mkdir()


def spoil_by_a_pipe(path: Path) -> None:
    os.mkfifo(path)


SPOILERS = (
    spoil_by_text,
    spoil_by_numbers,
    spoil_by_a_link,
    spoil_by_a_directory,
    spoil_by_a_pipe,
)


@pytest.mark.parametrize("spoil", SPOILERS)
def test_whatever_stands_in_its_place_output_is_counted(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    spoil(tmp_path / FILE)
    store = OutputStore(tmp_path, packers=0)
    store.take_up()
    discard(store, A, b"not kept.\n")
    assert store.missing("a") == (10, 1)
    assert store.runs() == (["a"] if spoil is not spoil_by_a_directory else [FILE, "a"])


class Refusing:
    """A file system that gives no new names."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_on = True
        widen = Tidier.widen

        def refuse(*words: object) -> None:
            if self.is_on:
                raise OSError(errno.ENOSPC, "No space left on device")
            widen(*words)  # type: ignore[arg-type]

        monkeypatch.setattr(Tidier, "widen", refuse)


def test_what_cannot_be_told_yet_is_told_later_and_before_more_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    names = Refusing(monkeypatch)
    store = OutputStore(tmp_path, packers=0)
    store.take_up()
    store.append(A, b"before\n")
    for _ in range(3):
        assert discard(store, A, b"not kept.\n"), "the agent goes on"
    assert len(caplog.records) == 1, "told once"
    assert store.intake.fate(A) is Fate.DISCARD, "what is kept now would stand in a wrong place"
    names.is_on = False
    assert store.intake.fate(A) is Fate.KEEP
    store.append(A, b"after\n")
    assert store.missing("a") == (30, 3)
    assert store.piece("a", 7, 100) == (37, b"after\n", 3, True)


def test_what_could_not_be_told_is_known_after_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = Refusing(monkeypatch)
    store = OutputStore(tmp_path, packers=0)
    store.take_up()
    store.append(A, b"before\n")
    for _ in range(3):
        discard(store, A, b"not kept.\n")
    (tmp_path / "a" / "1.log").write_bytes(b"after\n")  # the keeper, while no daemon is there
    second = OutputStore(tmp_path, packers=0)
    second.take_up()
    assert second.intake.fate(A) is Fate.DISCARD
    assert not discard(second, A, b"more.\n"), "it has no place: before it something is untold"
    names.is_on = False
    third = OutputStore(tmp_path, packers=0)
    third.take_up()
    assert third.intake.fate(A) is Fate.KEEP
    assert third.missing("a") == (30, 3)
    assert third.piece("a", 7, 100) == (37, b"after\n", 3, True)


@pytest.mark.parametrize("by_the_next", [False, True])
def test_a_run_that_was_removed_does_not_come_back_and_nothing_of_it_stays(
    tmp_path: Path, *, by_the_next: bool
) -> None:
    store = OutputStore(tmp_path, packers=0)
    store.take_up()
    discard(store, A, b"a secret\n")
    store.remove("b")
    assert b"a secret" in (tmp_path / FILE).read_bytes(), "its last, until another's comes"
    if by_the_next:
        store = OutputStore(tmp_path, packers=0)
        store.take_up()
    store.remove("a")
    assert b"a secret" not in (tmp_path / FILE).read_bytes()
    again = OutputStore(tmp_path, packers=0)
    again.take_up()
    assert again.runs() == []
    discard(again, A, b"not kept.\n")
    assert again.missing("a") == (10, 1)


def test_a_live_file_that_somebody_took_away_holds_nobody_up(tmp_path: Path) -> None:
    store = OutputStore(tmp_path, packers=0)
    store.take_up()
    store.append(A, b"before\n")
    (tmp_path / "a" / "1.log").unlink()
    assert not discard(store, A, b"x"), "it is looked for again"
    assert discard(store, A, b"not kept.\n")
    assert store.missing("a") == (10, 1)


def test_a_gap_that_somebody_removed_begins_anew(tmp_path: Path) -> None:
    store = OutputStore(tmp_path, packers=0)
    store.take_up()
    discard(store, A, b"not kept.\n")
    [gap] = (tmp_path / "a").iterdir()
    gap.unlink()
    discard(store, A, b"not kept.\n")
    discard(store, A, b"not kept.\n")
    assert store.missing("a") == (30, 2)


class Killed(BaseException):
    """Where it stands, nothing more is done."""


def test_what_was_taken_first_of_all_is_known_after_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the run has no directory yet."""

    def killed(*_: object, **__: object) -> None:
        raise Killed

    first = OutputStore(tmp_path, packers=0)
    first.take_up()
    with monkeypatch.context() as planted:
        planted.setattr(Path, "mkdir", killed)
        with pytest.raises(Killed):
            discard(first, A, b"not kept.\n")
    assert first.runs() == []
    second = OutputStore(tmp_path, packers=0)
    second.take_up()
    assert second.missing("a") == (10, 1)
    second.append(A, b"after\n")
    assert second.piece("a", 0, 100) == (10, b"after\n", 1, True)


@pytest.mark.parametrize("how", ["killed", "closed"])
def test_of_several_that_cannot_be_told_none_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    names = Refusing(monkeypatch)
    store = OutputStore(tmp_path, packers=0)
    store.take_up()
    taken = {one: discard(store, one, b"not kept.\n") for one in (A, B)}
    assert taken == {A: True, B: False}, "one may be untold: the other waits"
    if how == "closed":
        store.intake.closed(A)
        assert not discard(store, B, b"not kept.\n")
    names.is_on = False
    if how == "killed":
        store = OutputStore(tmp_path, packers=0)
        store.take_up()
    assert discard(store, B, b"not kept.\n")
    assert store.missing("a") == store.missing("b") == (10, 1)
    store.intake.closed(A)
    assert store.intake.written(A) is None, "nothing of it is held"


@pytest.mark.parametrize("where", [1, 2, 3])
def test_who_is_forgotten_in_a_thread_takes_nothing_of_another_along(
    tmp_path: Path, where: int
) -> None:
    written, reached, go_on = 0, threading.Event(), threading.Event()

    def step(what: str) -> None:
        nonlocal written
        if threading.current_thread().name == "forgets" and what == "write over":
            written += 1
            if written == where:
                reached.set()
                go_on.wait(0.3)

    store = OutputStore(tmp_path, packers=0, step=step)
    store.take_up()
    discard(store, A, b"not kept.\n")
    thread = threading.Thread(target=lambda: store.remove("a"), name="forgets")
    thread.start()
    assert reached.wait(5)
    discard(store, B, b"x\n" * 1000)
    go_on.set()
    thread.join()
    store.close()
    found = taking(tmp_path).prepare()
    assert found == Left(B, 2000, 1000)
