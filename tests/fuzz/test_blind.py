"""The blind hunt: what it made once can be made again, and what is planted is found."""

from __future__ import annotations

from itertools import islice

from .blind import LONGEST, Inputs
from .every import TARGETS

MANY = 2000


def made(seed: int) -> list[bytes]:
    inputs = Inputs(TARGETS["stage"], seed)
    return list(islice(iter(inputs.next, None), MANY))


def test_the_same_seed_makes_the_same_inputs() -> None:
    assert made(1) == made(1) != made(2)


def test_inputs_are_many_bounded_and_hit_the_words_that_targets_trip_over() -> None:
    inputs = made(3)
    assert len(set(inputs)) > MANY * 0.9 and max(map(len, inputs)) <= LONGEST
    for word in TARGETS["stage"].words:
        assert any(word in data for data in inputs), word
