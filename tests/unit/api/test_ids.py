"""Ids come from the key, and keys are long enough not to meet."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.api.ids import LETTERS, id_of, is_key


@given(st.text(min_size=1), st.integers(0, 10_000), st.integers(0, 5))
def test_the_same_key_and_place_give_the_same_id(key: str, index: int, turn: int) -> None:
    found = id_of(key, index, turn=turn)
    assert found == id_of(key, index, turn=turn)
    assert len(found) == 8 and set(found) <= set(LETTERS)
    assert found != id_of(key, index + 1, turn=turn) != id_of(key, index, turn=turn + 1)


def test_the_letters_of_an_id_cannot_be_mistaken() -> None:
    assert not set("ilo01") & set(LETTERS)


def test_ids_of_one_key_do_not_meet() -> None:
    assert len({id_of("some key", n) for n in range(10_000)}) == 10_000


@pytest.mark.parametrize("text", ["", "short", "with space", "ümlaut-key", "a" * 201, "a\nbcdefgh"])
def test_what_is_no_key(text: str) -> None:
    assert not is_key(text)
