"""What one step changed, as rows, inside a transaction that the store opened."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

import apsw

from paddock.core.fleet import Change
from paddock.core.run import Ended, Run
from paddock.ports import Keep, Recipe, Step, Tidied

from . import codec, queries
from .environments import Environments
from .errors import Unfit

BATCH = 100  # runs removed at once: a few milliseconds, so that nobody waits for the broom
PAGES = 256  # given back to the disk at once
_NO_RECIPE: Final = (None,) * 5


def write(db: apsw.Connection, steps: Sequence[Step], environments: Environments) -> set[str]:
    """The runs that are new: those of which nothing was kept before."""
    new: set[str] = set()
    for step in steps:
        _put_heartbeats(db, step, environments)
        for change in step.changes:
            if _put_change(db, change, step, environments):
                new.add(change.run.id)
        for done in step.steps_done:
            db.execute(queries.PUT_STEP_DONE, codec.step_done_row(done))
        if step.recipes:
            _put_recipes(db, step, environments)
        for name, facts in step.groups.items():
            db.execute(queries.PUT_GROUP, codec.group_row(name, facts, at=step.at))
    _put_fleet(db, steps)
    return new


def recipes_left(steps: Sequence[Step]) -> Iterator[str]:
    """The runs whose recipe is another one after these, or has lost its environment."""
    for step in steps:
        yield from step.recipes
        yield from (change.run.id for change in step.changes if isinstance(change.run.state, Ended))


def _put_fleet(db: apsw.Connection, steps: Sequence[Step]) -> None:
    """What no run's own move tells of these steps, see `queries.NEWEST`: mostly nothing."""
    told_at = max((step.at for step in steps if step.changes), default=-math.inf)
    for step in steps:
        if step.at > told_at or step.epoch is not None or step.boot_id is not None:
            db.execute(queries.PUT_FLEET, (step.at, step.epoch, step.boot_id))


def _put_change(
    db: apsw.Connection, change: Change, step: Step, environments: Environments
) -> bool:
    """Whether it is the first of this run."""
    run = change.run
    moved = None
    if change.before is not None:
        moved = db.execute(queries.MOVE_RUN, codec.move_row(run)).get
    recipe = step.recipes.get(run.id)
    word, because = codec.state_word(run.state), codec.legible(change.because)
    move = (step.at, word, run.attempts, because)
    number, n = moved or _put_run(db, run, recipe, move, environments)
    if n > 1:  # the first is in its row
        db.execute(queries.PUT_MOVE, (number, n, *move))
    if change.before is None and recipe is None and run.spec.heartbeat is not None:
        copied = (codec.legible(run.spec.heartbeat), number)
        environments.use_again(db.execute(queries.COPY_RECIPE, copied).get)
    if isinstance(run.state, Ended):
        _forget_environment(db, run, number, environments)
    return n == 1


def _put_run(
    db: apsw.Connection,
    run: Run,
    recipe: Recipe | None,
    move: codec.Row,
    environments: Environments,
) -> tuple[int, int]:
    """The number of its row, and of its moves so far; the first of them is in it."""
    how = _NO_RECIPE
    if recipe is not None:
        how = (*codec.recipe_row(recipe), environments.use(db, recipe.environment))
    number, n = db.execute(queries.PUT_RUN, (*codec.run_row(run), *how, *move)).get
    if n > 1:  # it was there: its recipe is the old one
        environments.leave(db, how[-1])
    return number, n


def _put_recipes(db: apsw.Connection, step: Step, environments: Environments) -> None:
    """Of runs that were there before; those of new ones came with them."""
    new = {change.run.id for change in step.changes if change.before is None}
    for run, recipe in step.recipes.items():
        if run in new:
            continue
        key = codec.legible(run)
        environments.leave(db, db.execute(queries.ENVIRONMENT_OF, (key,)).get)
        row = (*codec.recipe_row(recipe), environments.use(db, recipe.environment), key)
        db.execute(queries.PUT_RECIPE, row)
        if not db.changes():
            raise Unfit(f"there is no run {run} that this recipe could be for", of=run)


def _put_heartbeats(db: apsw.Connection, step: Step, environments: Environments) -> None:
    for name in step.removed_heartbeats:
        key = (codec.legible(name),)
        environment = db.execute(queries.ENVIRONMENT_OF_HEARTBEAT, key).get
        db.execute(queries.DROP_HEARTBEAT, key)
        environments.leave(db, environment)
    for heartbeat in step.heartbeats:
        db.execute(queries.PUT_HEARTBEAT, codec.heartbeat_row(heartbeat))
    for name, recipe in step.heartbeat_recipes.items():
        _put_heartbeat_recipe(db, codec.legible(name), recipe, environments)


def _put_heartbeat_recipe(
    db: apsw.Connection, name: str, recipe: Recipe, environments: Environments
) -> None:
    before = db.execute(queries.ENVIRONMENT_OF_HEARTBEAT, (name,)).get
    row = (name, *codec.recipe_row(recipe), environments.use(db, recipe.environment))
    try:
        db.execute(queries.PUT_HEARTBEAT_RECIPE, row)
    except apsw.ConstraintError:
        raise Unfit(f"there is no heartbeat {name} that this recipe is for", of=name) from None
    environments.leave(db, before)


def _forget_environment(
    db: apsw.Connection, run: Run, number: int, environments: Environments
) -> None:
    environment = db.execute(queries.ENVIRONMENT_OF, (codec.legible(run.id),)).get
    if environment is not None:
        db.execute(queries.FORGET_ENVIRONMENT, (number,))
        environments.leave(db, environment)


def drop_surplus(db: apsw.Connection, keep: Keep, *, now_at: float) -> Tidied:
    db.execute(queries.KEEP_NEWEST, (now_at,))
    old = {"oldest_at": now_at - keep.age_s, "batch": BATCH}
    runs = _dropped(db, queries.DROP_OLD_RUNS, old)
    # Beats first, all of them: while there are too many, nothing else is too much.
    surplus = _dropped(db, queries.DROP_SURPLUS_BEATS, {"keep": keep.beats, "batch": BATCH})
    if not surplus:
        surplus = _dropped(db, queries.DROP_SURPLUS_RUNS, {"keep": keep.runs, "batch": BATCH})
    groups = 0
    for query, facts in (
        (queries.DROP_OLD_GROUPS, old),
        (queries.DROP_SURPLUS_GROUPS, {"keep": keep.groups, "batch": BATCH}),
    ):
        db.execute(query, facts)
        groups += db.changes()
    return Tidied((*runs, *surplus), groups)


def _dropped(db: apsw.Connection, query: str, facts: dict[str, float]) -> list[str]:
    return [run for (run,) in db.execute(query, facts)]
