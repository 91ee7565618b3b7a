"""The recipes of runs at work, which their end needs again, and of the first who wait.

To read one after the commit that starts its run was a fifth of what the store's thread did for a
short run, and stood in that start's way.
"""

from __future__ import annotations

from itertools import chain
from typing import Final

from paddock.ports import Recipe

MOST: Final = 300  # an environment each, 10 KB; of more agents at once the others are read again
MOST_EXPECTED: Final = 1000  # that wait to be started, with one environment for all of them
LONGEST: Final = 1000  # characters of such a one: a prompt may be a book


class Recipes:
    def __init__(self) -> None:
        self._known: dict[str, tuple[Recipe, int]] = {}
        self._expected: dict[str, tuple[Recipe, int]] = {}

    def of(self, run: str) -> Recipe | None:
        known = self._known.get(run) or self._expected.get(run)
        return None if known is None else known[0]

    def environment_of(self, run: str) -> int | None:
        known = self._known.get(run) or self._expected.get(run)
        return None if known is None else known[1]

    def learn(self, run: str, recipe: Recipe, environment: int) -> None:
        if len(self._known) >= MOST:
            del self._known[next(iter(self._known))]
        self._known[run] = recipe, environment

    def expect(self, run: str, recipe: Recipe, environment: int) -> None:
        """Of a run that is new, until it ends. Whoever came first starts first, and is not put out
        by the rest."""
        if len(self._expected) >= MOST_EXPECTED or not _is_small_and_plain(recipe):
            return
        first = next(iter(self._expected.values()), None)
        if first is None:
            self._expected[run] = recipe, environment
        elif first[1] == environment:
            shared = Recipe(
                command=recipe.command,
                directory=recipe.directory,
                environment=first[0].environment,  # equal, but of another request
                stdin=recipe.stdin,
                labels=recipe.labels,
            )
            self._expected[run] = shared, environment

    def forget(self, run: str) -> None:
        self._known.pop(run, None)
        self._expected.pop(run, None)


def _is_small_and_plain(recipe: Recipe) -> bool:
    """What is not ASCII may come back from the store as another text for the same bytes."""
    texts = chain(recipe.command, recipe.labels, recipe.labels.values())
    text = "".join([str(recipe.directory), str(recipe.stdin), *texts])
    return len(text) <= LONGEST and text.isascii()
