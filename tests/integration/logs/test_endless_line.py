"""One line of a gigabyte, without an end: kept as configured, and nobody holds it in memory."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from paddock.wire.run_request import RunRequest
from tests.kit.house import PADDOCK, House, a_house
from tests.kit.leaks import resident_bytes

MIB = 1 << 20
WRITER = """
import os, sys
block = b"x" * 65536
for _ in range(int(sys.argv[1]) // 65536):
    os.write(1, block)
"""
CAPPED = "performance: {log_buffer_size_mb: 10, log_rotation_size_mb: 50}\n"  # as without a file
FULL = "performance: {full_log: true}\n"
# Measured: the daemon grows by 12 MiB, and `paddock logs` has 24 in all. Whoever gathered one of
# these lines would have 1,024 or 256 more.
MOST_GROWN = 80 * MIB
MOST_OF_A_COMMAND = 80 * MIB


class Reader:
    """`paddock logs`, into a pipe that only counts; how much it held at most."""

    def __init__(self, house: House, *words: str) -> None:
        pipe = subprocess.PIPE
        self._logs = subprocess.Popen(
            [*PADDOCK, "logs", *words], env=house.env, cwd=house.home, stdout=pipe, stderr=pipe
        )
        assert self._logs.stdout is not None
        self._count = subprocess.Popen(["wc", "-c"], stdin=self._logs.stdout, stdout=pipe)
        self._logs.stdout.close()
        self.peak_bytes = 0

    def look(self) -> None:
        self.peak_bytes = max(self.peak_bytes, peak_bytes(self._logs.pid))

    def end(self) -> int:
        """Bytes that it printed."""
        while self._logs.poll() is None:
            self.look()
            time.sleep(0.02)
        assert self._logs.stderr is not None
        said = self._logs.stderr.read().decode()
        self._logs.stderr.close()
        assert self._logs.returncode == 0, said
        return int(self._count.communicate(timeout=60)[0])


def peak_bytes(pid: int) -> int:
    """0 of one that has just gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0
    lines = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(lines[0].split()[1]) * 1024 if lines else 0


def written(house: House, size: int, *words: str) -> tuple[str, Reader, int]:
    """The run, the one that followed it, and what that printed."""
    command = (sys.executable, "-I", "-S", "-c", WRITER, str(size))
    (run,) = house.submit(RunRequest(name="line", command=command, memory_bytes=64 * MIB)).runs
    follower = Reader(house, "--follow", *words, "line")
    printed = follower.end()
    (ended,) = house.ended([run.id], within_s=120)
    assert ended.outcome == "succeeded"
    return run.id, follower, printed


@contextmanager
def watched(house: House) -> Iterator[None]:
    """The daemon is the same in the end, and did not grow by much."""
    house.start()
    daemon = house.daemon()["pid"]
    before = resident_bytes(daemon)
    yield
    assert house.daemon()["pid"] == daemon
    grown = peak_bytes(daemon) - before
    assert grown < MOST_GROWN, f"the daemon grew by {grown / MIB:.0f} MiB"


@pytest.mark.timeout(300)
def test_a_line_of_a_gigabyte_is_held_by_nobody(tmp_path: Path) -> None:
    size = 1 << 30
    with a_house(tmp_path, config=CAPPED) as house, watched(house):
        run, follower, followed = written(house, size)
        with house.client() as client:
            records = [(each.missing_bytes, len(each.data)) for each in client.log_records(run)]
        missing, kept = (sum(each) for each in zip(*records, strict=True))
        assert missing + kept == size
        on_disk = [path.stat().st_size for path in (house.places.output / run).iterdir()]
        assert sum(on_disk) < 51 * MIB, "packed, as the rotated parts are"
        assert kept <= followed <= size
        peaks = {"--follow": follower.peak_bytes}
        for words in (("line",), ("--grep", "xxx", "line"), ("--lines", "1", "line")):
            reader = Reader(house, *words)
            assert reader.end() >= kept, words
            peaks[" ".join(words)] = reader.peak_bytes
        assert max(peaks.values()) < MOST_OF_A_COMMAND, peaks


@pytest.mark.timeout(300)
def test_all_of_a_line_that_is_kept_whole_goes_by_in_pieces(tmp_path: Path) -> None:
    size = 256 * MIB
    with a_house(tmp_path, config=FULL) as house, watched(house):
        _, follower, printed = written(house, size, "--grep", "xxx")
        assert printed >= size, "nothing of it is missing"
        assert follower.peak_bytes < MOST_OF_A_COMMAND
