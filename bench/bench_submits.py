"""Durable submissions through the client, against bare SQLite commits in the same run.

Targets: in batches of 100 at least 2,000 runs a second; one by one at least a third of the rate of
bare commits of one small row (WAL, FULL, as the store); with 50,000 queued at least 0.7 of the rate
with 100. Nothing starts meanwhile: the only slot is taken by a sleeper.

One by one is measured three ways: eight clients that each wait for their answer, as eight shells
do; one program with sixteen requests under way (`AsyncClient`); and one that waits for each answer
before it asks again. The first two say what the daemon can take; the third is four wake-ups of a
core long and says what the disk's fsync is beside them (decision 0008): where a bare commit takes
0.4 ms it is a third, where it takes 0.15 a fifth. All are kept, and judged.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path

import apsw
from ground import Ground, a_ground, keep, verdict

from paddock.client import AsyncClient, Client
from paddock.wire.run_request import RunRequest

ROUNDS = 25  # the disk is quick in one and slow in the next
SINGLES = 150  # in a round
CLIENTS = 8
AT_ONCE = 16
BATCH, BATCHES = 100, 5
FEW, MANY = 100, 50_000
CONFIG = """\
performance_profile: host
performance:
  max_concurrent_agents: 1
queue:
  depth: 1000000
"""
_numbers = count()


def requests(many: int) -> list[RunRequest]:
    return [
        RunRequest(name=f"run-{next(_numbers)}", command=("true",), memory_bytes=64 << 20)
        for _ in range(many)
    ]


def submit(ground: Ground, client: Client, *, times: int, batch: int) -> float:
    """Runs a second."""
    orders = [ground.order(requests(batch)) for _ in range(times)]
    begun = time.perf_counter()
    for order in orders:
        client.submit(order)
    return times * batch / (time.perf_counter() - begun)


def occupy(ground: Ground, client: Client) -> None:
    """The only slot, so that everything after this waits."""
    sleeper = RunRequest(name="sleeper", command=("sleep", "3600"), memory_bytes=64 << 20)
    [run] = client.submit(ground.order([sleeper])).runs
    while client.run(run.id).state != "running":
        time.sleep(0.02)


def fill(ground: Ground, client: Client, queued: int) -> None:
    while (waiting := client.status().queue.waiting) < queued:
        client.submit(ground.order(requests(min(1000, queued - waiting))))


def bare(path: Path) -> Callable[[], float]:
    db = apsw.Connection(str(path))
    for setting in ("journal_mode = WAL", "synchronous = FULL"):
        db.execute(f"PRAGMA {setting}").fetchall()
    db.execute("CREATE TABLE small (number INTEGER PRIMARY KEY, text TEXT)")

    def rate() -> float:
        begun = time.perf_counter()
        for _ in range(SINGLES):
            db.execute("INSERT INTO small (text) VALUES (?)", ("a small row",))
        return SINGLES / (time.perf_counter() - begun)

    return rate


def one_of_many(ground: Ground, line: Connection) -> None:
    """A process of its own: makes its orders when told, and submits them when told again."""
    with Client(ground.places) as client:
        client.status()
        line.send("here")
        while line.recv() == "make":
            orders = [ground.order(requests(1)) for _ in range(SINGLES)]
            line.send("made")
            line.recv()
            for order in orders:
                client.submit(order)
            line.send("done")


@contextmanager
def many_clients(ground: Ground) -> Iterator[Callable[[], float]]:
    """Forked before anything has a thread; each waits for its answer before it asks again."""
    forking = multiprocessing.get_context("fork")
    lines = []
    for _ in range(CLIENTS):
        ours, theirs = forking.Pipe()
        forking.Process(target=one_of_many, args=(ground, theirs), daemon=True).start()
        lines.append(ours)

    def tell(word: str) -> None:
        for line in lines:
            line.send(word)
        for line in lines:
            line.recv()

    def rate() -> float:
        tell("make")
        begun = time.perf_counter()
        tell("go")
        return CLIENTS * SINGLES / (time.perf_counter() - begun)

    for line in lines:
        line.recv()
    yield rate
    for line in lines:
        line.send("end")


class Overlapping:
    """One program that does not wait for an answer before it asks again."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._client = AsyncClient(ground.places)

    async def rate(self) -> float:
        orders = [self._ground.order(requests(1)) for _ in range(4 * SINGLES)]
        left = iter(orders)

        async def submit_some() -> None:
            for order in left:
                await self._client.submit(order)

        begun = time.perf_counter()
        await asyncio.gather(*(submit_some() for _ in range(AT_ONCE)))
        return len(orders) / (time.perf_counter() - begun)

    async def close(self) -> None:
        await self._client.close()


def measure() -> dict[str, list[float]]:
    """Two daemons, one with a short queue and one with a long one; everything interleaved."""
    found: dict[str, list[float]] = {}
    with a_ground(CONFIG) as short, a_ground(CONFIG) as long:
        commits = bare(short.home / "bare")
        with (
            many_clients(short) as together,
            asyncio.Runner() as runner,
            short.client() as few,
            long.client() as many,
        ):
            overlapping = Overlapping(short)
            for ground, client, queued in ((short, few, FEW), (long, many, MANY)):
                occupy(ground, client)
                fill(ground, client, queued)
            for _ in range(ROUNDS):
                for what, rate in (
                    ("bare commits", commits()),
                    ("singly", submit(short, few, times=SINGLES, batch=1)),
                    (f"singly by {CLIENTS}", together()),
                    (f"singly, {AT_ONCE} at once", runner.run(overlapping.rate())),
                    (f"singly at {MANY:,}", submit(long, many, times=SINGLES, batch=1)),
                    (f"in batches of {BATCH}", submit(short, few, times=BATCHES, batch=BATCH)),
                    (f"in batches at {MANY:,}", submit(long, many, times=BATCHES, batch=BATCH)),
                ):
                    found.setdefault(what, []).append(rate)
            runner.run(overlapping.close())
    return found


def main() -> int:
    rates = measure()
    medians = {what: statistics.median(found) for what, found in rates.items()}
    for what, found in rates.items():
        print(f"{what:<22} {medians[what]:6.0f}/s  (from {min(found):.0f} to {max(found):.0f})")
    keep("submits", {what: round(median, 1) for what, median in medians.items()})

    def ratio(one: str, other: str) -> float:
        """Round by round, because only within one is the machine the same."""
        return statistics.median(a / b for a, b in zip(rates[one], rates[other], strict=True))

    batches, together = f"in batches of {BATCH}", f"singly by {CLIENTS}"
    at_once = f"singly, {AT_ONCE} at once"
    return verdict(
        [
            (f"runs a second {batches}", medians[batches], 2000),
            (f"{together} / bare commits", ratio(together, "bare commits"), 1 / 3),
            (f"{at_once} / bare commits", ratio(at_once, "bare commits"), 1 / 3),
            ("singly / bare commits", ratio("singly", "bare commits"), 1 / 3),
            (f"singly at {MANY:,} / at {FEW}", ratio(f"singly at {MANY:,}", "singly"), 0.7),
            (f"batches at {MANY:,} / at {FEW}", ratio(f"in batches at {MANY:,}", batches), 0.7),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
