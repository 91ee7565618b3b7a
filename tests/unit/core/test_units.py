"""Sizes and durations, as written and as shown."""

import math

import pytest

from paddock.core.units import (
    GIB,
    KIB,
    MIB,
    TIB,
    format_duration,
    format_size,
    parse_duration,
    parse_size,
)


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("512M", 512 * MIB),
        ("4G", 4 * GIB),
        ("4g", 4 * GIB),
        ("4GiB", 4 * GIB),
        ("4GB", 4 * GIB),
        ("4 GiB", 4 * GIB),
        (" 4G ", 4 * GIB),
        ("1.5T", 3 * TIB // 2),
        ("15.6G", 16750372454),
        ("64K", 64 * KIB),
        ("123", 123),
        ("123B", 123),
        ("1024P", 1024 * 1024 * TIB),
    ],
)
def test_a_size_is_read_in_powers_of_1024(text: str, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "G", "4 Gigs", "NaN", "inf", "4e9", "0x10", "4G4", "4,5G", "1_000", "4  G"),
        *("٤G", ".5G", "5.G", "4GiBs", "+-4G", "4G\n5G", "9" * 5000),
    ],
)
def test_what_is_no_size_is_refused_in_one_line_that_shows_the_form(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a size; write a size as 512M, 4G") as caught:
        parse_size(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 120


@pytest.mark.parametrize("text", ["-4G", "0", "0G", "0.0", "-0", "0.0001", "-1.5T"])
def test_a_size_must_be_above_zero(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size above zero"):
        parse_size(text)


def test_an_absurd_size_is_refused() -> None:
    with pytest.raises(ValueError, match="'1025P' is more than 1 EiB"):
        parse_size("1025P")


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (KIB, "1 KiB"),
        (512 * MIB, "512 MiB"),
        (int(2.1 * GIB), "2.1 GiB"),
        (GIB - 1, "1 GiB"),
        (1536 * GIB, "1.5 TiB"),
        (1024 * 1024 * TIB, "1 EiB"),
        (-int(2.1 * GIB), "-2.1 GiB"),
    ],
)
def test_a_size_is_shown_with_one_decimal_where_it_says_something(
    size_bytes: int, text: str
) -> None:
    assert format_size(size_bytes) == text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("15m", 900),
        ("15min", 900),
        ("8h", 28800),
        ("2d", 172800),
        ("90", 90),
        ("0.5", 0.5),
        ("1.5h", 5400),
        ("250ms", 0.25),
        ("1h30m", 5400),
        ("1 h 5 min", 3900),
        ("30S", 30),
    ],
)
def test_a_time_is_read_in_the_usual_units(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "s", "soon", "NaN", "inf", "1e3", "5 weeks", "1h2m3s4", "9" * 5000]
)
def test_what_is_no_time_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time; write a time as 90s, 15m, 8h or 2d"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["0", "-5s", "0h"])
def test_a_time_must_be_above_zero(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time above zero"):
        parse_duration(text)


def test_an_absurd_time_is_refused() -> None:
    with pytest.raises(ValueError, match="is more than ten years"):
        parse_duration("4000d")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.0001, "0 s"),
        (0.008, "8 ms"),
        (0.4, "0.4 s"),
        (9.96, "10 s"),
        (12, "12 s"),
        (59.6, "1 min"),
        (90, "1 min 30 s"),
        (3599.7, "1 h"),
        (3900, "1 h 5 min"),
        (86399, "1 d"),
        (2 * 86400 + 3 * 3600, "2 d 3 h"),
        (-12, "-12 s"),
        (math.inf, "for ever"),
        (math.nan, "an unknown time"),
    ],
)
def test_a_time_is_shown_in_its_two_largest_units(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
