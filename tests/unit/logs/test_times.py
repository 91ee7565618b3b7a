"""When what was written: to the second, over silences, restarts and years."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paddock.core.run import Attempt
from paddock.logs import times
from paddock.logs.keeping import Keeping
from paddock.logs.output import OutputStore
from paddock.logs.times import MOST_RECORDS, Marker, records, since

RUN = "run"


class Told:
    """A store whose clock is ours; files get its times too."""

    def __init__(self, directory: Path) -> None:
        self.now = 1_000_000.0
        self.directory = directory
        self.written: list[tuple[float, int]] = []
        self.restart()

    def restart(self) -> None:
        self.store = OutputStore(self.directory, packers=0, now=lambda: self.now)
        self.store.intake.about(RUN, "x", Keeping(buffer_bytes=4000, full=True))

    def write(self, text: bytes, *, number: int = 1) -> None:
        self.written.append((self.now, self.store.size(RUN)))
        self.store.append(Attempt(RUN, number), text)
        for path in (self.directory / RUN).iterdir():
            if path.suffix in (".log", ".gz") and path.stat().st_mtime > self.now + 1e6:
                os.utime(path, (self.now, self.now))


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(tmp_path / "output")


def test_since_begins_with_the_line_of_that_second(told: Told) -> None:
    for n in range(20):
        told.write(b"line %d\n" % n)
        told.now += 10.0
    for at, begin in told.written:
        assert told.store.since(RUN, at) == begin
        assert told.store.since(RUN, at - 5.0) == begin
    assert told.store.since(RUN, 0.0) == 0
    assert told.store.since(RUN, told.now + 100) == told.store.size(RUN)


def test_a_burst_and_a_silence_are_told_apart(told: Told) -> None:
    for n in range(30):
        told.write(b"burst %d\n" % n)
        told.now += 0.03
    told.now += 3600.0
    after = told.store.size(RUN)
    told.write(b"later\n")
    assert told.store.since(RUN, told.now - 1800) == after
    assert told.store.since(RUN, told.now - 3700) == 0


def test_times_go_on_over_rotations_attempts_and_restarts(told: Told) -> None:
    for n in range(300):
        told.write(b"x" * 60 + b"%d\n" % n, number=1 + n // 100)
        told.now += 2.0
        if n % 70 == 0:
            told.restart()
    assert list((told.directory / RUN).glob("*.gz"))
    for at, begin in told.written:
        assert told.store.since(RUN, at) == begin


def test_a_line_that_came_in_pieces_is_shown_whole(told: Told) -> None:
    told.write(b"old\nbegun ")
    told.now += 60.0
    told.write(b"and ended\n")
    assert told.store.since(RUN, told.now) == 4


def test_however_long_it_talks_there_are_few_records(tmp_path: Path) -> None:
    handle = os.open(tmp_path, os.O_RDONLY)
    marker = Marker("1.times", written_at=0.0)
    now, at = 1000.0, 0
    for _ in range(20 * MOST_RECORDS):
        if marker.is_due(now):
            marker.mark(handle, at, now)
        else:
            marker.wrote(now)
        now, at = now + 1.0, at + 10
    found = records(handle, "1.times")
    assert len(found) <= MOST_RECORDS
    for seconds in (10_000, 100, 30_000):
        begin = since(found, 1000.0 + seconds, written_at=now, size=at)
        assert 0 <= seconds * 10 - begin < at / 500
    os.close(handle)


def test_what_somebody_else_wrote_there_harms_nobody(tmp_path: Path) -> None:
    handle = os.open(tmp_path, os.O_RDONLY)
    (tmp_path / "1.times").write_bytes(os.urandom(1001))
    found = records(handle, "1.times")
    assert all(isinstance(since(found, at, written_at=0.0, size=10), int) for at in (0.0, 1e9))
    (tmp_path / "2.times").symlink_to("/etc/passwd")
    assert records(handle, "2.times") == []
    assert times.records(handle, "none") == []
    os.close(handle)
