"""The tables, and the numbered steps from every older version to this one.

A migration that was released is never edited: a new one is appended.
"""

from __future__ import annotations

from typing import Final

import apsw

APPLICATION_ID: Final = 0x70616464  # "padd": tells our files from other SQLite databases

_FIRST: Final = """
CREATE TABLE fleet (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    at REAL NOT NULL,
    sequence INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    boot_id TEXT NOT NULL
) STRICT;
INSERT INTO fleet VALUES (1, 0.0, 0, 0, '');

CREATE TABLE runs (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    group_name TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    ended_at REAL,
    outcome TEXT,
    spec TEXT NOT NULL,
    state TEXT NOT NULL,
    facts TEXT NOT NULL,
    counts TEXT NOT NULL,
    moves INTEGER NOT NULL
) STRICT;
CREATE INDEX runs_by_name ON runs (name, sequence);
CREATE INDEX runs_by_end ON runs (ended_at, id) WHERE ended_at IS NOT NULL;

CREATE TABLE moves (
    run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    n INTEGER NOT NULL,
    at REAL NOT NULL,
    state TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    because TEXT NOT NULL,
    moves INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (run, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE groups (
    name TEXT PRIMARY KEY,
    changed_at REAL NOT NULL,
    breaker TEXT NOT NULL,
    breaker_facts TEXT NOT NULL,
    size TEXT NOT NULL,
    durations_s TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX groups_by_change ON groups (changed_at);

CREATE TABLE heartbeats (
    name TEXT PRIMARY KEY,
    facts TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Runs submitted from one shell share one environment; it goes with the last that uses it.
CREATE TABLE environments (
    number INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    variables BLOB NOT NULL
) STRICT;

CREATE TABLE recipes (
    run INTEGER PRIMARY KEY REFERENCES runs (number) ON DELETE CASCADE,
    command BLOB NOT NULL,
    directory BLOB NOT NULL,
    stdin BLOB,
    labels TEXT NOT NULL,
    environment INTEGER REFERENCES environments (number)
) STRICT;
CREATE INDEX recipes_by_environment ON recipes (environment) WHERE environment IS NOT NULL;

CREATE TABLE heartbeat_recipes (
    heartbeat TEXT PRIMARY KEY REFERENCES heartbeats (name) ON DELETE CASCADE,
    command BLOB NOT NULL,
    directory BLOB NOT NULL,
    stdin BLOB,
    labels TEXT NOT NULL,
    environment INTEGER REFERENCES environments (number)
) STRICT, WITHOUT ROWID;
CREATE INDEX heartbeat_recipes_by_environment ON heartbeat_recipes (environment)
    WHERE environment IS NOT NULL;
"""

# A table and an index of its own cost every submission two pages, a sixth of its commit. Which
# environments are still used is counted by the store, which is the only one to write.
_RECIPE_IN_RUN: Final = """
ALTER TABLE runs ADD COLUMN command BLOB;
ALTER TABLE runs ADD COLUMN directory BLOB;
ALTER TABLE runs ADD COLUMN stdin BLOB;
ALTER TABLE runs ADD COLUMN labels TEXT;
ALTER TABLE runs ADD COLUMN environment INTEGER;
UPDATE runs SET (command, directory, stdin, labels, environment) = (
    SELECT command, directory, stdin, labels, environment FROM recipes WHERE run = number);
DROP TABLE recipes;
"""

_STEPS_DONE: Final = """
CREATE TABLE steps_done (
    run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    step INTEGER NOT NULL,
    name TEXT NOT NULL,
    at REAL NOT NULL,
    attempt INTEGER NOT NULL,
    exit_code INTEGER,
    output_digest TEXT,
    commit_id TEXT,
    PRIMARY KEY (run, step)
) STRICT, WITHOUT ROWID;
"""

# That it was submitted is the one move that every run makes, and most that wait have made no other:
# in its own row it costs no page and no statement. Those of older runs stay where they are.
_FIRST_MOVE_IN_RUN: Final = """
ALTER TABLE runs ADD COLUMN first_at REAL;
ALTER TABLE runs ADD COLUMN first_state TEXT;
ALTER TABLE runs ADD COLUMN first_attempt INTEGER;
ALTER TABLE runs ADD COLUMN first_because TEXT;
"""

# What is read in one go lies together: a span's groups, and the spans of one length in order.
_HISTORY: Final = """
CREATE TABLE rollups (
    step_s INTEGER NOT NULL,
    at INTEGER NOT NULL,
    group_name TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (step_s, at, group_name)
) STRICT, WITHOUT ROWID;

CREATE TABLE ledger (
    at REAL NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    until_at REAL,
    verdict TEXT NOT NULL,
    facts TEXT NOT NULL,
    because TEXT NOT NULL,
    PRIMARY KEY (at, kind, subject)
) STRICT, WITHOUT ROWID;
"""

MIGRATIONS: Final[tuple[str, ...]] = (
    *(_FIRST, _RECIPE_IN_RUN, _STEPS_DONE, _FIRST_MOVE_IN_RUN, _HISTORY),
)
VERSION: Final = len(MIGRATIONS)


def version_of(db: apsw.Connection) -> int:
    return int(db.pragma("user_version"))


def is_foreign(db: apsw.Connection) -> bool:
    """Whether another program's tables are in it."""
    if int(db.pragma("application_id")) == APPLICATION_ID:
        return False
    return bool(db.execute("SELECT count(*) FROM sqlite_schema").get)


def migrate(db: apsw.Connection) -> None:
    """From whatever older version it has to this one, in one transaction."""
    found = version_of(db)
    if found == VERSION:
        return
    with db:
        for script in MIGRATIONS[found:]:
            db.execute(script)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {VERSION}")
