"""Durable writes of the store against bare SQLite commits of the same durability, in one run.

Targets: a submission by itself at least a third of the rate of bare commits of one small row; in
batches of 100 at least 2,000 runs a second; at 50,000 queued at least 0.7 of the rate at 100. The
time to load 10,000 runs is printed beside that of reading the file once.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import apsw
from ground import keep, verdict
from msgspec import structs

from paddock.core.fleet import Change
from paddock.core.run import Ended, Outcome, Priority, Queued, Run, RunSpec
from paddock.core.units import GIB
from paddock.ports import Recipe, Step
from paddock.storage.sqlite import SqliteStore, open_store

ROUNDS = 9
SINGLES = 200  # in a round
BATCH = 100
FEW, MANY = 100, 50_000
LOADED = 10_000
SHELL = {f"VARIABLE_{n}": f"a value of some length, number {n}" for n in range(60)}


class Bench:
    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.count = 0

    def step(self) -> Step:
        """One submission as a client makes it: run, first move, command and environment."""
        self.count += 1
        # Ids in no order, as real ones come.
        run_id = f"{self.count * 2654435761 % 2**32:08x}-{self.count}"
        spec = RunSpec(id=run_id, name=f"run {self.count}", group="coder", limit_bytes=2 * GIB)
        run = Run(
            spec=spec,
            state=Queued(float(self.count)),
            priority=Priority.NORMAL,
            enqueued_at=float(self.count),
            sequence=self.count,
            tag=self.count,
            limit_bytes=spec.limit_bytes,
        )
        recipe = Recipe(command=("agent", "-p", "do"), directory=Path("/tmp"), environment=SHELL)
        changes = (Change(run, None, "submitted"),)
        return Step(at=float(self.count), changes=changes, recipes={run_id: recipe})

    def singles(self) -> None:
        for _ in range(SINGLES):
            self.store.remember(self.step())

    def batch(self) -> None:
        self.store.remember_many([self.step() for _ in range(BATCH)])

    def fill(self, queued: int) -> None:
        while self.count < queued:
            self.store.remember_many([self.step() for _ in range(min(1000, queued - self.count))])

    def end(self, count: int) -> None:
        """So many more runs that are over, from submission to end."""
        for _ in range(count // 500):
            steps = []
            for _ in range(500):
                step = self.step()
                ended = Ended(step.at, Outcome.SUCCEEDED, "", 0)
                run = structs.replace(step.changes[0].run, state=ended)
                over = (*step.changes, Change(run, step.changes[0].run.state, "exit code 0"))
                steps.append(structs.replace(step, changes=over))
            self.store.remember_many(steps)


def bare_singles(db: apsw.Connection) -> None:
    for _ in range(SINGLES):
        db.execute("INSERT INTO small (text) VALUES (?)", ("a small row",))


def bare(path: Path) -> apsw.Connection:
    db = apsw.Connection(str(path))
    for setting in ("journal_mode = WAL", "synchronous = FULL"):
        db.execute(f"PRAGMA {setting}").fetchall()
    db.execute("CREATE TABLE small (number INTEGER PRIMARY KEY, text TEXT)")
    return db


def taken_s(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def measure(where: Path) -> list[tuple[str, float, float]]:
    """(what, found, target): everything interleaved, because disks have moods."""
    few, many = Bench(open_store(where / "few/db")), Bench(open_store(where / "many/db"))
    few.fill(FEW)
    many.fill(MANY)
    db = bare(where / "bare")
    singles, bares, deep, batches = [], [], [], []
    for _ in range(ROUNDS):
        bares.append(SINGLES / taken_s(lambda: bare_singles(db)))
        singles.append(SINGLES / taken_s(few.singles))
        deep.append(SINGLES / taken_s(many.singles))
        batches.append(BATCH / taken_s(many.batch))
    rates = [statistics.median(found) for found in (bares, singles, deep, batches)]
    print(f"bare commits {rates[0]:.0f}/s, submissions {rates[1]:.0f}/s")
    print(f"submissions with {MANY:,} queued {rates[2]:.0f}/s")
    few.store.close()
    many.store.close()
    db.close()
    return [
        ("submissions / bare commits", rates[1] / rates[0], 1 / 3),
        (f"runs a second in batches of {BATCH}", rates[3], 2000),
        (f"rate at {MANY:,} queued / at {FEW}", rates[2] / rates[1], 0.7),
    ]


def measure_load(where: Path) -> None:
    path = where / "load/db"
    bench = Bench(open_store(path))
    bench.fill(LOADED)
    bench.end(LOADED)
    bench.store.close()
    read_s = taken_s(path.read_bytes)
    begun = time.perf_counter()
    store = open_store(path)
    opened_s = time.perf_counter() - begun
    load_s = taken_s(store.load)
    store.close()
    size_mb = path.stat().st_size / 1e6
    print(
        f"{LOADED:,} queued and {LOADED:,} ended runs ({size_mb:.1f} MB): open and check "
        f"{opened_s * 1000:.0f} ms, load {load_s * 1000:.0f} ms, read the file "
        f"{read_s * 1000:.1f} ms"
    )


def main() -> int:
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as directory:
        found = measure(Path(directory))
        measure_load(Path(directory))
    names = ("of_bare_commits", "batched_a_second", "deep_of_shallow")
    keep("store", {name: value for name, (_, value, _) in zip(names, found, strict=True)})
    return verdict(found)


if __name__ == "__main__":
    sys.exit(main())
