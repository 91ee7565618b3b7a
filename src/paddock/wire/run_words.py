"""Words, names and paths in the keys of a run: how each is read. Knows no keys."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from paddock.config.kinds import Wrong, as_items
from paddock.config.located import Scalar, Value, describe
from paddock.config.mistakes import Place, quoted

LONGEST_NAME: Final = 64
MOST_NEEDS: Final = 1000
MOST_WORDS: Final = 10_000
# What the kernel takes as one argument or variable (MAX_ARG_STRLEN), its final zero byte included.
LONGEST_WORD: Final = 131_071
LONGEST_PATH: Final = 4096
LONGEST_PROMPT: Final = 1_000_000

_NAME: Final = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{LONGEST_NAME - 1}}}")


@dataclass(frozen=True, slots=True)
class Name:
    """It becomes part of file names, so nothing that could lead elsewhere is in it."""

    @property
    def allowed(self) -> str:
        return (
            f"letters, digits, . _ and -, beginning with a letter or digit, {LONGEST_NAME} at most"
        )

    def read(self, value: Value) -> str:
        if isinstance(value, Scalar) and _NAME.fullmatch(value.text) and ".." not in value.text:
            return value.text
        raise Wrong(describe(value), self.allowed, at=value.at)

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^{_NAME.pattern}$"}

    def show(self, value: Any) -> str:
        return str(value)


@dataclass(frozen=True, slots=True)
class Text:
    """Words on one line (`lines` allows more); numbers count as they are written."""

    longest: int
    lines: bool = False

    @property
    def allowed(self) -> str:
        kind = "text" if self.lines else "one line of text"
        return f"{kind}, {self.longest:,} characters at most"

    def read(self, value: Value) -> str:
        if not isinstance(value, Scalar) or value.value is None or not value.text.strip():
            raise Wrong(
                "an empty text" if isinstance(value, Scalar) else describe(value), self.allowed
            )
        bare = value.text if self.lines else value.text.replace("\t", " ")
        hidden = "\0" in bare or not (self.lines or bare.isprintable())
        if len(value.text) > self.longest or hidden:
            raise Wrong(quoted(value.text), self.allowed)
        return value.text

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "minLength": 1, "maxLength": self.longest}

    def show(self, value: Any) -> str:
        return str(value)


@dataclass(frozen=True, slots=True)
class Repository(Text):
    """A path or an address. What is wrong with it is never shown: it may hold a password."""

    def read(self, value: Value) -> str:
        try:
            return Text.read(self, value)
        except Wrong:
            found = "what is no path and no address"
            raise Wrong(found, f"a path or an address, {self.allowed}") from None


@dataclass(frozen=True, slots=True)
class Command:
    @property
    def allowed(self) -> str:
        return "a list of the program and its arguments, as in [pytest, -q]"

    def read(self, value: Value) -> tuple[str, ...]:
        if isinstance(value, Scalar) and isinstance(value.value, str):
            raise Wrong(f"the text {quoted(value.text)}", f"{self.allowed}, or [sh, -c, '…']")
        items = as_items(value, self.allowed)
        if not items or len(items) > MOST_WORDS:
            raise Wrong(describe(value), self.allowed)
        words = tuple(_word(item, self.allowed) for item in items)
        if not words[0].strip():
            raise Wrong("an empty program", self.allowed, at=items[0].at)
        return words

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "minItems": 1, "items": {"type": "string"}}

    def show(self, value: Any) -> str:
        return " ".join(value)


@dataclass(frozen=True, slots=True)
class Arguments:
    @property
    def allowed(self) -> str:
        return "a list of more words for the agent's program, as in [--verbose]"

    def read(self, value: Value) -> tuple[str, ...]:
        items = as_items(value, self.allowed)
        if len(items) > MOST_WORDS:
            raise Wrong(describe(value), self.allowed)
        return tuple(_word(item, self.allowed) for item in items)

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"type": "string"}}

    def show(self, value: Any) -> str:
        return " ".join(value)


@dataclass(frozen=True, slots=True)
class Names:
    @property
    def allowed(self) -> str:
        return "a list of names, as in [implement]"

    def read(self, value: Value) -> tuple[str, ...]:
        items = as_items(value, self.allowed)
        if len(items) > MOST_NEEDS:
            raise Wrong(describe(value), f"{MOST_NEEDS} names at most")
        return tuple(dict.fromkeys(Name().read(item) for item in items))

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": Name().schema()}

    def show(self, value: Any) -> str:
        return ", ".join(value)


@dataclass(frozen=True, slots=True)
class Directories:
    """Of a sparse checkout, as git takes them: a line each, from the top of the repository."""

    @property
    def allowed(self) -> str:
        return f"a list of 1 to {MOST_NEEDS} directories of the repository, as in [src/web]"

    def read(self, value: Value) -> tuple[str, ...]:
        items = as_items(value, self.allowed)
        if not items or len(items) > MOST_NEEDS:
            raise Wrong(describe(value), self.allowed)
        return tuple(dict.fromkeys(self._directory(item) for item in items))

    def _directory(self, value: Value) -> str:
        if not isinstance(value, Scalar) or not is_directory(value.text):
            raise Wrong(describe(value), self.allowed, at=value.at)
        return value.text.rstrip("/")

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "minItems": 1, "items": {"type": "string"}}

    def show(self, value: Any) -> str:
        return ", ".join(value)


def is_directory(text: str) -> bool:
    """Whether this can name a directory below another: not outside, nor a pattern of git's."""
    plain = text.isprintable() and len(text) <= LONGEST_PATH and not set(text) & set('"*?[\\')
    return plain and not text.startswith(("/", "-", "!")) and _is_below(text)


def _is_below(text: str) -> bool:
    parts = text.rstrip("/").split("/")
    return all(part.strip() and part not in (".", "..", ".git") for part in parts)


def read_prompt(path: Path) -> str:
    """The text of a prompt's file; raises Wrong."""
    allowed = f"a file of UTF-8 text, {LONGEST_PROMPT:,} characters at most"
    try:
        with path.open("rb") as file:
            text = file.read(LONGEST_PROMPT * 4 + 1).decode()
    except OSError as error:
        raise Wrong(f"{quoted(str(path))} ({error.strerror})", allowed) from None
    except UnicodeDecodeError:
        raise Wrong(f"{quoted(str(path))}, which is no UTF-8 text", allowed) from None
    at = Place(str(path))
    return Text(LONGEST_PROMPT, lines=True).read(Scalar(at, text, text))


def _word(value: Value, allowed: str) -> str:
    if not isinstance(value, Scalar):
        raise Wrong(f"{describe(value)} in it", allowed, at=value.at)
    if "\0" in value.text or len(value.text.encode()) > LONGEST_WORD:
        raise Wrong(
            f"{quoted(value.text)} in it", f"{allowed}; each {LONGEST_WORD:,} bytes at most"
        )
    return value.text
