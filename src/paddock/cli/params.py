"""Parameter types that commands share: sizes, durations, addresses."""

from __future__ import annotations

import math
import re
from typing import Any, Final

import click

from paddock.core.units import GIB, LARGEST_SIZE, MIB, format_size, parse_duration, parse_size


class SizeType(click.ParamType[int]):
    """`512M`, `4G`, `4GiB`, `1.5T`, as bytes; outside its range it is refused with the range."""

    name = "size"

    def __init__(self, least_bytes: int = 1, most_bytes: int = LARGEST_SIZE) -> None:
        self.least_bytes = least_bytes
        self.most_bytes = most_bytes

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            size = parse_size(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if not self.least_bytes <= size <= self.most_bytes:
            least, most = format_size(self.least_bytes), format_size(self.most_bytes)
            self.fail(f"{str(value)!r} is not from {least} to {most}", param, ctx)
        return size


class DurationType(click.ParamType[float]):
    """`90s`, `15m`, `8h`, as seconds."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, int | float):
            return float(value)
        try:
            return parse_duration(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class NumberType(click.ParamType[float]):
    """A number within a range; `nan` and `inf` are in none."""

    name = "number"

    def __init__(self, least: float, most: float) -> None:
        self.least = least
        self.most = most

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not self.least <= number <= self.most:
            text = f"{str(value)!r} is not a number from {self.least:g} to {self.most:g}"
            self.fail(text, param, ctx)
        return number


class AddressType(click.ParamType[str]):
    """Of a page: what is no address leads nowhere from where it is shown."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not re.fullmatch(r"https?://[^\s/]+(/\S*)?", str(value)):
            told = f"found {str(value)!r}; allowed: an address, as in https://wiki.example/paddock"
            self.fail(told, param, ctx)
        return str(value)


SIZE: Final = SizeType()
# A plain 16 means 16 bytes: what is no host and no agent is more likely a forgotten G.
HOST_SIZE: Final = SizeType(least_bytes=64 * MIB)
AGENT_SIZE: Final = SizeType(least_bytes=16 * MIB, most_bytes=1024 * GIB)
CPUS: Final = NumberType(0.1, 100_000)
DURATION: Final = DurationType()
ADDRESS: Final = AddressType()
