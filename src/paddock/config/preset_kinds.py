"""The kinds of values in a preset. Each says what is wrong with one value; knows no other keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from .kinds import Kind, Wrong, as_items, as_table
from .located import Scalar, Value, describe
from .mistakes import nearest, quoted
from .patterns import LONGEST, BadPattern, compiled
from .preset import GIVEN, LONGEST_WORD, Sign
from .settings import AGENT_SIZE

MOST_WORDS: Final = 100
MOST_SIGNS: Final = 20
MOST_VARIABLES: Final = 100
LONGEST_TEXT: Final = 4000
# What a sign may say about the time; each is read in its own way.
TIMES: Final = ("seconds", "duration", "at", "epoch")
PARTS: Final = ("prompt", "again", "session")  # may be a part of a word
WHOLE: Final = ("model", "arguments")  # are a word of their own

_PLACEHOLDER: Final = re.compile(r"\{([a-z_]+)\}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Words:
    """A command of templates. `may`: the placeholders that have a meaning in it."""

    may: tuple[str, ...]

    @property
    def allowed(self) -> str:
        names = ", ".join(f"{{{name}}}" for name in self.may)
        return f"a list of the program and its arguments, with {names}"

    def read(self, value: Value) -> tuple[str, ...]:
        items = as_items(value, self.allowed)
        if not items or len(items) > MOST_WORDS:
            raise Wrong(describe(value), f"{self.allowed}, 1 to {MOST_WORDS}")
        return tuple(self._word(item) for item in items)

    def _word(self, value: Value) -> str:
        if not isinstance(value, Scalar) or "\0" in value.text:
            raise Wrong(describe(value), self.allowed, at=value.at)
        if len(value.text.encode()) > LONGEST_WORD:
            raise Wrong("a word that no process can get", self.allowed, at=value.at)
        names = _PLACEHOLDER.findall(value.text)
        for name in names:
            if name not in self.may:
                near = nearest(name, self.may)
                raise Wrong(f"the unknown {{{name}}}", self.allowed, near=near, at=value.at)
            if name in WHOLE and value.text != f"{{{name}}}":
                said = f"{quoted(value.text)}"
                raise Wrong(said, f"{{{name}}} as a word of its own", at=value.at)
        if "session" in names and {"prompt", "again"} & set(names):
            raise Wrong(quoted(value.text), "{session} and the prompt in words of their own")
        return value.text

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"type": ["string", "number", "boolean"]}}

    def show(self, value: Any) -> str:
        return " ".join(value)


@dataclass(frozen=True, slots=True)
class ModelWords:
    """How a model is said, as in [--model, "{model}"]."""

    allowed: str = 'a list of words that says the model, as in [--model, "{model}"]'

    def read(self, value: Value) -> tuple[str, ...]:
        words = []
        for item in as_items(value, self.allowed):
            if not isinstance(item, Scalar) or "\0" in item.text:
                raise Wrong(describe(item), self.allowed, at=item.at)
            words.append(item.text)
        if len(words) > MOST_WORDS or not any("{model}" in word for word in words):
            raise Wrong(describe(value), self.allowed)
        return tuple(words)

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"type": ["string", "number", "boolean"]}}

    def show(self, value: Any) -> str:
        return " ".join(value)


@dataclass(frozen=True, slots=True)
class Said:
    """Some text; `empty` may be nothing at all."""

    empty: bool = False

    @property
    def allowed(self) -> str:
        return f"text, {LONGEST_TEXT:,} characters at most"

    def read(self, value: Value) -> str:
        if not isinstance(value, Scalar) or "\0" in value.text or len(value.text) > LONGEST_TEXT:
            raise Wrong(describe(value), self.allowed)
        if not self.empty and not value.text.strip():
            raise Wrong("an empty text", self.allowed)
        return value.text

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "maxLength": LONGEST_TEXT}

    def show(self, value: Any) -> str:
        return str(value)


@dataclass(frozen=True, slots=True)
class SessionKind:
    allowed: str = "given, or a pattern with (?P<session>…) that finds its id in the output"

    def read(self, value: Value) -> str:
        if isinstance(value, Scalar) and value.text == GIVEN:
            return GIVEN
        text = read_pattern(value, self.allowed)
        if compiled(text).groups != {"session"}:
            raise Wrong("a pattern without (?P<session>…), or with more", self.allowed)
        return text

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "maxLength": LONGEST}

    def show(self, value: Any) -> str:
        return str(value)


@dataclass(frozen=True, slots=True)
class Variables:
    """Values are secrets: they are part of no message."""

    allowed: str = "a table of variables, as in {CI: 1}; PADDOCK_ is paddock's own"

    def read(self, value: Value) -> dict[str, str]:
        entries = as_table(value, self.allowed)
        if len(entries) > MOST_VARIABLES:
            raise Wrong(f"{len(entries):,} variables", f"{MOST_VARIABLES} at most")
        found = {}
        for name, each in entries.items():
            if not _VARIABLE.fullmatch(name) or name.upper().startswith("PADDOCK_"):
                raise Wrong(f"the variable {quoted(name)}", self.allowed, at=each.at)
            if not isinstance(each, Scalar) or "\0" in each.text or len(each.text) > LONGEST_TEXT:
                raise Wrong(f"what is no value for {name}", self.allowed, at=each.at)
            found[name] = each.text
        return found

    def schema(self) -> dict[str, Any]:
        return {"type": "object"}

    def show(self, value: Any) -> str:
        return ", ".join(value)


@dataclass(frozen=True, slots=True)
class Signs:
    """`times`: whether they may say when."""

    times: bool

    @property
    def allowed(self) -> str:
        return "a list of {pattern: '^Error: 429', exit: [1]}, each with a pattern, codes or both"

    def read(self, value: Value) -> tuple[Sign, ...]:
        items = as_items(value, self.allowed)
        if len(items) > MOST_SIGNS:
            raise Wrong(describe(value), f"{MOST_SIGNS} signs at most")
        return tuple(self._sign(item) for item in items)

    def _sign(self, value: Value) -> Sign:
        entries = as_table(value, self.allowed)
        for key in entries:
            if key not in ("pattern", "exit"):
                near = nearest(key, ("pattern", "exit"))
                raise Wrong(f"an unknown key {quoted(key)}", self.allowed, near=near, at=value.at)
        sign = Sign(
            pattern=self._pattern(entries["pattern"]) if "pattern" in entries else "",
            exit=_codes(entries["exit"]) if "exit" in entries else (),
        )
        if sign == Sign():
            raise Wrong("a sign without a pattern or a code", self.allowed, at=value.at)
        return sign

    def _pattern(self, value: Value) -> str:
        text = read_pattern(value, self.allowed)
        groups, may = compiled(text).groups, TIMES if self.times else ()
        names = ", ".join(f"(?P<{name}>…)" for name in may) or "no named group"
        if not groups <= set(may) or len(groups) > 1:
            raise Wrong(f"the groups {', '.join(sorted(groups))}", f"one of {names}", at=value.at)
        return text

    def schema(self) -> dict[str, Any]:
        code = {"type": "integer", "minimum": 1, "maximum": 255}
        sign = {
            "type": "object",
            "additionalProperties": False,
            "minProperties": 1,
            "properties": {
                "pattern": {"type": "string", "minLength": 1, "maxLength": LONGEST},
                "exit": {"type": "array", "minItems": 1, "items": code},
            },
        }
        return {"type": "array", "maxItems": MOST_SIGNS, "items": sign}

    def show(self, value: Any) -> str:
        return ", ".join(sign.pattern or f"exit {sign.exit}" for sign in value)


def _codes(value: Value) -> tuple[int, ...]:
    allowed = "a list of exit codes from 1 to 255, as in [1, 75]"
    codes = []
    for item in as_items(value, allowed):
        code = item.value if isinstance(item, Scalar) else None
        # 0 is success, whatever else was said: a run that did its work must not do it twice.
        if type(code) is not int or not 1 <= code <= 255:
            raise Wrong(describe(item), allowed, at=item.at)
        codes.append(code)
    if not codes:
        raise Wrong(describe(value), allowed, at=value.at)
    return tuple(codes)


def read_pattern(value: Value, allowed: str) -> str:
    if not isinstance(value, Scalar) or not value.text:
        raise Wrong(describe(value), allowed, at=value.at)
    try:
        compiled(value.text)
    except BadPattern as error:
        words = "a pattern in the words of RE2 (no lookahead, no back reference)"
        raise Wrong(f"{quoted(value.text)} ({error})", words, at=value.at) from None
    return value.text


_COMMAND: Final = (*PARTS, *WHOLE)
PRESET_KINDS: Final[Mapping[str, Kind[Any]]] = {
    "about": Said(),
    "install": Said(),
    "start": Words(tuple(name for name in _COMMAND if name != "again")),
    "resume": Words(_COMMAND),
    "model": ModelWords(),
    "again": Said(),
    "session": SessionKind(),
    "stdin": Said(empty=True),
    "memory": AGENT_SIZE,
    "peak": AGENT_SIZE,
    "env": Variables(),
    "as_root": Variables(),
    "later": Signs(times=True),
    "lost": Signs(times=False),
}
