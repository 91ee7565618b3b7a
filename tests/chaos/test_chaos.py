"""The bounded campaign; the long one is `make chaos`."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.chaos.rounds import Books, one_round
from tests.kit.house import a_house

ROUNDS = 6


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [11, 12])
def test_a_daemon_killed_at_any_instant_loses_nothing_and_runs_nothing_twice(
    tmp_path: Path, seed: int
) -> None:
    books, draw = Books(), random.Random(seed)
    with a_house(tmp_path) as house:
        for _ in range(ROUNDS):
            one_round(house, draw, books)
    assert books.kills > 0
    assert books.clean, books
