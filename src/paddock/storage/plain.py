"""The plain batch: runs that are new and runs that moved, in one statement of SQLite if it can be.

Each statement gives the interpreter's lock away and has to win it back from a busy loop, and costs
more by that than by its work: an end and a start took eleven of them, 0.5 ms of CPU (0.8 beside a
busy loop), and take one, 0.2 ms. What a statement of many rows does with each of them is said by
triggers that live in the connection. Whatever is not plain goes the long way (`writing`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from paddock.core.fleet import Change
from paddock.core.run import Ended
from paddock.ports import Recipe, Step

from . import codec, queries, story
from .environments import Environments
from .recipes import Recipes

MOST_ROWS: Final = 16  # in one statement; each number of them is prepared once
_COLUMNS: Final = 10
_NOTHING: Final = (None,) * (_COLUMNS - 3)

# A letter is a row that nobody keeps: the triggers below act on it. Of a group, `word` is its
# breaker, `facts` those of the breaker, `counts` its size and `because` its durations.
MADE_WITH_THE_CONNECTION: Final = f"""
CREATE TEMP VIEW letters (
    kind, name, at, word, facts, counts, ended_at, outcome, attempt, because
) AS SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL;

CREATE TEMP TRIGGER a_run_moved INSTEAD OF INSERT ON letters WHEN NEW.kind = 'run' BEGIN
    UPDATE runs SET state = NEW.word, facts = NEW.facts, counts = NEW.counts,
        ended_at = NEW.ended_at, outcome = NEW.outcome, moves = moves + 1,
        environment = iif(NEW.ended_at IS NULL, environment, NULL)
    WHERE id = NEW.name;
    SELECT RAISE(ABORT, 'no such run') WHERE changes() = 0;
    INSERT INTO moves (run, n, at, state, attempt, because)
    SELECT number, moves, NEW.at, NEW.word, NEW.attempt, NEW.because FROM runs
    WHERE id = NEW.name;
END;

CREATE TEMP TRIGGER a_group_learned INSTEAD OF INSERT ON letters WHEN NEW.kind = 'group' BEGIN
    INSERT OR REPLACE INTO groups
    VALUES (NEW.name, NEW.at, NEW.word, NEW.facts, NEW.counts, NEW.because);
END;

CREATE TEMP TRIGGER time_passed INSTEAD OF INSERT ON letters WHEN NEW.kind = 'time' BEGIN
    UPDATE fleet SET at = max(at, NEW.at);
END;

CREATE TEMP TRIGGER a_story_grew AFTER INSERT ON main.moves
WHEN NEW.n >= {story.LONGEST} AND NEW.n % {story.STRIDE} = 0 BEGIN
    UPDATE moves SET moves = (
        SELECT sum(moves) FROM moves
        WHERE run = NEW.run AND n > {story.HEAD} AND n <= NEW.n - {story.TAIL})
    WHERE run = NEW.run AND n = {story.HEAD + 1};
    DELETE FROM moves
    WHERE run = NEW.run AND n > {story.HEAD + 1} AND n <= NEW.n - {story.TAIL};
END;
"""


class NotPlain(Exception):
    """Something of it goes the long way."""


class Plain:
    """What is to be said to SQLite for these steps. Nothing is changed by making it."""

    def __init__(self, steps: Sequence[Step], environments: Environments, recipes: Recipes) -> None:
        """Raises NotPlain."""
        self._environments = environments
        self._recipes = recipes
        self._new: list[codec.Row] = []
        self._expected: list[tuple[str, Recipe, int]] = []
        self._letters: list[codec.Row] = []
        self._uses: Counter[int] = Counter()  # of environments: so many more, or fewer
        self._ended: list[str] = []
        for step in steps:
            self._take(step)
        self._letters += _time(steps)
        if any(environments.uses(number) + more <= 0 for number, more in self._uses.items()):
            raise NotPlain  # it goes with the last that uses it

    def statements(self) -> list[tuple[str, codec.Row]]:
        """New runs first: what else is said of them comes after."""
        return [*((queries.PUT_NEW_RUN, row) for row in self._new), *_in_few(self._letters)]

    def kept(self) -> None:
        """All of it is."""
        self._environments.add(self._uses)
        for run, recipe, environment in self._expected:
            self._recipes.expect(run, recipe, environment)
        for run in self._ended:
            self._recipes.forget(run)

    def _take(self, step: Step) -> None:
        if not _is_plain(step):
            raise NotPlain
        for change in step.changes:
            if change.before is None:
                self._take_new(change, step)
            else:
                self._take_move(change, step)
        for name, facts in step.groups.items():
            name, at, word, breaker, size, durations_s = codec.group_row(name, facts, at=step.at)
            self._letters.append(
                ("group", name, at, word, breaker, size, None, None, None, durations_s)
            )

    def _take_new(self, change: Change, step: Step) -> None:
        run = change.run
        recipe = step.recipes.get(run.id)
        if recipe is None or isinstance(run.state, Ended):
            raise NotPlain
        environment = self._use(self._environments.last_if(recipe.environment), 1)
        move = (step.at, codec.state_word(run.state), run.attempts, codec.legible(change.because))
        self._new.append((*codec.run_row(run), *codec.recipe_row(recipe), environment, *move))
        self._expected.append((run.id, recipe, environment))

    def _take_move(self, change: Change, step: Step) -> None:
        run = change.run
        if isinstance(run.state, Ended):
            self._use(self._recipes.environment_of(run.id), -1)
            self._ended.append(run.id)
        word, facts, counts, ended_at, outcome, name = codec.move_row(run)
        told = (run.attempts, codec.legible(change.because))
        self._letters.append(("run", name, step.at, word, facts, counts, ended_at, outcome, *told))

    def _use(self, environment: int | None, more: int) -> int:
        if environment is None:
            raise NotPlain
        self._uses[environment] += more
        return environment


def _is_plain(step: Step) -> bool:
    if step.epoch is not None or step.boot_id is not None or step.steps_done:
        return False
    if step.heartbeats or step.removed_heartbeats or step.heartbeat_recipes:
        return False
    if not step.recipes:
        return True
    new = {change.run.id for change in step.changes if change.before is None}
    return step.recipes.keys() <= new


def _time(steps: Sequence[Step]) -> list[codec.Row]:
    """What no run's own move tells of it, see `queries.NEWEST`: mostly nothing."""
    told_at = max((step.at for step in steps if step.changes), default=-math.inf)
    last_at = max(step.at for step in steps)
    return [("time", None, last_at, *_NOTHING)] if last_at > told_at else []


def _in_few(letters: Sequence[codec.Row]) -> Iterator[tuple[str, codec.Row]]:
    for first in range(0, len(letters), MOST_ROWS):
        rows = letters[first : first + MOST_ROWS]
        yield _put_letters(len(rows)), tuple(fact for row in rows for fact in row)


@cache
def _put_letters(rows: int) -> str:
    row = f"({', '.join('?' * _COLUMNS)})"
    return f"INSERT INTO letters VALUES {', '.join([row] * rows)}"
