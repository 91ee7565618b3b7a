"""The past in rollups: added to inside a transaction that the store opened, read in pages.

Never loaded at the start. Bounded by age and by how many groups of one span are told apart: with
300 agents, each a group of its own, 90 days take some 40 MB (`bench/bench_history.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Final

import apsw

from paddock.ports import LedgerEntry, Rollup

from . import codec
from .rollup import DAY_S, HOUR_S, MINUTE_S, OTHERS, UNREADABLE, added

KEPT_S: Final = 90 * DAY_S
FINE_S: Final = 2 * DAY_S  # minutes
GROUPS_HOURLY_S: Final = 8 * DAY_S  # a week to compare with; before that, days
MOST_GROUPS: Final = 400
MOST_ENTRIES: Final = 10_000
BATCH: Final = 500  # removed at once, so that nobody waits for the broom
LONGEST_NAME: Final = 200

FIND: Final = "SELECT data FROM rollups WHERE step_s = ? AND at = ? AND group_name = ?"
COUNT: Final = "SELECT count(*) FROM rollups WHERE step_s = ? AND at = ?"
PUT: Final = "INSERT OR REPLACE INTO rollups VALUES (?, ?, ?, ?)"
READ: Final = """
SELECT at, group_name, data FROM rollups
WHERE step_s = :step_s AND (at, group_name) > (:at, :group) AND at < :until_at
ORDER BY at, group_name LIMIT :limit
"""
# One seek for each: the newest hour of every day in which anything was recorded, newest first.
DAYS: Final = f"""
WITH RECURSIVE days(at) AS (
    SELECT max(at) FROM rollups WHERE step_s = {HOUR_S}
    UNION ALL
    SELECT (SELECT max(at) FROM rollups
            WHERE step_s = {HOUR_S} AND at < days.at - days.at % {DAY_S})
    FROM days WHERE days.at IS NOT NULL LIMIT {KEPT_S // DAY_S + 1})
SELECT at FROM days WHERE at IS NOT NULL
"""
DROP: Final = f"""
DELETE FROM rollups WHERE (step_s, at, group_name) IN (
    SELECT step_s, at, group_name FROM rollups WHERE step_s = ? AND at < ? AND group_name >= ?
    LIMIT {BATCH})
"""
PUT_ENTRY: Final = "INSERT OR REPLACE INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?)"
ENTRIES: Final = """
SELECT at, kind, subject, until_at, verdict, facts, because FROM ledger
WHERE until_at IS NULL OR until_at >= ? ORDER BY at DESC, kind DESC, subject DESC LIMIT ?
"""
DROP_ENTRIES: Final = f"""
DELETE FROM ledger WHERE (at, kind, subject) IN (
    SELECT at, kind, subject FROM ledger WHERE at < ? ORDER BY at LIMIT {BATCH})
"""
DROP_SURPLUS: Final = f"""
DELETE FROM ledger WHERE (at, kind, subject) IN (
    SELECT at, kind, subject FROM ledger ORDER BY at
    LIMIT max(0, (SELECT count(*) FROM ledger) - {MOST_ENTRIES}))
"""

log = logging.getLogger("paddock.store")


def add(db: apsw.Connection, rollups: Iterable[Rollup]) -> None:
    """A row that cannot be read gives way to the new one: better a gap than no more history."""
    rotten = []
    for rollup in rollups:
        step_s, at, data = rollup.step_s, rollup.at, rollup.data
        name = _name_in(db, rollup)
        old = db.execute(FIND, (step_s, at, name)).get
        if old is not None:
            try:
                data = added(old, data, of_group=bool(name))
            except UNREADABLE as error:
                rotten.append(f"{step_s} s at {at} of {name or 'the fleet'}: {error}")
        db.execute(PUT, (step_s, at, name, data))
    if rotten:
        log.warning("unreadable rows of the history, begun anew: %d (%s)", len(rotten), rotten[0])


def _name_in(db: apsw.Connection, rollup: Rollup) -> str:
    """The group's, or where it is the one too many, that of all others."""
    if rollup.group is None:
        return ""
    name = codec.legible(rollup.group)[:LONGEST_NAME] or OTHERS
    if db.execute(FIND, (rollup.step_s, rollup.at, name)).get is not None:
        return name
    full = db.execute(COUNT, (rollup.step_s, rollup.at)).get >= MOST_GROUPS
    return OTHERS if full else name


def put_entries(db: apsw.Connection, entries: Iterable[LedgerEntry]) -> None:
    for entry in entries:
        names = (codec.legible(entry.kind), codec.legible(entry.subject))
        facts = codec.pack(dict(entry.facts))
        ends = (entry.until_at, entry.verdict, facts, codec.legible(entry.because))
        db.execute(PUT_ENTRY, (entry.at, *names, *ends))


def oldest_kept(age_s: int, days: Sequence[int], *, now_at: float) -> int:
    """Where the past of this age begins. A clock may be wrong by years, for a moment or for long.

    So nothing goes for its age alone: so many later days (`days`: an hour of each, newest first)
    must have been recorded as well. One day more is kept, which may be one that never was.
    """
    many = age_s // DAY_S
    if len(days) <= many:
        return 0
    return min(int(now_at) - age_s, days[many] - days[many] % DAY_S)


def drop_old(db: apsw.Connection, *, now_at: float) -> None:
    """A batch of each: whatever is left goes with the next minute."""
    days = [at for (at,) in db.execute(DAYS)]
    ages = (
        (MINUTE_S, FINE_S, ""),
        (HOUR_S, GROUPS_HOURLY_S, "\x01"),
        (HOUR_S, KEPT_S, ""),
        (DAY_S, KEPT_S, ""),
    )
    for step_s, age_s, first in ages:
        db.execute(DROP, (step_s, oldest_kept(age_s, days, now_at=now_at), first))
    db.execute(DROP_ENTRIES, (oldest_kept(KEPT_S, days, now_at=now_at),))
    db.execute(DROP_SURPLUS)


def read(
    db: apsw.Connection, step_s: int, *, since: tuple[int, str], until_at: float, limit: int
) -> tuple[Rollup, ...]:
    at, group = since
    facts = {"step_s": step_s, "at": at, "group": group, "until_at": until_at, "limit": limit}
    rows = db.execute(READ, facts)
    return tuple(Rollup(step_s, at, name or None, data) for at, name, data in rows)


def entries(db: apsw.Connection, *, since_at: float, limit: int) -> tuple[LedgerEntry, ...]:
    rows = db.execute(ENTRIES, (since_at, limit)).fetchall()
    return tuple(_entry(row) for row in reversed(rows))


def _entry(row: Sequence[object]) -> LedgerEntry:
    names = ("at", "kind", "subject", "until_at", "verdict", "facts", "because")
    known = dict(zip(names, row, strict=True))
    try:
        known["facts"] = codec.unpack(str(known["facts"]), dict[str, float])
    except codec.Broken:
        known["facts"] = {}  # that there was one is still known
    return LedgerEntry(**known)  # type: ignore[arg-type]  # a strict table holds what it says
