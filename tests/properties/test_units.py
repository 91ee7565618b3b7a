"""What paddock prints, paddock reads; and bad text only ever raises ValueError, in one line."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.core.units import (
    DAY_S,
    LARGEST_SIZE,
    format_duration,
    format_size,
    parse_duration,
    parse_size,
)

sizes = st.integers(min_value=1, max_value=LARGEST_SIZE)
seconds = st.floats(min_value=0.001, max_value=3650 * DAY_S)


@given(sizes)
def test_a_plain_number_of_bytes_is_itself(size: int) -> None:
    assert parse_size(str(size)) == size


@given(st.integers(min_value=1, max_value=1023), st.sampled_from("KMGTP"))
def test_whole_units_survive_being_shown_and_read(number: int, unit: str) -> None:
    size = parse_size(f"{number}{unit}")
    assert format_size(size) == f"{number} {unit}iB"
    assert parse_size(format_size(size)) == size


@given(sizes.filter(lambda size: size < LARGEST_SIZE * 0.9))
def test_a_shown_size_reads_back_within_its_rounding(size: int) -> None:
    assert parse_size(format_size(size)) == pytest.approx(size, rel=0.06)


@given(sizes, sizes)
def test_a_larger_size_never_reads_back_smaller(one: int, other: int) -> None:
    small, large = sorted((min(one, LARGEST_SIZE // 2), min(other, LARGEST_SIZE // 2)))
    assert parse_size(format_size(small)) <= parse_size(format_size(large))


@given(seconds)
def test_a_shown_time_reads_back_within_its_rounding(duration: float) -> None:
    assert parse_duration(format_duration(duration)) == pytest.approx(duration, rel=0.5)


@given(st.floats(min_value=60, max_value=3650 * DAY_S))
def test_a_time_of_minutes_reads_back_closely(duration: float) -> None:
    assert parse_duration(format_duration(duration)) == pytest.approx(duration, rel=0.025)


@given(st.floats())
def test_any_number_of_seconds_can_be_shown(duration: float) -> None:
    text = format_duration(duration)
    assert text
    assert "\n" not in text


@pytest.mark.parametrize("parse", [parse_size, parse_duration])
@given(text=st.text() | st.text(alphabet="0123456789.-+ KMGTPiBsmhd"))
def test_any_text_is_read_or_refused_in_one_line(parse: Callable[[str], float], text: str) -> None:
    refusal = _refusal(parse, text)
    assert refusal is None or len(refusal.splitlines()) == 1


def _refusal(parse: Callable[[str], float], text: str) -> str | None:
    try:
        assert parse(text) > 0
    except ValueError as error:
        return str(error)
    return None
