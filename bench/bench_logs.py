"""Output: how fast it is taken in, how soon it is seen, and what a hundred talkers cost.

Taken in: 180 MB of log lines from one agent, rotated at 10 MB, three files kept, ours packed as
gzip and theirs not (s6-log, svlogd, multilog: `apt-get install s6 runit daemontools`), in the same
run. Ours is a whole run: submitted, started, its last part packed and synced.

Targets: at least twice the fastest of them; from write to display under 50 ms (99 of 100) at
10 MB/s over 20 agents; the daemon under 250 MB with 100 verbose agents.
"""

from __future__ import annotations

import asyncio
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ground import Ground, a_ground, cpu_s, keep, resident_mb, verdict, wait_for

from paddock.client import AsyncClient, Client
from paddock.wire.run_request import RunRequest

SIZE_BYTES = 180_000_000
ROTATE_BYTES = 10 << 20
FILES_KEPT = 3
ROUNDS = 5
SEEN_ROUNDS = 3
CONFIG = """\
performance_profile: host
sandbox:
  containment: none
queue:
  admission: learned
"""
LINE = b"2026-10-17T10:15:%02d.%06dZ INFO worker-%03d handled /srv/app/module_%04d.py in %d ms\n"
# Writes at a steady pace; the first word of each burst is when it was written.
TALKER = """\
import os, sys, time
burst, pause_s, seconds = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
line = b"%s of a log that says what an agent usually says in a line\\n"
filler = (line % b"and so on") * 200
end = next_at = time.monotonic() + seconds
next_at -= seconds
while next_at < end:
    first = line % (b"@%.6f" % time.monotonic())
    os.write(1, first + filler[: burst - len(first) - 1] + b"\\n")
    next_at += pause_s
    time.sleep(max(0.0, next_at - time.monotonic()))
"""
AGENTS, BURST, PAUSE_S = 20, 5_000, 0.01  # 10 MB/s together
VERBOSE = 100
SECONDS = 12.0
WARM_UP_S = 3.0  # agents start, followers come, and what was written before them is read


def lines_to(path: Path) -> None:
    some = b"".join(
        LINE % (n % 60, n * 7919 % 1_000_000, n % 97, n % 1009, n % 977) for n in range(20_000)
    )
    with path.open("wb") as file:
        while file.tell() < SIZE_BYTES:
            file.write(some)


# -- taking it in -----------------------------------------------------------------------------


def peers(directory: Path) -> dict[str, list[str]]:
    """Each writes to a fresh directory of its own."""
    for name in ("s6", "svlogd", "multilog"):
        shutil.rmtree(directory / name, ignore_errors=True)
    (directory / "svlogd").mkdir()
    (directory / "svlogd/config").write_text(f"s{ROTATE_BYTES}\nn{FILES_KEPT}\n", encoding="ascii")
    return {
        "s6-log": ["s6-log", f"n{FILES_KEPT}", f"s{ROTATE_BYTES}", str(directory / "s6")],
        "svlogd": ["svlogd", str(directory / "svlogd")],
        "multilog": ["multilog", f"s{ROTATE_BYTES}", f"n{FILES_KEPT}", str(directory / "multilog")],
    }


def rate_of(work: Callable[[], object], size: int) -> float:
    begun = time.perf_counter()
    work()
    return size / (time.perf_counter() - begun) / 1e6


def piped(source: Path, command: list[str]) -> None:
    """From a pipe that `cat` fills, as ours is."""
    with subprocess.Popen(["cat", str(source)], stdout=subprocess.PIPE) as cat:
        subprocess.run(command, stdin=cat.stdout, check=True, stderr=subprocess.DEVNULL)


def ours(ground: Ground, client: Client, source: Path) -> None:
    request = RunRequest(name="cat", command=("cat", str(source)), memory_bytes=64 << 20)
    answer = client.submit(ground.order([request]))
    wait_for(client, answer)
    directory = ground.places.output / answer.runs[0].id
    while any(
        one.name.startswith("agent_") and one.suffix == ".log" for one in directory.iterdir()
    ):
        time.sleep(0.001)
    kept = len(list(directory.glob("agent_*.log.gz")))
    assert kept >= FILES_KEPT, f"{kept} packed files: who throws away what is to be kept is quick"


def taking_in() -> dict[str, float]:
    rates: dict[str, list[float]] = {}
    with (
        tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as home,
        a_ground(CONFIG) as ground,
        ground.client() as client,
    ):
        source = Path(home) / "lines"
        lines_to(source)
        size = source.stat().st_size
        ours(ground, client, source)  # once before it counts
        for _ in range(ROUNDS):
            rates.setdefault("cat to a file", []).append(
                rate_of(
                    lambda: piped(source, ["dd", f"of={home}/copy", "bs=128k", "status=none"]), size
                )
            )
            for name, command in peers(Path(home)).items():
                rates.setdefault(name, []).append(
                    rate_of(lambda command=command: piped(source, command), size)
                )
            rates.setdefault("paddock", []).append(
                rate_of(lambda: ours(ground, client, source), size)
            )
    return {name: statistics.median(found) for name, found in rates.items()}


# -- how soon it is seen ----------------------------------------------------------------------


class Watch:
    """From the time a burst says it was written to the time it was read here."""

    def __init__(self) -> None:
        self.delays: list[float] = []
        self._from = time.monotonic() + WARM_UP_S

    def feed(self, held: bytes, data: bytes) -> bytes:
        now = time.monotonic()
        *whole, held = (held + data).split(b"\n")
        for line in whole:
            if line.startswith(b"@"):
                written_at = float(line[1:].split(b" ")[0])
                if written_at > self._from:
                    self.delays.append(now - written_at)
        return held

    def figures(self, name: str = "") -> dict[str, float]:
        found = sorted(self.delays)
        return {
            f"{name}p50_ms": found[len(found) // 2] * 1000,
            f"{name}p99_ms": found[int(len(found) * 0.99)] * 1000,
            f"{name}worst_ms": found[-1] * 1000,
        }


async def follow(ground: Ground, run: str, watch: Watch) -> None:
    held = b""
    async with AsyncClient(ground.places) as client:
        async for record in client.log_records(run, follow=True):
            held = watch.feed(held, record.data)


async def read_bare(watch: Watch) -> None:
    """The same talker at the end of a pipe of our own, beside the others: what this machine does
    to anybody just now."""
    words = (sys.executable, "-S", "-c", TALKER, "200", "0.02", str(SECONDS))
    talker = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
    assert talker.stdout is not None
    held = b""
    while data := await talker.stdout.read(1 << 16):
        held = watch.feed(held, data)
    await talker.wait()


def watched(ground: Ground, runs: list[str]) -> dict[str, float]:
    """Until all of them have ended."""
    ours, bare = Watch(), Watch()

    async def all_of_them() -> None:
        await asyncio.gather(read_bare(bare), *(follow(ground, run, ours) for run in runs))

    asyncio.run(all_of_them())
    return ours.figures() | bare.figures("bare_pipe_")


def talkers(count: int, burst: int, pause_s: float, seconds: float) -> list[RunRequest]:
    words = (sys.executable, "-S", "-c", TALKER, str(burst), str(pause_s), str(seconds))
    return [
        RunRequest(name=f"talker-{n}", command=words, memory_bytes=16 << 20) for n in range(count)
    ]


def seen(ground: Ground, client: Client) -> dict[str, float]:
    answer = client.submit(ground.order(talkers(AGENTS, BURST, PAUSE_S, SECONDS)))
    daemon, _ = ground.pids()
    before = cpu_s(daemon)
    found = watched(ground, [run.id for run in answer.runs])
    return found | {"daemon_cpu_percent": 100 * (cpu_s(daemon) - before) / SECONDS}


def beside_floods(ground: Ground, client: Client, floods: int) -> dict[str, float]:
    """One that says little, while others write as fast as they can."""
    flood = RunRequest(name="flood", command=("yes", "x" * 99), memory_bytes=16 << 20)
    loud = client.submit(ground.order([flood] * floods))
    ids = [run.id for run in loud.runs]
    [quiet] = client.submit(ground.order(talkers(1, 200, 0.02, SECONDS))).runs
    before = sum(written_by(ground, run) for run in ids)
    found = watched(ground, [quiet.id])
    moved = sum(written_by(ground, run) for run in ids) - before
    client.kill(ids, force=True)
    client.wait(ids, timeout_s=60)
    return found | {"floods_mb_a_s": moved / SECONDS / 1e6}


def written_by(ground: Ground, run: str) -> int:
    """All that it ever wrote: in the names of its files, and the size of the live one."""
    end = 0
    directory = ground.places.output / run
    live = directory / "1.log"
    with suppress(OSError):
        for one in directory.iterdir():
            found = one.name.rpartition("-")[2].split(".")[0]
            if "-" in one.name and found.isdigit():
                end = max(end, int(found))
        end += live.stat().st_size
    return end


def memory_of_the_verbose(ground: Ground, client: Client) -> dict[str, float]:
    """A hundred with 100 KB a second each, and somebody who follows every one of them."""
    answer = client.submit(ground.order(talkers(VERBOSE, 50_000, 0.5, SECONDS)))
    daemon, _ = ground.pids()
    sizes: list[float] = []
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.2):
            sizes.append(resident_mb(daemon))

    looking = threading.Thread(target=look)
    looking.start()
    found = watched(ground, [run.id for run in answer.runs])
    over.set()
    looking.join()
    return found | {"peak_mb": max(sizes)}


def middle(rounds: list[dict[str, float]]) -> dict[str, float]:
    """The round in the middle by its p99: machines have moods."""
    return sorted(rounds, key=lambda one: one["p99_ms"])[len(rounds) // 2]


def main() -> int:
    rates = taking_in()
    for name, rate in rates.items():
        print(f"{name}: {rate:.0f} MB/s")
    with a_ground(CONFIG) as ground, ground.client() as client:
        figures = {
            "taken_in_mb_a_s": rates,
            "seen": middle([seen(ground, client) for _ in range(SEEN_ROUNDS)]),
            "beside_a_flood": beside_floods(ground, client, 1),
            "beside_a_hundred_floods": beside_floods(ground, client, 100),
            "a_hundred_verbose": memory_of_the_verbose(ground, client),
        }
    for name, found in figures.items():
        print(name, {key: round(value, 1) for key, value in found.items()})
    keep("logs", figures)
    fastest = max(rates[name] for name in ("s6-log", "svlogd", "multilog"))
    return verdict(
        [
            ("taken in, of the fastest peer", rates["paddock"] / fastest, 2.0),
            ("50 ms of the time to a display (p99)", 50 / figures["seen"]["p99_ms"], 1.0),
            ("500 ms of that beside a flood", 500 / figures["beside_a_flood"]["p99_ms"], 1.0),
            (
                "500 ms of that beside a hundred",
                500 / figures["beside_a_hundred_floods"]["p99_ms"],
                1.0,
            ),
            (
                "250 MB of the daemon with 100 verbose",
                250 / figures["a_hundred_verbose"]["peak_mb"],
                1.0,
            ),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
