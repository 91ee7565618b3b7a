"""The kinds of values a setting can have: how each is read, shown and described."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

from paddock.core.units import GIB, KIB, MIB, TIB, parse_duration, parse_size

from .located import Items, Scalar, Table, Value, describe
from .mistakes import Place, nearest

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_SIZE_PATTERN: Final = r"^\+?[0-9]+(\.[0-9]+)? ?[KMGTPkmgtp]?([Ii]?[Bb])?$"
_DURATION_PATTERN: Final = (
    r"^[0-9]+(\.[0-9]+)?( ?(ms|min|s|m|h|d)( ?[0-9]+(\.[0-9]+)? ?(ms|min|s|m|h|d))?)?$"
)
_PERCENT: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?%")
_OCTAL: Final = re.compile(r"[-+]?0[0-9_]+")


class Wrong(Exception):
    """A value that a kind does not take."""

    def __init__(
        self,
        found: str,
        allowed: str,
        *,
        near: str = "",
        at: Place | None = None,
        also: tuple[Wrong, ...] = (),
    ) -> None:
        super().__init__(f"found {found}; allowed: {allowed}")
        self.found = found
        self.allowed = allowed
        self.near = near
        self.also = also  # more that is wrong in it
        self.at = at  # where inside the value; None: at its beginning


class Kind(Protocol[T_co]):
    @property
    def allowed(self) -> str:
        """What may be written, for a person."""

    def read(self, value: Value) -> T_co:
        """The value, or Wrong."""

    def schema(self) -> dict[str, Any]:
        """The same as a JSON schema."""

    def show(self, value: Any) -> str:
        """As it would be written in a file."""


@dataclass(frozen=True, slots=True)
class Whole:
    least: int
    most: int
    unit: str = ""

    @property
    def allowed(self) -> str:
        return f"a whole number from {self.least} to {self.most}{self.unit and ' ' + self.unit}"

    def read(self, value: Value) -> int:
        if isinstance(value, Scalar) and type(value.value) is int:
            if self.least <= value.value <= self.most:
                return value.value
            raise Wrong(value.text, self.allowed)
        _refuse_octal(value, self.allowed)
        raise Wrong(describe(value), self.allowed)

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.least, "maximum": self.most}

    def show(self, value: Any) -> str:
        return str(value)


@dataclass(frozen=True, slots=True)
class Number:
    least: float
    most: float

    @property
    def allowed(self) -> str:
        return f"a number from {self.least:g} to {self.most:g}"

    def read(self, value: Value) -> float:
        if isinstance(value, Scalar) and type(value.value) in (int, float):
            number = float(value.text) if type(value.value) is int else value.value
            assert isinstance(number, float)
            if math.isfinite(number) and self.least <= number <= self.most:
                return number
            raise Wrong(value.text, self.allowed)
        raise Wrong(describe(value), self.allowed)

    def schema(self) -> dict[str, Any]:
        return {"type": "number", "minimum": self.least, "maximum": self.most}

    def show(self, value: Any) -> str:
        return f"{value:g}"


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes. A plain number is a number of bytes, so `4` is refused where 4G was meant."""

    least: int
    most: int

    @property
    def allowed(self) -> str:
        return f"a size from {compact_size(self.least)} to {compact_size(self.most)}, as in 4G"

    def read(self, value: Value) -> int:
        if not isinstance(value, Scalar) or value.value is None or type(value.value) is bool:
            raise Wrong(describe(value), self.allowed)
        _refuse_octal(value, self.allowed)
        try:
            size = parse_size(value.text)
        except ValueError as error:
            raise Wrong(describe(value), self.allowed) from error
        if not self.least <= size <= self.most:
            bytes_only = " bytes" if type(value.value) is int else ""
            raise Wrong(f"{describe(value)}{bytes_only}", self.allowed)
        return size

    def schema(self) -> dict[str, Any]:
        number = {"type": "integer", "minimum": self.least, "maximum": self.most}
        return {"anyOf": [number, {"type": "string", "pattern": _SIZE_PATTERN}]}

    def show(self, value: Any) -> str:
        return compact_size(value)


@dataclass(frozen=True, slots=True)
class Duration:
    """Seconds. A plain number is a number of seconds."""

    least_s: float
    most_s: float

    @property
    def allowed(self) -> str:
        return f"a time from {self.least_s:g} s to {self.most_s:g} s, as in 90, 90s or 15m"

    def read(self, value: Value) -> float:
        if not isinstance(value, Scalar) or value.value is None or type(value.value) is bool:
            raise Wrong(describe(value), self.allowed)
        _refuse_octal(value, self.allowed)
        try:
            seconds = parse_duration(value.text)
        except ValueError as error:
            raise Wrong(describe(value), self.allowed) from error
        if not self.least_s <= seconds <= self.most_s:
            raise Wrong(describe(value), self.allowed)
        return seconds

    def schema(self) -> dict[str, Any]:
        number = {"type": "number", "minimum": self.least_s, "maximum": self.most_s}
        return {"anyOf": [number, {"type": "string", "pattern": _DURATION_PATTERN}]}

    def show(self, value: Any) -> str:
        return f"{value:g}s"


@dataclass(frozen=True, slots=True)
class OrWord(Generic[T]):
    """A kind, or one word in its place, which is read as None."""

    word: str
    kind: Kind[T]

    @property
    def allowed(self) -> str:
        return f"{self.word}, or {self.kind.allowed}"

    def read(self, value: Value) -> T | None:
        if isinstance(value, Scalar) and value.text == self.word:
            return None
        try:
            return self.kind.read(value)
        except Wrong as wrong:
            raise Wrong(wrong.found, self.allowed) from wrong

    def schema(self) -> dict[str, Any]:
        kind = self.kind.schema()
        return {"anyOf": [{"const": self.word}, *kind.get("anyOf", [kind])]}

    def show(self, value: Any) -> str:
        return self.word if value is None else self.kind.show(value)


@dataclass(frozen=True, slots=True)
class Share:
    """A part of something else, in percent."""

    percent: float

    def of(self, whole: int) -> int:
        return int(whole * self.percent / 100)


@dataclass(frozen=True, slots=True)
class SizeOrShare:
    """A size, or a percentage below 100."""

    size: Size

    @property
    def allowed(self) -> str:
        return f"a percentage from 1% to 99%, or {self.size.allowed}"

    def read(self, value: Value) -> int | Share:
        if isinstance(value, Scalar) and len(value.text) <= 12:
            match = _PERCENT.fullmatch(value.text.strip())
            if match is not None:
                return self._share(float(match[1]), value)
        try:
            return self.size.read(value)
        except Wrong as wrong:
            raise Wrong(wrong.found, self.allowed) from wrong

    def _share(self, percent: float, value: Value) -> Share:
        if not 1 <= percent <= 99:
            raise Wrong(describe(value), self.allowed)
        return Share(percent)

    def schema(self) -> dict[str, Any]:
        share = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? ?%$"}
        return {"anyOf": [share, *self.size.schema()["anyOf"]]}

    def show(self, value: Any) -> str:
        return f"{value.percent:g}%" if isinstance(value, Share) else compact_size(value)


@dataclass(frozen=True, slots=True)
class Choice:
    words: tuple[str, ...]

    @property
    def allowed(self) -> str:
        return ", ".join(self.words[:-1]) + f" or {self.words[-1]}"

    def read(self, value: Value) -> str:
        if isinstance(value, Scalar) and value.text in self.words:
            return value.text
        near = nearest(value.text, self.words) if isinstance(value, Scalar) else ""
        raise Wrong(describe(value), self.allowed, near=near)

    def schema(self) -> dict[str, Any]:
        return {"enum": list(self.words)}

    def show(self, value: Any) -> str:
        return str(value)


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a certain form."""

    pattern: str
    allowed: str

    def read(self, value: Value) -> str:
        if isinstance(value, Scalar) and re.fullmatch(self.pattern, value.text, re.ASCII):
            return value.text
        raise Wrong(describe(value), self.allowed)

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^{self.pattern}$"}

    def show(self, value: Any) -> str:
        return str(value)


@dataclass(frozen=True, slots=True)
class Flag:
    @property
    def allowed(self) -> str:
        return "true or false"

    def read(self, value: Value) -> bool:
        if isinstance(value, Scalar) and isinstance(value.value, bool):
            return value.value
        raise Wrong(describe(value), self.allowed)

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}

    def show(self, value: Any) -> str:
        return "true" if value else "false"


def compact_size(size_bytes: int) -> str:
    """Exactly, in the largest unit that allows it: `4G`, `400M`, `1000`."""
    for unit, letter in ((TIB, "T"), (GIB, "G"), (MIB, "M"), (KIB, "K")):
        if size_bytes >= unit and size_bytes % unit == 0:
            return f"{size_bytes // unit}{letter}"
    return str(size_bytes)


def _refuse_octal(value: Value, allowed: str) -> None:
    """Some programs read 0755 as 493: rather than to choose, say so."""
    if isinstance(value, Scalar) and len(value.text) < 40 and _OCTAL.fullmatch(value.text):
        raise Wrong(f"{value.text}, a number with a zero in front", allowed)


def as_table(value: Value, allowed: str) -> Mapping[str, Value]:
    if isinstance(value, Table):
        return value.entries
    raise Wrong(describe(value), allowed, at=value.at)


def as_items(value: Value, allowed: str) -> tuple[Value, ...]:
    if isinstance(value, Items):
        return value.values
    raise Wrong(describe(value), allowed)
