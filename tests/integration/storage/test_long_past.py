"""A long past stays small, and is not loaded at the start; whole in `bench/bench_history.py`."""

from __future__ import annotations

from pathlib import Path

from paddock.ports import Remembered
from paddock.storage.rollup import DAY_S
from paddock.storage.sqlite import open_store
from tests.kit.long_past import fill

UNTIL_AT = 1_790_000_000 // DAY_S * DAY_S


def test_ninety_days_of_many_agents_stay_within_their_share_of_50_mb(path: Path) -> None:
    store = open_store(path)
    fill(store, agents=20, until_at=UNTIL_AT)
    assert store.load() == Remembered()
    store.close()
    fixed = 5_000_000  # the fleet's own rows and the ledger, however many agents there are
    assert path.stat().st_size < fixed + 20 * (50_000_000 - fixed) / 300
