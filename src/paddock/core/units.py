"""Sizes and durations as people write and read them. Sizes are powers of 1024, as memory is."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB
GIB: Final = 1024 * MIB
TIB: Final = 1024 * GIB
PIB: Final = 1024 * TIB
LARGEST_SIZE: Final = 1024 * PIB

MINUTE_S: Final = 60
HOUR_S: Final = 60 * MINUTE_S
DAY_S: Final = 24 * HOUR_S
LARGEST_DURATION_S: Final = 3660 * DAY_S

_SIZES: Final = {"": 1, "K": KIB, "M": MIB, "G": GIB, "T": TIB, "P": PIB}
_DURATIONS: Final = {
    "": Fraction(1),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "m": Fraction(MINUTE_S),
    "min": Fraction(MINUTE_S),
    "h": Fraction(HOUR_S),
    "d": Fraction(DAY_S),
}

_NUMBER: Final = r"[0-9]+(?:\.[0-9]+)?"
_SIZE: Final = re.compile(rf"([+-]?)({_NUMBER}) ?([KMGTP]?)(?:I?B)?", re.IGNORECASE)
_PART: Final = rf"({_NUMBER}) ?(ms|min|s|m|h|d)"
_DURATION: Final = re.compile(rf"([+-]?)(?:({_NUMBER})|{_PART}(?: ?{_PART})?)", re.IGNORECASE)

_SIZE_HINT: Final = "write a size as 512M, 4G, 4GiB or 1.5T"
_DURATION_HINT: Final = "write a time as 90s, 15m, 8h or 2d"
# Longer is no size anybody means, and int() refuses thousands of digits in words of its own.
_LONGEST_TEXT: Final = 40


def parse_size(text: str) -> int:
    """Bytes of `512M`, `4G`, `4GiB`, `1.5T` or a plain number of bytes; ValueError otherwise."""
    match = _SIZE.fullmatch(text.strip()) if len(text) <= _LONGEST_TEXT else None
    if match is None:
        raise ValueError(f"{_quoted(text)} is not a size; {_SIZE_HINT}")
    sign, number, unit = match.groups()
    # Whole numbers need no fractions, which take ten times as long; every submission has some.
    amount = int(number) if number.isdigit() else Fraction(number)
    size = int(amount * _SIZES[unit.upper()])
    if sign == "-" or size < 1:
        raise ValueError(f"{_quoted(text)} is not a size above zero; {_SIZE_HINT}")
    if size > LARGEST_SIZE:
        raise ValueError(f"{_quoted(text)} is more than {format_size(LARGEST_SIZE)}; {_SIZE_HINT}")
    return size


def format_size(size_bytes: int) -> str:
    """`2.1 GiB`, `512 MiB`, `0 B`: one decimal where it says something."""
    if size_bytes < 0:
        return "-" + format_size(-size_bytes)
    if size_bytes < KIB:
        return f"{size_bytes} B"
    value = float(size_bytes)
    for unit in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        value /= 1024
        # 1023.97 would be printed as 1024.0; the next unit says it better.
        if round(value, 1) < 1024:
            return f"{_short(value)} {unit}"
    return f"{_short(value / 1024)} EiB"


def parse_duration(text: str) -> float:
    """Seconds of `90s`, `15m`, `8h`, `2d`, `1h 30m` or a plain number; ValueError otherwise."""
    match = _DURATION.fullmatch(text.strip()) if len(text) <= _LONGEST_TEXT else None
    if match is None:
        raise ValueError(f"{_quoted(text)} is not a time; {_DURATION_HINT}")
    sign, plain, *parts = match.groups()
    seconds = Fraction(plain or 0)
    for number, unit in zip(parts[::2], parts[1::2], strict=True):
        if number is not None:
            seconds += Fraction(number) * _DURATIONS[unit.lower()]
    if sign == "-" or seconds <= 0:
        raise ValueError(f"{_quoted(text)} is not a time above zero; {_DURATION_HINT}")
    if seconds > LARGEST_DURATION_S:
        raise ValueError(f"{_quoted(text)} is more than ten years; {_DURATION_HINT}")
    return float(seconds)


def format_duration(seconds: float) -> str:
    """`1 h 5 min`, `12 s`, `0.4 s`, `8 ms`: the two largest units that say something."""
    if math.isnan(seconds):
        return "an unknown time"
    if seconds < 0:
        return "-" + format_duration(-seconds)
    if math.isinf(seconds):
        return "for ever"
    if seconds < 0.1:
        return f"{round(seconds * 1000)} ms" if seconds >= 0.0005 else "0 s"
    if round(seconds, 1) < 10:
        return f"{_short(seconds)} s"
    whole = round(seconds)
    if whole < HOUR_S:
        return _pair(divmod(whole, MINUTE_S), "min", "s")
    # Rounded to what is printed, so that 59 min 59 s after the hour does not show as 60 min.
    if whole < DAY_S - MINUTE_S // 2:
        return _pair(divmod(round(whole / MINUTE_S), 60), "h", "min")
    return _pair(divmod(round(whole / HOUR_S), 24), "d", "h")


def _pair(amounts: tuple[int, int], large: str, small: str) -> str:
    words = [f"{n} {unit}" for n, unit in zip(amounts, (large, small), strict=True) if n]
    return " ".join(words)


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _quoted(text: str) -> str:
    cut = text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 3] + "..."
    return repr(cut) if text.strip() else "an empty text"
