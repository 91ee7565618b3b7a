"""A hunt without atheris: what the corpus holds, changed blindly, some thousand times a second."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from .mutating import LARGEST_SEED, SIGNS
from .target import Target, files_of

MOST_CHANGES: Final = 5
LONGEST: Final = 20_000
SPANS: Final = (0, 0, 1, 1, 2, 4, 8, 16, 64)
TIMES: Final = (2, 2, 3, 50)
PLAIN: Final = b'0123456789{}[]":,.-+eE\\/ \n\t'


class Inputs:
    """The same seed makes the same ones."""

    def __init__(self, one: Target, seed: int) -> None:
        self._dice = random.Random(seed)
        self._words = (*one.words, *SIGNS)
        found = [file.read_bytes() for file in files_of(one.name)]
        self._seeds = [data for data in found if len(data) <= LARGEST_SEED] or [b""]

    def next(self) -> bytes:
        dice = self._dice
        kind = dice.random()
        if kind < 0.1:
            return b"".join(dice.choices(self._words, k=dice.randrange(30)))
        if kind < 0.13:
            return dice.randbytes(dice.randrange(300))
        data = dice.choice(self._seeds)
        if kind < 0.3:  # the beginning of one, the end of another
            other = dice.choice(self._seeds)
            data = data[: dice.randint(0, len(data))] + other[dice.randint(0, len(other)) :]
        for _ in range(dice.randint(1, MOST_CHANGES)):
            data = self._changed(data)[:LONGEST]
        return data

    def _changed(self, data: bytes) -> bytes:
        dice = self._dice
        begin = dice.randint(0, len(data))
        end = min(len(data), begin + dice.choice(SPANS))
        ways: tuple[Callable[[], bytes], ...] = (
            *(lambda: dice.choice(self._words),) * 5,
            lambda: b"",
            lambda: data[begin:end] * dice.choice(TIMES),
            lambda: dice.randbytes(dice.randint(1, 7)),
            lambda: bytes([dice.choice(PLAIN)]),
        )
        return data[:begin] + dice.choice(ways)() + data[end:]
