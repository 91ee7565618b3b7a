"""Output over any order of writes, rotations, crashes and reads: each byte is there, or is counted.

The world ends at any of the system calls that change a name: the store is thrown away in the
middle of it, and another is made on what it left.
"""

from __future__ import annotations

import errno
import shutil
import tempfile
import threading
from itertools import count
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from paddock.core.run import Attempt
from paddock.drivers.draining import waiting_bytes
from paddock.logs.keeping import Keeping
from paddock.logs.output import OutputStore
from paddock.ports import Fate
from tests.kit.discarding import a_pipe

RUN = "20261017-review"
SHM = Path("/dev/shm")
HOME = SHM if SHM.is_dir() else None  # a sync of a real disk takes milliseconds
TEXT = st.binary(max_size=40).map(lambda data: data + b"\n") | st.binary(min_size=1, max_size=90)

# A byte or two that are alone, and in no text, may be mistaken for the filler (`taking.py`).
NOT_KEPT = TEXT.filter(lambda data: len(data) > 3 or data.endswith(b"\n"))
LONG = st.none() | st.integers(0, 14)  # system calls until the end


class Crash(BaseException):
    """`kill -9`."""


class Fuse:
    """Burns down by one at each system call."""

    def __init__(self) -> None:
        self.left: int | None = None
        self.disk_is_full = False  # for whoever packs
        self.steps: set[str] = set()

    def __call__(self, step: str) -> None:
        self.steps.add(step)
        if self.disk_is_full and step == "write":
            raise OSError(errno.ENOSPC, "No space left on device")
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                self.left = None
                raise Crash


class Logs(RuleBasedStateMachine):
    """The model is everything that was ever written, by attempt, kept or not."""

    store: OutputStore

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp(prefix="paddock-logs-", dir=HOME))
        self.fuse = Fuse()
        self.written = [b""]

    @initialize(
        buffer=st.integers(20, 100),
        files=st.integers(1, 3),
        total=st.integers(40, 400),
        full=st.booleans(),
    )
    def begin(self, *, buffer: int, files: int, total: int, full: bool) -> None:
        self.keeping = Keeping(buffer_bytes=buffer, total_bytes=total, files=files, full=full)
        self.start()

    def start(self) -> None:
        if hasattr(self, "store"):
            self.store.close()  # its descriptors, as a kill does
        self.store = OutputStore(self.home, packers=0, step=self.fuse)
        self.store.intake.about(RUN, "re/view ..\n", self.keeping)
        self.unless_it_ends(self.store.intake.take_up)

    @property
    def attempt(self) -> Attempt:
        return Attempt(RUN, len(self.written))

    @rule(data=TEXT, after=LONG)
    def write(self, data: bytes, after: int | None) -> None:
        self.fuse.left = after
        self.written[-1] += data  # the bytes are in the file before anything else is done
        self.unless_it_ends(lambda: self.store.append(self.attempt, data))

    @rule(data=NOT_KEPT, after=LONG)
    def lack_room(self, data: bytes, after: int | None) -> None:
        self.fuse.left = after
        with a_pipe(data) as fifo_fd:
            self.unless_it_ends(lambda: self.store.intake.discard(self.attempt, fifo_fd, len(data)))
            self.written[-1] += data[: len(data) - waiting_bytes(fifo_fd)]

    @rule(after=LONG)
    def rotate(self, after: int | None) -> None:
        self.fuse.left = after
        self.unless_it_ends(lambda: self.store.intake.rotate(self.attempt))

    @rule(after=LONG)
    def tidy(self, after: int | None) -> None:
        self.fuse.left = after
        self.unless_it_ends(lambda: self.store.intake.tidy_soon(RUN))

    @rule(full=st.booleans())
    def fill_the_disk(self, *, full: bool) -> None:
        """Then nothing can be packed: several parts wait, and are synced as they are."""
        self.fuse.disk_is_full = full

    @precondition(lambda self: self.written[-1])
    @rule()
    def try_once_more(self) -> None:
        self.unless_it_ends(lambda: self.store.intake.closed(self.attempt))
        self.written.append(b"")

    @rule(after=LONG)
    def restart(self, after: int | None) -> None:
        self.fuse.left = after
        self.start()
        self.unless_it_ends(self.store.take_up)

    def unless_it_ends(self, work: object) -> None:
        try:
            work()  # type: ignore[operator]
        except Crash:
            self.start()

    @invariant()
    def everything_is_there_or_counted(self) -> None:
        if not hasattr(self, "store"):
            return
        whole = b"".join(self.written)
        assert self.store.size(RUN) == len(whole)
        found, lost, at = 0, b"", 0
        while (piece := self.store.piece(RUN, at, 33)).data:
            assert piece.at >= at
            assert piece.data == whole[piece.at : piece.at + len(piece.data)]
            lost += whole[at : piece.at]
            at = piece.at + len(piece.data)
            found += len(piece.data)
        lost += whole[at:]
        missing = self.store.missing(RUN)
        assert missing.bytes == len(lost) == len(whole) - found
        assert missing.lines == lost.count(b"\n")

    @invariant()
    def the_last_lines_begin_after_a_line_end(self) -> None:
        if hasattr(self, "store") and (whole := b"".join(self.written)):
            at = self.store.tail(RUN, 2)
            assert at == 0 or self.store.missing(RUN).bytes or whole[at - 1 : at] == b"\n"

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
        shutil.rmtree(self.home)
        Reached.steps |= self.fuse.steps


class Reached:
    steps: ClassVar[set[str]] = set()


class Late:
    """A packer that writes only when its agent is held: as far behind as one can be."""

    def __init__(self, home: Path, keeping: Keeping) -> None:
        self._is_held = threading.Event()
        self.store = OutputStore(home, packers=1, step=self._step, now=count(1e6, 1e4).__next__)
        self.store.intake.about(RUN, "review", keeping)

    def _step(self, name: str) -> None:
        if name == "write":
            assert self._is_held.wait(10)

    def write(self, data: bytes) -> None:
        if self.store.intake.fate(Attempt(RUN, 1)) is Fate.HOLD:
            free = threading.Event()
            self.store.intake.when_free(Attempt(RUN, 1), free.set)
            self._is_held.set()
            assert free.wait(10)
            self._is_held.clear()
        self.store.append(Attempt(RUN, 1), data)

    def end(self) -> None:
        self._is_held.set()
        self.store.intake.settle()
        self.store.close()


# What packs well: of a part that waits there is then much more than of one that is packed.
LINES = st.integers(1, 40).map(lambda lines: b"and so on\n" * lines) | TEXT


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(LINES, min_size=20, max_size=60),
    buffer=st.integers(300, 1000),
    total=st.integers(600, 4000),
    files=st.integers(1, 4),
)
def test_however_far_behind_its_packer_is_as_much_is_kept(
    texts: list[bytes], buffer: int, total: int, files: int
) -> None:
    """As of one that packs at once; and whatever is not there is counted."""
    keeping = Keeping(buffer_bytes=buffer, total_bytes=total, files=files)
    with tempfile.TemporaryDirectory(prefix="paddock-logs-", dir=HOME) as home:
        prompt = OutputStore(Path(home, "a"), packers=0, now=count(1e6, 1e4).__next__)
        prompt.intake.about(RUN, "review", keeping)
        late = Late(Path(home, "b"), keeping)
        for text in texts:
            prompt.append(Attempt(RUN, 1), text)
            late.write(text)
        late.end()
        whole = b"".join(texts)
        at = late.store.piece(RUN, 0, 1).at
        assert at <= prompt.piece(RUN, 0, 1).at
        assert late.store.missing(RUN) == (at, whole[:at].count(b"\n"))
        found = b""
        while data := late.store.read(RUN, at + len(found), 100):
            found += data
        assert found == whole[at:]


@pytest.mark.timeout(300)
def test_each_byte_is_there_or_counted() -> None:
    Logs.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
    Logs.TestCase("runTest").runTest()
    wanted = {"rename", "unlink", "open", "write", "fsync", "fsync directory", "truncate"}
    wanted |= {"fsync rotated", "write over", "splice"}
    assert wanted <= Reached.steps
