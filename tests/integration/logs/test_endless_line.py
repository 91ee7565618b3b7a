"""One line of a gigabyte, without an end: kept as configured, and nobody holds it in memory."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.wire.run_request import RunRequest
from tests.kit.house import PADDOCK, House, a_house
from tests.kit.leaks import resident_bytes

MIB = 1 << 20
SIZE = 1 << 30
WRITER = f"""
import os
block = b"x" * 65536
for _ in range({SIZE // 65536}):
    os.write(1, block)
"""
CAPPED = "performance: {log_buffer_size_mb: 10, log_rotation_size_mb: 50}\n"  # as without a file
FULL = "performance: {full_log: true}\n"
# An idle daemon has some 60, `paddock logs` some 40. A line that somebody gathers has 1,024.
MOST_GROWN = 96 * MIB
MOST_OF_A_COMMAND = 160 * MIB


@pytest.fixture(params=[CAPPED, FULL], ids=["capped", "full"])
def house(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[House]:
    with a_house(tmp_path, config=request.param) as house:
        yield house


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


@pytest.mark.timeout(400)
def test_nobody_holds_the_line(house: House) -> None:
    house.start()
    daemon = house.daemon()["pid"]
    before = resident_bytes(daemon)
    command = (sys.executable, "-I", "-S", "-c", WRITER)
    (run,) = house.submit(RunRequest(name="line", command=command, memory_bytes=64 * MIB)).runs
    follower = Reader(house, "--follow", "line")
    followed = follower.end()
    (ended,) = house.ended([run.id], within_s=300)
    assert ended.outcome == "succeeded"
    with house.client() as client:
        records = [(each.missing_bytes, len(each.data)) for each in client.log_records(run.id)]
    missing, kept = (sum(each) for each in zip(*records, strict=True))
    assert missing + kept == SIZE
    assert followed <= SIZE and (followed == SIZE or missing)
    commands = {"follow": follower.peak_bytes}
    for words, least in (
        (("line",), kept),
        (("--grep", "xxx", "line"), kept),
        (("--lines", "1", "line"), 0),
    ):
        reader = Reader(house, *words)
        assert reader.end() >= least
        commands[" ".join(words)] = reader.peak_bytes
    assert house.daemon()["pid"] == daemon
    grown = peak_bytes(daemon) - before
    assert grown < MOST_GROWN, f"the daemon grew by {grown / MIB:.0f} MiB"
    assert max(commands.values()) < MOST_OF_A_COMMAND, commands
