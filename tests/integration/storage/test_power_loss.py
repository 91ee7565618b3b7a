"""The power goes at any instant (REL-2): what was acknowledged is on the disk, and no half step."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from paddock.ports import Step
from paddock.storage.sqlite import open_store
from tests.integration.storage.fickle_disk import FickleDisk, fickle_disk
from tests.integration.storage.writer import expected, step

STEPS = 60


class Blackouts:
    """What the disk would hold if the power went now, kept for some of all possible instants."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.disk: FickleDisk | None = None
        self.acknowledged = 0
        self.seen: list[tuple[int, dict[str, bytes]]] = []

    def moment(self) -> None:
        if self.disk is not None and self.draw.random() < 0.04:
            self.now()

    def now(self) -> None:
        assert self.disk is not None
        self.seen.append((self.acknowledged, self.disk.after_power_loss(self.draw)))


def life(path: Path, blackouts: Blackouts, batches: Callable[[], int]) -> None:
    with fickle_disk(blackouts.moment) as disk:
        store = open_store(path)
        blackouts.disk = disk
        while (done := blackouts.acknowledged) < STEPS:
            batch = [step(done + n) for n in range(1, batches() + 1)]
            store.remember_many(batch)
            blackouts.acknowledged += len(batch)
            blackouts.now()
            if blackouts.draw.random() < 0.3:
                store.tidy(now_at=0.0)  # a checkpoint: the other way into the database
        store.close()


@pytest.mark.parametrize("seed", range(3))
def test_every_acknowledged_step_survives(tmp_path: Path, seed: int) -> None:
    blackouts = Blackouts(seed)
    life(tmp_path / "state" / "fleet.db", blackouts, lambda: blackouts.draw.choice([1, 1, 3]))
    assert len(blackouts.seen) > 30
    for number, (acknowledged, files) in enumerate(blackouts.seen):
        after = tmp_path / f"after{number}"
        after.mkdir(mode=0o700)
        for name, data in files.items():
            (after / name).write_bytes(data)
        store = open_store(after / "fleet.db")
        found = store.load()
        assert acknowledged <= found.sequence <= acknowledged + 3
        assert {run.id: run for run in found.runs} == expected(found.sequence)
        store.remember(Step(at=found.at, changes=step(found.sequence + 1).changes))
        store.close()
