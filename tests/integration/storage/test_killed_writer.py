"""A writer killed with SIGKILL at any instant: what it acknowledged is there, and no half step."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from paddock.storage.sqlite import SqliteStore, open_store
from tests.integration.storage.writer import expected

ROUNDS = 30
PROJECT = Path(__file__).parents[3]


class Writer:
    def __init__(self, path: Path, *, batch: int) -> None:
        command = [sys.executable, "-m", "tests.integration.storage.writer", str(path), str(batch)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT)
        assert self.process.stdout is not None
        self._said = self.process.stdout
        assert self._said.readline() == "opening\n"

    def killed(self, *, after_s: float, after_lines: int) -> int:
        """Kill it so long after so many lines; the last number that it said."""
        last = 0
        for _ in range(after_lines):
            last = int(self._said.readline())
        timer = threading.Timer(after_s, self.process.kill)
        timer.start()
        for line in self._said:
            last = int(line)
        timer.join()
        self._said.close()
        assert self.process.wait() == -9
        return last


def check_prefix(store: SqliteStore, acknowledged: int, *, batch: int) -> int:
    found = store.load(ended=10**6)
    last = found.sequence
    assert last >= acknowledged
    assert last - acknowledged in (0, batch), "a batch is there whole or not at all"
    assert found.at == float(last)
    assert {run.id: run for run in found.runs} == expected(last)
    assert last == 0 or len(store.story(f"r{last}")) == 1
    assert all(len(store.story(f"r{n}")) == 2 for n in range(1, last))
    environments = [store.recipe(f"r{n}") for n in range(1, last + 1)]
    kept = [n for n, r in enumerate(environments, 1) if r is not None and r.environment]
    assert kept == ([last] if last else [])
    return last


@pytest.mark.timeout(300)
def test_every_acknowledged_step_is_there_and_the_state_is_a_prefix(path: Path) -> None:
    draw = random.Random(7)
    last = 0
    for number in range(ROUNDS):
        batch = 1 if number % 2 else 7
        writer = Writer(path, batch=batch)
        said = writer.killed(after_s=draw.uniform(0, 0.05), after_lines=draw.choice([0, 1, 3]))
        store = open_store(path)
        last = check_prefix(store, max(said, last), batch=batch)
        store.tidy(now_at=0.0)
        store.close()
        if last > 300:  # begin anew: the check looks at every run
            path, last = path.with_name(f"{number}.db"), 0


def test_a_writer_killed_while_it_makes_the_database(tmp_path: Path) -> None:
    draw = random.Random(11)
    for number in range(10):
        path = tmp_path / f"state{number}" / "fleet.db"
        said = Writer(path, batch=1).killed(after_s=draw.uniform(0, 0.02), after_lines=0)
        store = open_store(path)
        check_prefix(store, said, batch=1)
        store.close()
