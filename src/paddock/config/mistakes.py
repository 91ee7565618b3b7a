"""What is wrong in a file, and where: one line a mistake, all of them at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

# Nobody reads the 101st, and a hostile file could make a million.
MOST_MISTAKES: Final = 100
_LONGEST_FOUND: Final = 60
_SHORT_LIST: Final = 60
_ABOUT_AS_CLOSE: Final = 0.1


@dataclass(frozen=True, slots=True)
class Place:
    """Where a key or a value stands. Line 0: not in a file, as an option or a variable."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        file = printable(self.file)
        return f"{file}:{self.line}" if self.line else file


@dataclass(frozen=True, slots=True)
class Mistake:
    at: Place
    key: str  # dotted; empty where the file as a whole is meant
    found: str
    allowed: str
    nearest: str = ""

    def __str__(self) -> str:
        about = f"{printable(self.key)}: " if self.key else ""
        # Long lists of names help nobody who mistyped one of them.
        with_allowed = not self.nearest or len(self.allowed) <= _SHORT_LIST
        allowed = f"; allowed: {self.allowed}" if with_allowed else ""
        meant = f"; did you mean {self.nearest}?" if self.nearest else ""
        return f"{self.at}: {about}found {self.found}{allowed}{meant}"

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self.at), "key": self.key, "found": self.found} | {
            "allowed": self.allowed,
            "nearest": self.nearest or None,
        }


class ConfigError(Exception):
    """Everything that is wrong, in the order in which it stands in the files."""

    def __init__(self, mistakes: Sequence[Mistake], *, left_out: int = 0) -> None:
        self.mistakes = tuple(mistakes)
        self.left_out = left_out
        super().__init__("\n".join(self.lines()))

    def lines(self) -> Iterable[str]:
        yield from map(str, self.mistakes)
        if self.left_out:
            yield f"and {self.left_out} more"


class Mistakes:
    """Gathers mistakes while a file is read; the first hundred are kept, the rest counted."""

    def __init__(self) -> None:
        self.kept: list[Mistake] = []
        self.left_out = 0

    def __bool__(self) -> bool:
        return bool(self.kept)

    @property
    def full(self) -> bool:
        """From here on mistakes are only counted: no need to word them."""
        return len(self.kept) >= MOST_MISTAKES

    def add(self, at: Place, key: str, *, found: str, allowed: str = "", nearest: str = "") -> None:
        if self.full:
            self.left_out += 1
            return
        self.kept.append(Mistake(at, key, found, allowed, nearest))

    def unknown_key(self, at: Place, key: str, *, known: Iterable[str]) -> None:
        """`key` is dotted; `known` are the names that could stand in its place."""
        names = sorted(known)
        near = nearest(key.rpartition(".")[2], names)
        self.add(at, key, found="an unknown key", allowed=", ".join(names), nearest=near)

    def take(self, error: ConfigError) -> None:
        for mistake in error.mistakes:
            if self.full:
                self.left_out += 1
            else:
                self.kept.append(mistake)
        self.left_out += error.left_out

    def raise_any(self, kind: type[ConfigError] = ConfigError) -> None:
        if self.kept:
            # Line by line within a file; files stay in the order in which they were read.
            files = {mistake.at.file: None for mistake in self.kept}
            order = {file: number for number, file in enumerate(files)}
            self.kept.sort(key=lambda m: (order[m.at.file], m.at.line, m.at.column))
            raise kind(self.kept, left_out=self.left_out)


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that was most likely meant, or nothing."""
    import difflib

    # Longer than any name; difflib would take seconds over a megabyte.
    if len(name) > _LONGEST_FOUND:
        return ""
    plain = name.lower().replace("-", "_")
    close = difflib.get_close_matches(plain, list(known), n=3)
    alike = {each: difflib.SequenceMatcher(None, each, plain).ratio() for each in close}
    # Hardly anybody errs in the first letters: of those about as close, they decide.
    best = [each for each in close if alike[each] > alike[close[0]] - _ABOUT_AS_CLOSE]
    return max(best, key=lambda each: _begin_alike(each, plain), default="")


def _begin_alike(one: str, other: str) -> int:
    """How many letters they share from the first on."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def printable(text: str, longest: int = 200) -> str:
    """Cut, and with anything a terminal would act upon written out."""
    text = text if len(text) <= longest else text[:longest] + "…"
    return text if text.isprintable() else repr(text)[1:-1]


def quoted(text: str) -> str:
    """As it was written, in quotes, cut where it is long."""
    if len(text) <= _LONGEST_FOUND:
        return repr(text)
    return f"{text[:_LONGEST_FOUND]!r}… ({len(text):,} characters)"
