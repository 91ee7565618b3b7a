"""What is drawn fits exactly, whatever the text is made of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from paddock.tui.cells import ASCII, UNICODE, bar, fit, short_size, short_time, sparkline

GIB = 1 << 30


@given(st.text(st.characters(exclude_categories=["C", "Zl", "Zp", "M"])), st.integers(1, 60))
def test_a_text_takes_exactly_its_room(text: str, room: int) -> None:
    assert cell_len(fit(text, room)) == room
    assert cell_len(fit(text, room, right=True)) == room


def test_what_does_not_fit_says_that_there_is_more() -> None:
    assert fit("implementation", 8) == "impleme…"
    assert fit("日本語のなまえ", 6) == "日本 …"
    assert fit("abc", 0) == ""


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (None, "-"),
        (0, "0B"),
        (1023, "1023B"),
        (64 << 20, "64M"),
        (GIB + GIB // 5, "1.2G"),
        (1023 << 20, "1023M"),
        ((1 << 40) - 1, "1T"),
    ],
)
def test_a_size_is_short(size: int | None, text: str) -> None:
    assert short_size(size) == text
    assert len(text) <= 5


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, "-"), (-3, "0s"), (59.9, "59s"), (61, "1m"), (90_000, "1d")]
)
def test_a_time_is_short(seconds: float | None, text: str) -> None:
    assert short_time(seconds) == text


@given(st.floats(-1, 2), st.integers(1, 40), st.lists(st.floats(0, 1)))
def test_a_bar_is_as_long_as_it_should_be(share: float, room: int, marks: list[float]) -> None:
    for signs in (UNICODE, ASCII):
        assert sum(len(text) for text, _ in bar(share, room, signs=signs, marks=marks)) == room


def test_a_bar_shows_its_marks_and_warns_by_its_look() -> None:
    assert bar(0.5, 8, signs=ASCII, marks=[0.75]) == [("####", "good"), ("..|.", "dim")]
    assert bar(0.8, 10, signs=ASCII)[0] == ("########", "warn")
    assert bar(1.5, 4, signs=ASCII)[0] == ("####", "bad")
    assert bar(0.0001, 4, signs=UNICODE)[0] == ("▏", "good"), "not nothing"


def test_a_sparkline_is_drawn_against_the_top_and_from_the_right() -> None:
    assert sparkline([0, 50, 100], 5, top=100, signs=UNICODE) == "  ▁▅█"
    assert sparkline([1, 2, 3, 400], 2, top=100, signs=UNICODE) == "▁█"
    assert sparkline([], 3, top=0, signs=UNICODE) == "   "
