"""The tables: numbered, never edited once released, and queried through indexes."""

from __future__ import annotations

import hashlib
from typing import Any

import apsw
import pytest

from paddock.storage import history, queries, schema

# Of released migrations: to change the tables, append a migration and its sum.
RELEASED = (
    *("53d2de45a3e18737", "01db29c38ad8dc45", "5a9083cc0d4dcca5", "389a61403044ddb3"),
    *("b838452677b114c4",),
)


def made() -> apsw.Connection:
    db = apsw.Connection(":memory:")
    schema.migrate(db)
    return db


def test_a_released_migration_is_never_edited() -> None:
    sums = tuple(hashlib.sha256(script.encode()).hexdigest()[:16] for script in schema.MIGRATIONS)
    assert sums == RELEASED


def test_a_new_database_has_this_version_and_says_whose_it_is() -> None:
    db = made()
    assert schema.version_of(db) == schema.VERSION
    assert not schema.is_foreign(db)
    schema.migrate(db)
    assert db.execute("SELECT count(*) FROM fleet").get == 1


def test_a_migration_that_fails_leaves_the_old_version(monkeypatch: pytest.MonkeyPatch) -> None:
    db = made()
    broken = (*schema.MIGRATIONS, "CREATE TABLE more (a TEXT); CREATE TABLE runs (a TEXT);")
    monkeypatch.setattr(schema, "MIGRATIONS", broken)
    monkeypatch.setattr(schema, "VERSION", len(broken))
    with pytest.raises(apsw.SQLError):
        schema.migrate(db)
    assert schema.version_of(db) == len(broken) - 1
    assert not db.table_exists(None, "more")


def test_an_older_version_is_taken_through_every_migration(monkeypatch: pytest.MonkeyPatch) -> None:
    db = made()
    more = (*schema.MIGRATIONS, "ALTER TABLE groups ADD COLUMN note TEXT", "CREATE TABLE a (b) ")
    monkeypatch.setattr(schema, "MIGRATIONS", more)
    monkeypatch.setattr(schema, "VERSION", len(more))
    schema.migrate(db)
    assert schema.version_of(db) == len(more)
    assert db.table_exists(None, "a")


NAMED = ("before_at", "before_id", "since_at", "name", "group", "outcome", "limit")
KEPT = ("oldest_at", "batch", "keep")


@pytest.mark.parametrize(
    ("query", "bound"),
    [
        (queries.RUN, (None,)),
        (queries.NEWEST_OF_NAME, (None,)),
        (queries.BY_PREFIX, (None, None, None)),
        (queries.STORY, (None,)),
        (queries.RECIPE_OF, (None,)),
        (queries.ENVIRONMENT_OF, (None,)),
        (queries.DROP_ENVIRONMENT, (None,)),
        (queries.FORGET_ENVIRONMENT, (None,)),
        (queries.ENDED, dict.fromkeys(NAMED)),
        (queries.DROP_OLD_RUNS, dict.fromkeys(KEPT)),
        (queries.DROP_OLD_GROUPS, dict.fromkeys(KEPT)),
        (history.FIND, (None, None, None)),
        (history.COUNT, (None, None)),
        (history.READ, dict.fromkeys(("step_s", "at", "group", "until_at", "limit"))),
        (history.DROP, (None, None, None)),
    ],
)
def test_what_is_asked_often_walks_over_no_table(query: str, bound: Any) -> None:
    rows = made().execute(f"EXPLAIN QUERY PLAN {query}", bound)
    plan = [text for *_, text in rows]
    assert [text for text in plan if text.startswith("SCAN") and "USING" not in text] == []
    assert [text for text in plan if "TEMP B-TREE" in text] == []
