"""Which names a cgroup made by hand may have."""

from __future__ import annotations

import pytest

from paddock.rescue.by_hand import BadName, checked


@pytest.mark.parametrize("name", ["build", "a", "A-1_b", "x" * 64, "-"])
def test_a_plain_name_is_good(name: str) -> None:
    assert checked(name) == name


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "/", "a\0b", "a b", "ä", "a\n", "a.7", "x" * 65]
)
def test_what_could_be_a_path_or_break_a_line_is_refused(name: str) -> None:
    with pytest.raises(BadName) as refused:
        checked(name)
    assert "\n" not in str(refused.value) and "\0" not in str(refused.value)
