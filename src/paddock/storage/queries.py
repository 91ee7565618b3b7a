"""Every SQL statement of the store, by name."""

from __future__ import annotations

from typing import Final

_RUN: Final = "spec, state, facts, counts"
_RECIPE: Final = "command, directory, stdin, labels, environment"
_FIRST_MOVE: Final = "first_at, first_state, first_attempt, first_because"
# Rows are added in the order of their sequence; a few of them, should that ever be otherwise.
_LAST_SEQUENCE: Final = """
(SELECT coalesce(max(sequence), 0)
 FROM (SELECT sequence FROM runs ORDER BY number DESC LIMIT 100))
"""
_LAST_FIRST_AT: Final = """
(SELECT coalesce(max(first_at), 0.0)
 FROM (SELECT first_at FROM runs ORDER BY number DESC LIMIT 100))
"""

# -- one step ---------------------------------------------------------------------------------

PUT_RUN: Final = f"""
INSERT INTO runs ({_RUN}, id, name, group_name, sequence, ended_at, outcome, {_RECIPE},
    {_FIRST_MOVE}, moves)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)
ON CONFLICT (id) DO UPDATE SET
    spec = excluded.spec, state = excluded.state, facts = excluded.facts,
    counts = excluded.counts, ended_at = excluded.ended_at, outcome = excluded.outcome,
    moves = moves + 1
RETURNING number, moves
"""
# One that nobody has seen yet; if somebody has, it fails, and goes the way above.
PUT_NEW_RUN: Final = f"""
INSERT INTO runs ({_RUN}, id, name, group_name, sequence, ended_at, outcome, {_RECIPE},
    {_FIRST_MOVE}, moves)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)
"""
# What a run was asked to be never changes, and is most of its row: all later writes spare it.
MOVE_RUN: Final = """
UPDATE runs SET state = ?, facts = ?, counts = ?, ended_at = ?, outcome = ?, moves = moves + 1
WHERE id = ? RETURNING number, moves
"""
PUT_MOVE: Final = (
    "INSERT INTO moves (run, n, at, state, attempt, because) VALUES (?, ?, ?, ?, ?, ?)"
)
# A step is done once: what was kept first stands.
PUT_STEP_DONE: Final = """
INSERT INTO steps_done (run, step, name, at, attempt, exit_code, output_digest, commit_id)
SELECT number, ?, ?, ?, ?, ?, ?, ? FROM runs WHERE id = ?
ON CONFLICT (run, step) DO NOTHING
"""
PUT_GROUP: Final = "INSERT OR REPLACE INTO groups VALUES (?, ?, ?, ?, ?, ?)"
PUT_HEARTBEAT: Final = """
INSERT INTO heartbeats (name, facts) VALUES (?, ?)
ON CONFLICT (name) DO UPDATE SET facts = excluded.facts
"""
DROP_HEARTBEAT: Final = "DELETE FROM heartbeats WHERE name = ?"
PUT_FLEET: Final = """
UPDATE fleet SET at = max(at, ?),
    epoch = coalesce(?, epoch), boot_id = coalesce(?, boot_id)
"""

# -- recipes and environments -----------------------------------------------------------------

PUT_RECIPE: Final = f"UPDATE runs SET ({_RECIPE}) = (?, ?, ?, ?, ?) WHERE id = ?"
PUT_HEARTBEAT_RECIPE: Final = f"""
INSERT OR REPLACE INTO heartbeat_recipes (heartbeat, {_RECIPE}) VALUES (?, ?, ?, ?, ?, ?)
"""
COPY_RECIPE: Final = f"""
UPDATE runs SET ({_RECIPE}) = (SELECT {_RECIPE} FROM heartbeat_recipes WHERE heartbeat = ?)
WHERE number = ? RETURNING environment
"""
ENVIRONMENT_OF: Final = "SELECT environment FROM runs WHERE id = ?"
ENVIRONMENT_OF_HEARTBEAT: Final = "SELECT environment FROM heartbeat_recipes WHERE heartbeat = ?"
FORGET_ENVIRONMENT: Final = "UPDATE runs SET environment = NULL WHERE number = ?"
RECIPE_OF: Final = """
SELECT command, directory, stdin, labels, environments.number, variables FROM runs
LEFT JOIN environments ON environments.number = runs.environment
WHERE id = ? AND command IS NOT NULL
"""
RECIPE_OF_HEARTBEAT: Final = """
SELECT command, directory, stdin, labels, environments.number, variables FROM heartbeat_recipes
LEFT JOIN environments ON environments.number = heartbeat_recipes.environment
WHERE heartbeat = ?
"""

# -- environments -----------------------------------------------------------------------------

PUT_ENVIRONMENT: Final = """
INSERT INTO environments (digest, variables) VALUES (?, ?) RETURNING number
"""
DROP_ENVIRONMENT: Final = "DELETE FROM environments WHERE number = ?"
ENVIRONMENTS: Final = "SELECT number, digest FROM environments"
USED_ENVIRONMENTS: Final = """
SELECT environment, count(*) FROM (
    SELECT environment FROM runs UNION ALL SELECT environment FROM heartbeat_recipes)
WHERE environment IS NOT NULL GROUP BY environment
"""

# -- looking back -----------------------------------------------------------------------------

FLEET: Final = "SELECT at, sequence, epoch, boot_id FROM fleet"
# What the runs themselves say: a step that changes one need not write it a second time.
NEWEST: Final = f"""
SELECT max((SELECT coalesce(max(at), 0.0) FROM moves), {_LAST_FIRST_AT}), {_LAST_SEQUENCE}
"""
# Read once, at the start: an index for it would cost every submission a page.
UNENDED: Final = f"SELECT {_RUN} FROM runs WHERE ended_at IS NULL ORDER BY sequence"
NEWEST_ENDED: Final = f"""
SELECT {_RUN} FROM runs WHERE ended_at IS NOT NULL ORDER BY ended_at DESC, id DESC LIMIT ?
"""
GROUPS: Final = """
SELECT name, breaker, breaker_facts, size, durations_s FROM groups
ORDER BY changed_at DESC, name
"""
HEARTBEATS: Final = "SELECT facts FROM heartbeats ORDER BY name"
RUN: Final = f"SELECT {_RUN} FROM runs WHERE id = ?"
NEWEST_OF_NAME: Final = f"""
SELECT {_RUN} FROM runs WHERE name = ? ORDER BY sequence DESC, number DESC LIMIT 1
"""
BY_PREFIX: Final = f"SELECT {_RUN} FROM runs WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"
INPUTS: Final = """
SELECT stdin FROM runs WHERE stdin IS NOT NULL AND ended_at IS NULL
"""
OUTCOMES: Final = """
SELECT outcome, count(*) FROM runs WHERE ended_at IS NOT NULL GROUP BY outcome
"""
# The first is in the run's own row; of a run that an older version took it is with the others.
STORY: Final = f"""
SELECT 1 AS n, {_FIRST_MOVE}, 1 FROM runs WHERE id = :run AND first_at IS NOT NULL
UNION ALL
SELECT n, at, state, attempt, because, moves FROM moves
WHERE run = (SELECT number FROM runs WHERE id = :run)
ORDER BY n
"""
STEPS_DONE: Final = """
SELECT step, name, at, attempt, exit_code, output_digest, commit_id FROM steps_done
WHERE run = (SELECT number FROM runs WHERE id = ?) ORDER BY step
"""
ENDED: Final = f"""
SELECT {_RUN} FROM runs
WHERE ended_at IS NOT NULL AND (ended_at, id) < (:before_at, :before_id) AND ended_at >= :since_at
    AND (:name IS NULL OR name = :name)
    AND (:group IS NULL OR group_name = :group)
    AND (:outcome IS NULL OR outcome = :outcome)
ORDER BY ended_at DESC, id DESC LIMIT :limit
"""

# -- keeping it small -------------------------------------------------------------------------

# Before the run that has the highest number may go.
KEEP_NEWEST: Final = f"UPDATE fleet SET at = max(at, ?), sequence = max(sequence, {_LAST_SEQUENCE})"

# The id of a beat has a dot, of no other run: the index by end tells, and no other row is read.
DROP_SURPLUS_BEATS: Final = """
DELETE FROM runs WHERE number IN (
    SELECT number FROM (
        SELECT number, ended_at,
            row_number() OVER (PARTITION BY beat ORDER BY ended_at DESC, id DESC) AS newer
        FROM (
            SELECT number, id, ended_at, spec ->> 'heartbeat' AS beat FROM runs
            WHERE ended_at IS NOT NULL AND id GLOB '*.*' AND json_valid(spec))
        WHERE beat IS NOT NULL)
    WHERE newer > :keep ORDER BY ended_at LIMIT :batch)
RETURNING id
"""
DROP_OLD_RUNS: Final = """
DELETE FROM runs WHERE number IN (
    SELECT number FROM runs WHERE ended_at IS NOT NULL AND ended_at < :oldest_at
    ORDER BY ended_at, id LIMIT :batch)
RETURNING id
"""
DROP_SURPLUS_RUNS: Final = """
DELETE FROM runs WHERE number IN (
    SELECT number FROM runs WHERE ended_at IS NOT NULL ORDER BY ended_at, id
    LIMIT min(:batch, max(0, (SELECT count(*) FROM runs WHERE ended_at IS NOT NULL) - :keep)))
RETURNING id
"""
DROP_OLD_GROUPS: Final = """
DELETE FROM groups WHERE name IN (
    SELECT name FROM groups WHERE changed_at < :oldest_at ORDER BY changed_at LIMIT :batch)
"""
DROP_SURPLUS_GROUPS: Final = """
DELETE FROM groups WHERE name IN (
    SELECT name FROM groups ORDER BY changed_at
    LIMIT min(:batch, max(0, (SELECT count(*) FROM groups) - :keep)))
"""
