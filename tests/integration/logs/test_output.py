"""Output of real agents under a real daemon: rotated, followed, searched, and killed in between."""

from __future__ import annotations

import gzip
import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.client import AsyncClient, Record
from paddock.wire.run_request import RunRequest
from tests.kit.disks import a_small_disk
from tests.kit.house import PADDOCK, House, a_house, shell
from tests.kit.waiting import until

SMALL = "performance: {log_buffer_size_mb: 1, log_rotation_size_mb: 10, log_files_kept: 2}\n"
FULL = "performance: {log_buffer_size_mb: 1, full_log: true}\n"
MIB = 1 << 20


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with a_house(tmp_path, config=SMALL) as house:
        yield house


@pytest.fixture
def full_house(tmp_path: Path) -> Iterator[House]:
    with a_house(tmp_path, config=FULL) as house:
        yield house


def counter(name: str, lines: int, *, pause_every: int = 0) -> RunRequest:
    """Numbered lines of 100 bytes."""
    code = f"""
import os, time
for n in range({lines}):
    os.write(1, b"%99d\\n" % n)
    if {pause_every} and n % {pause_every} == 0:
        time.sleep(0.02)
"""
    return RunRequest(name=name, command=(sys.executable, "-c", code), memory_bytes=64 << 20)


def numbers(data: bytes) -> list[int]:
    return [int(line) for line in data.splitlines()]


def records(house: House, run: str, **more: object) -> list[Record]:
    with house.client() as client:
        return list(client.log_records(run, **more))  # type: ignore[arg-type]


def test_a_talkative_run_is_rotated_and_what_is_not_kept_is_said(house: House) -> None:
    house.start()
    [run] = house.submit(counter("re.view", 400_000)).runs
    house.ended([run.id])
    directory = house.places.output / run.id
    until(lambda: not list(directory.glob("agent_*.log")), within_s=10)
    packed = sorted(directory.glob("agent_re-view_*.log.gz"))
    assert 1 <= len(packed) <= 2
    assert sum(path.stat().st_size for path in directory.iterdir()) < 11 * MIB
    found = records(house, run.id)
    gap, data = found[0], b"".join(record.data for record in found)
    assert gap.missing_bytes == gap.at and gap.missing_lines is not None
    assert gap.missing_bytes + len(data) == 400_000 * 100
    whole = data[len(data) % 100 :]  # what is not kept may end within a line
    assert numbers(whole) == list(range(400_000 - len(whole) // 100, 400_000))
    assert abs(gap.missing_lines * 100 - gap.missing_bytes) <= 100
    oldest = gzip.decompress(packed[0].read_bytes())
    assert oldest == data[: len(oldest)]
    done = house.paddock("logs", run.id, "--lines", "3")
    assert numbers(done.stdout.encode()) == [399_997, 399_998, 399_999]
    assert done.stderr == ""
    assert "of its output are not kept" in house.paddock("logs", run.id).stderr
    done = house.paddock("logs", run.id, "--grep", "39999[0-9]$", "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0]["missing_bytes"] == gap.missing_bytes
    assert [int(line["line"]) for line in lines[1:]] == list(range(399_990, 400_000))


def test_a_follower_gets_every_byte_over_rotations_and_deaths_of_the_daemon(
    full_house: House,
) -> None:
    house = full_house
    house.start()
    [run] = house.submit(counter("long", 120_000, pause_every=200)).runs
    got = house.home / "got"
    with got.open("wb") as file:
        follower = subprocess.Popen(
            [*PADDOCK, "logs", "-f", run.id], env=house.env, cwd=house.home, stdout=file
        )
    until(lambda: got.stat().st_size > 1000, within_s=20)
    for _ in range(3):
        size = house_size(house, run.id)
        until(lambda size=size: house_size(house, run.id) > size + MIB, within_s=60)  # type: ignore[misc]
        until(house.kill_daemon, within_s=20)
    house.ended([run.id], within_s=120)
    assert follower.wait(60) == 0
    whole = b"".join(b"%99d\n" % n for n in range(120_000))
    assert got.read_bytes() == whole
    assert house.output(run.id) == whole
    directory = house.places.output / run.id
    until(lambda: not list(directory.glob("agent_*.log")), within_s=10)
    assert len(list(directory.glob("agent_long_*.log.gz"))) >= 5


def house_size(house: House, run: str) -> int:
    """All that was ever written, by the names of the files."""
    end = 0
    for path in (house.places.output / run).glob("*"):
        if path.name == "1.log":
            end += path.stat().st_size
    ends = [
        int(path.name.rpartition("-")[2].split(".")[0])
        for path in (house.places.output / run).glob("*.1.*-*")
    ]
    return end + max(ends, default=0)


def test_what_a_run_says_is_seen_at_once(house: House) -> None:
    """LOG-3: half a second is the promise; this is far more often than not a few milliseconds."""
    house.start()
    [run] = house.submit(shell("slow", "for n in 1 2 3 4 5; do date +%s.%N; sleep 0.2; done")).runs
    delays = []
    with house.client() as client:
        for record in client.log_records(run.id, follow=True):
            delays += [time.time() - float(line) for line in record.data.splitlines()]
    assert len(delays) == 5
    assert max(delays[1:]) < 0.5


def test_beside_a_flood_a_quiet_run_is_heard_and_both_can_be_killed(house: House) -> None:
    house.start()
    flood = RunRequest(name="flood", command=("yes", "x" * 99), memory_bytes=64 << 20)
    [loud] = house.submit(flood).runs
    until(lambda: house_size(house, loud.id) > 5 * MIB, within_s=20)
    [run] = house.submit(shell("quiet", "for n in 1 2 3 4 5; do date +%s.%N; sleep 0.2; done")).runs
    delays = []
    with house.client() as client:
        for record in client.log_records(run.id, follow=True):
            delays += [time.time() - float(line) for line in record.data.splitlines()]
        client.kill([loud.id], force=True)
    [view] = house.ended([loud.id])
    assert view.outcome == "cancelled"
    assert sorted(delays)[2] < 0.5
    directory = house.places.output / loud.id
    until(lambda: not list(directory.glob("agent_*.log")), within_s=20)
    assert sum(path.stat().st_size for path in directory.iterdir()) < 12 * MIB


def test_since_finds_what_was_written_then(house: House) -> None:
    house.start()
    [run] = house.submit(shell("two", "echo early; sleep 6; echo late")).runs
    house.ended([run.id])
    ended_at = time.monotonic()
    assert house.paddock("logs", "--since", "1h", "two").stdout == "early\nlate\n"
    since_s = int(time.monotonic() - ended_at) + 5  # however long the command before it took
    assert house.paddock("logs", "--since", f"{since_s}s", "two").stdout == "late\n"
    assert house.paddock("logs", "--since", "1h", "--grep", "l", "two").stdout.split() == [
        "early",
        "late",
    ]


def test_one_endless_line_of_binary_is_kept_to_the_byte(full_house: House) -> None:
    house = full_house
    house.start()
    code = "import os; d = bytes(range(11, 256)); [os.write(1, d * 64) for _ in range(300)]"
    request = RunRequest(name="odd", command=(sys.executable, "-c", code), memory_bytes=64 << 20)
    [run] = house.submit(request).runs
    house.ended([run.id])
    line = bytes(range(11, 256)) * 64
    assert house.output(run.id) == line * 300
    done = subprocess.run(
        [*PADDOCK, "logs", run.id], env=house.env, cwd=house.home, capture_output=True, check=True
    )
    assert done.stdout == line * 300


def test_on_a_terminal_no_agent_acts_on_it(house: House) -> None:
    house.start()
    evil = r"printf '\033]0;owned\007\033[2Jgood\rbad \033[31mred\033[0m \233\n'"
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [*PADDOCK, "run", "--name", "evil", "--", "sh", "-c", evil],
        env=house.env,
        cwd=house.home,
        stdout=theirs,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(theirs)
    shown = os.read(ours, 65536)
    os.close(ours)
    assert done.returncode == 0
    assert b"owned" not in shown and b"\x1b[2J" not in shown and b"\x9b" not in shown
    assert b"\x1b[31mred\x1b[0m" in shown
    assert b"good\r\nbad" in shown  # the terminal itself adds the carriage return


def test_a_disk_nearly_full_stops_no_agent_and_is_over_when_there_is_room(tmp_path: Path) -> None:
    text = "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.01; done"
    with a_small_disk(tmp_path, size="160m") as disk, a_house(disk.root) as house:
        house.start()
        [run] = house.submit(shell("goes-on", text)).runs
        until(lambda: house_size(house, run.id) > 100, within_s=10)
        disk.fill(leave_bytes=90_000_000)
        notice = until(lambda: house.told("status")["notices"], within_s=10)
        assert "nearly full" in notice[0] and "agents go on" in notice[0]
        kept = until(lambda: missing_of(house, run.id), within_s=10)
        size = (house.places.output / run.id / "1.log").exists()
        assert not size, "nothing is kept meanwhile"
        until(lambda: missing_of(house, run.id) > kept + 200, within_s=10)
        assert house.paddock("status").stdout.count("notice") == 1
        disk.make_room()
        until(lambda: "was nearly full" in house.told("status")["notices"][0], within_s=10)
        until((house.places.output / run.id / "1.log").exists, within_s=10)
        with house.client() as client:
            client.kill([run.id], force=True)
        house.ended([run.id])
        found = records(house, run.id)
        [gap] = [record for record in found if record.missing_bytes]
        lines = b"".join(record.data for record in found).splitlines()
        first, last = int(lines[0].split()[1]), int(lines[-1].split()[1])
        assert first == 1 and last > 50
        assert gap.missing_lines is not None and abs(last - len(lines) - gap.missing_lines) <= 1
        assert house.log().count("nearly full") == 1
        assert house.log().count("room on the disk again") == 1


def missing_of(house: House, run: str) -> int:
    with house.client() as client:
        return sum(record.missing_bytes for record in client.log_records(run))


def test_while_no_daemon_is_there_output_gathers_and_is_rotated_later(house: House) -> None:
    house.start()
    [run] = house.submit(counter("alone", 60_000, pause_every=100)).runs
    until(lambda: house_size(house, run.id) > 1000, within_s=10)
    house.paddock("daemon", "stop")
    before = house_size(house, run.id)
    until(lambda: house_size(house, run.id) > before + MIB, within_s=60)
    house.start()
    house.ended([run.id], within_s=60)
    found = records(house, run.id)
    data = b"".join(record.data for record in found)
    lost = sum(record.missing_bytes for record in found)
    assert lost + len(data) == 6_000_000
    assert numbers(data) == list(range(60_000 - len(data) // 100, 60_000))


def test_the_async_client_reads_records_too(house: House) -> None:
    import asyncio

    house.start()
    [run] = house.submit(shell("a", "echo one; echo two")).runs

    async def read() -> bytes:
        async with AsyncClient(house.places) as client:
            return b"".join(
                [record.data async for record in client.log_records(run.id, follow=True)]
            )

    assert asyncio.run(read()) == b"one\ntwo\n"
