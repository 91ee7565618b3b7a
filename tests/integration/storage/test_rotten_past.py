"""Rows of the past that no longer hold what they should: a gap, and never the end of it."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from paddock.ports import LedgerEntry, Rollup
from paddock.storage.rollup import HOUR_S, FleetSpan, GroupSpan, fleet_span, group_span, packed
from paddock.storage.sqlite import SqliteStore, open_store

AT = 1_790_000_000 // HOUR_S * HOUR_S
ENTRY = LedgerEntry(kind="memory", subject="r", at=AT, verdict="true", facts={"killed": 1.0})
ROT = {
    "nothing that is packed": b"\xc1",
    "text that is none": packed(FleetSpan(ends={"x": 1})).replace(b"\xa1x", b"\xa1\xff"),
    "a sum that no longer fits": packed(FleetSpan(submitted=(1 << 64) - 1)),
}


def record(store: SqliteStore) -> None:
    fleet = Rollup(HOUR_S, AT, None, packed(FleetSpan(submitted=3)))
    store.record([fleet, Rollup(HOUR_S, AT, "g", packed(GroupSpan(ooms=2)))], [ENTRY], now_at=AT)


@pytest.mark.parametrize("rot", ROT.values(), ids=ROT)
def test_a_rotten_row_gives_way_to_the_next(
    path: Path, caplog: pytest.LogCaptureFixture, rot: bytes
) -> None:
    store = open_store(path)
    record(store)
    store.close()
    with apsw.Connection(str(path)) as db:
        db.execute("UPDATE rollups SET data = ? WHERE group_name = ''", (rot,))
        db.execute("UPDATE rollups SET data = x'c1' WHERE group_name != ''")
    db.close()
    store = open_store(path)
    for _ in range(3):
        record(store)
    fleet, group = store.rollups(HOUR_S, since=(0, ""), until_at=9e18, limit=10)
    store.close()
    assert (fleet_span(fleet.data).submitted, group_span(group.data).ooms) == (9, 6)
    [told] = [one.getMessage() for one in caplog.records]
    assert "begun anew: 2 (3600 s at " in told


def test_an_entry_of_which_the_facts_are_lost_is_still_told(path: Path) -> None:
    store = open_store(path)
    record(store)
    store.close()
    with apsw.Connection(str(path)) as db:
        db.execute("UPDATE ledger SET facts = '{'")
    db.close()
    store = open_store(path)
    [entry] = store.ledger(since_at=0.0)
    store.close()
    assert (entry.subject, entry.verdict, entry.facts) == ("r", "true", {})
