"""Ids of runs, made from the key of their submission: asked for twice, they are the same."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Final

from paddock.core.run import Ended, Outcome, Run

from .desk import Desk
from .recipes import KEY_LABEL

# Without i, l, o, 0 and 1, which people mix up when they read them to each other.
LETTERS: Final = "abcdefghjkmnpqrstuvwxyz23456789"
LENGTH: Final = 8
# Two at a time is half the divisions.
_PAIRS: Final = tuple(first + second for second in LETTERS for first in LETTERS)
_KEY: Final = re.compile(r"[!-~]{8,200}")

Found = tuple[str, Run | None]  # an id of a submission, and the run if it was taken before


def is_key(text: str) -> bool:
    """Long enough that two submitters do not meet by accident."""
    return _KEY.fullmatch(text) is not None


def id_of(key: str, index: int, *, turn: int = 0) -> str:
    """8 characters of 31: with 10,000 runs about, one new id in 85 million is taken already, and
    then the next turn gives another."""
    digest = hashlib.sha256(f"{key}\0{index}\0{turn}".encode()).digest()
    number = int.from_bytes(digest[:8], "big")
    found = ""
    for _ in range(LENGTH // 2):
        number, pair = divmod(number, len(_PAIRS))
        found += _PAIRS[pair]
    return found


def find_ids(desk: Desk, key: str, names: Sequence[str]) -> list[Found]:
    """The ids of a submission; with the run where the same key was taken before."""
    return [_find_id(desk, key, index, name) for index, name in enumerate(names)]


def _find_id(desk: Desk, key: str, index: int, name: str) -> Found:
    turn = 0
    while True:
        found = id_of(key, index, turn=turn)
        run = desk.supervisor.fleet.runs.get(found) or desk.supervisor.store.run(found)
        if run is None:
            return found, None
        taken_back = isinstance(run.state, Ended) and run.state.outcome is Outcome.REFUSED
        if run.spec.name == name and not taken_back and _is_of(desk, found, key):
            return found, run
        turn += 1  # somebody else's by accident, or one that could not be remembered


def _is_of(desk: Desk, run: str, key: str) -> bool:
    recipe = desk.supervisor.store.recipe(run)
    # One without a recipe is just being remembered.
    return recipe is None or recipe.labels.get(KEY_LABEL) == key
