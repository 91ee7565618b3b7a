"""The recipes of runs at work, as they were read when those started: their end needs them again."""

from __future__ import annotations

from typing import Final

from paddock.ports import Recipe

MOST: Final = 300  # an environment each, 10 KB; of more agents at once the others are read again


class Recipes:
    def __init__(self) -> None:
        self._known: dict[str, tuple[Recipe, int]] = {}

    def of(self, run: str) -> Recipe | None:
        known = self._known.get(run)
        return None if known is None else known[0]

    def environment_of(self, run: str) -> int | None:
        known = self._known.get(run)
        return None if known is None else known[1]

    def learn(self, run: str, recipe: Recipe, environment: int) -> None:
        if len(self._known) >= MOST:
            del self._known[next(iter(self._known))]
        self._known[run] = recipe, environment

    def forget(self, run: str) -> None:
        self._known.pop(run, None)
