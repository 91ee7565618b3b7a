"""What one step changed, as rows, inside a transaction that the store opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import apsw

from paddock.core.fleet import Change
from paddock.core.run import Ended
from paddock.ports import Keep, Recipe, Step, Tidied

from . import codec, queries, story
from .errors import Unfit

BATCH = 100  # runs removed at once: a few milliseconds, so that nobody waits for the broom
PAGES = 256  # given back to the disk at once


def write(db: apsw.Connection, steps: Sequence[Step]) -> None:
    sequence = 0
    for step in steps:
        _put_heartbeats(db, step)
        numbers: dict[str, int] = {}
        for change in step.changes:
            numbers[change.run.id] = _put_change(db, change, step)
            sequence = max(sequence, change.run.sequence)
        _put_recipes(db, step, numbers)
        for name, facts in step.groups.items():
            db.execute(queries.PUT_GROUP, codec.group_row(name, facts, at=step.at))
        if step.epoch is not None or step.boot_id is not None or not step.changes:
            # Else the run's own move says when it was, see `queries.NEWEST`.
            db.execute(queries.PUT_FLEET, (step.at, sequence, step.epoch, step.boot_id))


def _put_change(db: apsw.Connection, change: Change, step: Step) -> int:
    """The number of the run's row."""
    run = change.run
    moved = None
    if change.before is not None:
        moved = db.execute(queries.MOVE_RUN, codec.move_row(run)).get
    number, n = moved or db.execute(queries.PUT_RUN, codec.run_row(run)).get
    word, because = codec.state_word(run.state), codec.legible(change.because)
    db.execute(queries.PUT_MOVE, (number, n, step.at, word, run.attempts, because))
    _fold(db, number, n)
    if change.before is None and run.spec.heartbeat is not None:
        db.execute(queries.COPY_RECIPE, (number, codec.legible(run.spec.heartbeat)))
    if isinstance(run.state, Ended):
        _forget_environment(db, number)
    return int(number)


def _fold(db: apsw.Connection, number: int, n: int) -> None:
    last = story.fold_until(n)
    if last is None:
        return
    moves = db.execute(queries.FOLD_COUNT, (number, story.HEAD, last)).get
    db.execute(queries.FOLD_AWAY, (number, story.HEAD + 1, last))
    db.execute(queries.FOLD_INTO, (moves, number, story.HEAD + 1))


def _put_recipes(db: apsw.Connection, step: Step, numbers: Mapping[str, int]) -> None:
    if not step.recipes:
        return
    over = {change.run.id for change in step.changes if isinstance(change.run.state, Ended)}
    for run, recipe in step.recipes.items():
        number = numbers.get(run)
        if number is None:
            number = db.execute(queries.NUMBER_OF, (codec.legible(run),)).get
        if number is None:
            raise Unfit(f"there is no run {run} that this recipe could be for")
        environment = None if run in over else _put_environment(db, recipe.environment)
        row = (number, *codec.recipe_row(recipe), environment)
        db.execute(queries.PUT_RECIPE, row)


def _put_heartbeats(db: apsw.Connection, step: Step) -> None:
    for name in step.removed_heartbeats:
        key = (codec.legible(name),)
        environment = db.execute(queries.ENVIRONMENT_OF_HEARTBEAT, key).get
        db.execute(queries.DROP_HEARTBEAT, key)
        db.execute(queries.DROP_ENVIRONMENT, (environment,))
    for heartbeat in step.heartbeats:
        db.execute(queries.PUT_HEARTBEAT, codec.heartbeat_row(heartbeat))
    for name, recipe in step.heartbeat_recipes.items():
        _put_heartbeat_recipe(db, codec.legible(name), recipe)


def _put_heartbeat_recipe(db: apsw.Connection, name: str, recipe: Recipe) -> None:
    before = db.execute(queries.ENVIRONMENT_OF_HEARTBEAT, (name,)).get
    row = (name, *codec.recipe_row(recipe), _put_environment(db, recipe.environment))
    try:
        db.execute(queries.PUT_HEARTBEAT_RECIPE, row)
    except apsw.ConstraintError:
        raise Unfit(f"there is no heartbeat {name} that this recipe could be for") from None
    db.execute(queries.DROP_ENVIRONMENT, (before,))


def _put_environment(db: apsw.Connection, variables: Mapping[str, str] | None) -> int | None:
    if variables is None:
        return None
    row = codec.environment_row(variables)
    same: int | None = db.execute(queries.SAME_ENVIRONMENT, row[:1]).get
    if same is not None:
        return same
    return int(db.execute(queries.PUT_ENVIRONMENT, row).get)


def _forget_environment(db: apsw.Connection, number: int) -> None:
    environment = db.execute(queries.ENVIRONMENT_OF, (number,)).get
    if environment is not None:
        db.execute(queries.FORGET_ENVIRONMENT, (number,))
        db.execute(queries.DROP_ENVIRONMENT, (environment,))


def drop_surplus(db: apsw.Connection, keep: Keep, *, now_at: float) -> Tidied:
    db.execute(queries.KEEP_NEWEST, (now_at,))
    old = {"oldest_at": now_at - keep.age_s, "batch": BATCH}
    runs = [run for (run,) in db.execute(queries.DROP_OLD_RUNS, old)]
    surplus = {"keep": keep.runs, "batch": BATCH}
    runs += [run for (run,) in db.execute(queries.DROP_SURPLUS_RUNS, surplus)]
    groups = 0
    for query, facts in (
        (queries.DROP_OLD_GROUPS, old),
        (queries.DROP_SURPLUS_GROUPS, {"keep": keep.groups, "batch": BATCH}),
    ):
        db.execute(query, facts)
        groups += db.changes()
    return Tidied(tuple(runs), groups)
