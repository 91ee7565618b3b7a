"""Remembers numbered steps until it is killed, and says each number once it is durable.

Step k submits run k and ends run k - 1, so the state after any prefix of steps is known.
"""

from __future__ import annotations

import sys
from pathlib import Path

from paddock.core.fleet import Change
from paddock.core.run import Ended, Outcome, Run
from paddock.ports import Step
from paddock.storage.sqlite import open_store
from tests.kit.remembering import a_recipe, ended, numbered, submitted


def step(number: int) -> Step:
    run = numbered(number)
    secret = a_recipe(environment={"NUMBER": str(number)})
    changes: tuple[Change, ...] = submitted(run).changes
    if number > 1:
        changes += ended(numbered(number - 1), at=float(number)).changes
    return Step(at=float(number), changes=changes, recipes={run.id: secret})


def expected(last: int) -> dict[str, Run]:
    """All runs after so many steps."""
    found = {f"r{n}": numbered(n) for n in range(1, last + 1)}
    for number in range(1, last):
        (change,) = ended(numbered(number), at=float(number + 1)).changes
        found[f"r{number}"] = change.run
    return found


def is_over(run: Run) -> bool:
    return isinstance(run.state, Ended) and run.state.outcome is Outcome.SUCCEEDED


def main(path: str, batch: int) -> None:
    say = sys.stdout
    say.write("opening\n")
    say.flush()
    store = open_store(Path(path))
    number = store.load().sequence
    while True:
        store.remember_many([step(number + n) for n in range(1, batch + 1)])
        number += batch
        say.write(f"{number}\n")
        say.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
