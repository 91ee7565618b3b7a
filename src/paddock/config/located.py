"""YAML that remembers where everything stands. Knows nothing of what the keys mean.

Built on the parser's events, not on its objects: nothing here recurses, so neither depth nor
aliases can hurt. Scalars follow YAML 1.2, where `no` is a word, `0755` no number and `1:30` no 90.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

from .mistakes import ConfigError, Mistake, Mistakes, Place, printable, quoted

MIB: Final = 1024 * 1024
LARGEST_FILE: Final = MIB
MOST_NODES: Final = 500_000
DEEPEST: Final = 64

_WHOLE: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_DECIMAL: Final = re.compile(
    r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
)
_NOT_FINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_WORDS: Final = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_LONGEST_NUMBER: Final = 40
_TEXT_TAGS: Final = ("!", "tag:yaml.org,2002:str")


@dataclass(frozen=True, slots=True)
class Scalar:
    at: Place
    value: bool | int | float | str | None
    text: str  # as written, for what is text whatever it looks like


@dataclass(frozen=True, slots=True)
class Items:
    at: Place
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Table:
    at: Place
    entries: dict[str, Value]
    places: dict[str, Place]  # of the keys


Value = Scalar | Items | Table


def load_file(path: Path, *, largest: int = LARGEST_FILE, pipes: bool = False) -> Table:
    """The table in a file; an empty file is an empty table. ConfigError for anything else.

    With `pipes` a pipe is read too, as a shell's `<(…)` makes one; without, it would hang.
    """
    return load_text(_read(path, largest=largest, pipes=pipes), file=str(path))


def load_text(text: str, *, file: str, first_line: int = 1) -> Table:
    """As `load_file`; `first_line` is that of the text in a larger file."""
    start = Place(file, first_line, 1)
    found = _compose(text, start)
    if found is None or (isinstance(found, Scalar) and found.value is None):
        return Table(start, {}, {})
    if isinstance(found, Table):
        return found
    allowed = "a table of keys and values, as in `performance:`"
    raise ConfigError([Mistake(found.at, "", describe(found), allowed)])


def written(text: str, *, file: str) -> Value:
    """A value as it would be written in a file: a scalar, or an empty list."""
    at = Place(file)
    return Items(at, ()) if text == "[]" else Scalar(at, _resolved(text), text)


def describe(value: Value) -> str:
    """What was found, for a person."""
    match value:
        case Table():
            return "a table of keys and values"
        case Items(values=values):
            return f"a list of {len(values)}" if values else "an empty list"
        case Scalar(value=None):
            return "nothing"
        case Scalar(value=bool()):
            return f"{value.text} (yes or no)"
        case Scalar(value=str()):
            return quoted(value.text)
        case Scalar():
            return value.text


def _read(path: Path, *, largest: int, pipes: bool) -> str:
    here = Place(str(path))
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | (0 if pipes else os.O_NONBLOCK))
        with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor has no path
            mode = os.fstat(descriptor).st_mode
            if not (stat.S_ISREG(mode) or (pipes and stat.S_ISFIFO(mode))):
                raise ConfigError([Mistake(here, "", "something that is no file", "a YAML file")])
            raw = file.read(largest + 1)
    except (OSError, ValueError) as error:
        found = f"no readable file ({getattr(error, 'strerror', None) or error})"
        raise ConfigError([Mistake(here, "", found, "a YAML file you may read")]) from error
    if len(raw) > largest:
        found = f"more than {largest // MIB} MiB"
        raise ConfigError(
            [Mistake(here, "", found, f"a YAML file of {largest // MIB} MiB at most")]
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        found = f"byte 0x{raw[error.start]:02x}, which is no UTF-8"
        raise ConfigError([Mistake(Place(str(path), line), "", found, "UTF-8 text")]) from error


def _compose(text: str, start: Place) -> Value | None:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    composer = _Composer(start)
    try:
        for event in yaml.parse(text, Loader=loader):
            composer.take(event)
    except yaml.MarkedYAMLError as error:
        raise ConfigError([_syntax(error, text, start)]) from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        # A reader's error has no line: the character that offends is looked for here.
        line = start.line - 1 + next(_unreadable_lines(text), 1)
        found = f"what is no YAML text ({printable(str(error).partition(chr(10))[0])})"
        raise ConfigError([Mistake(Place(start.file, line), "", found, "YAML text")]) from error
    composer.mistakes.raise_any()
    return composer.root


def _syntax(error: Any, text: str, start: Place) -> Mistake:
    mark = error.problem_mark or error.context_mark
    at = Place(start.file, start.line + mark.line, mark.column + 1) if mark else start
    problem = printable(str(error.problem or error.context or "what is no YAML"))
    line = "".join(text.split("\n")[at.line - start.line :][:1])
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return Mistake(at, "", "a tab", "spaces: YAML is indented with spaces")
    return Mistake(at, "", f"what is no YAML ({problem})", "YAML: `key: value`, indented by spaces")


def _unreadable_lines(text: str) -> Iterator[int]:
    for number, line in enumerate(text.split("\n"), start=1):
        if any((ord(sign) < 32 and sign not in "\t\r") or sign == "\x7f" for sign in line):
            yield number


@dataclass(slots=True)
class _Frame:
    """A list or a table that is being filled; `weight` counts its nodes with aliases expanded."""

    at: Place
    anchor: str | None
    is_table: bool
    items: list[Value] = field(default_factory=list)
    entries: dict[str, Value] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    merged: list[Table] = field(default_factory=list)
    key: Scalar | None = None
    weight: int = 1


class _Composer:
    def __init__(self, start: Place) -> None:
        self.start = start
        self.root: Value | None = None
        self.mistakes = Mistakes()
        self._open: list[_Frame] = []
        self._anchors: dict[str, tuple[Value, int]] = {}
        self._nodes = 0
        self._documents = 0

    def take(self, event: Any) -> None:
        """One event of the parser. Class names, so that PyYAML is imported only to read a file."""
        handle = getattr(self, f"_on_{type(event).__name__}", None)
        if handle is not None:
            mark = event.start_mark
            handle(event, Place(self.start.file, self.start.line + mark.line, mark.column + 1))

    def _on_DocumentStartEvent(self, _event: Any, at: Place) -> None:  # noqa: N802
        self._documents += 1
        if self._documents > 1:
            self._refuse(at, "a second document (---)", "one document in a file")

    def _on_ScalarEvent(self, event: Any, at: Place) -> None:  # noqa: N802
        value = self._scalar(event, at)
        self._count(at, 1)
        self._remember(event.anchor, value, 1)
        self._put(value, 1)

    def _on_AliasEvent(self, event: Any, at: Place) -> None:  # noqa: N802
        if event.anchor not in self._anchors:
            self._refuse(at, f"*{event.anchor}", "an anchor that stands, complete, further up")
        value, weight = self._anchors[event.anchor]
        self._count(at, weight)
        self._put(value, weight)

    def _on_SequenceStartEvent(self, event: Any, at: Place) -> None:  # noqa: N802
        self._start(event, at, is_table=False)

    def _on_MappingStartEvent(self, event: Any, at: Place) -> None:  # noqa: N802
        self._start(event, at, is_table=True)

    def _on_SequenceEndEvent(self, _event: Any, _at: Place) -> None:  # noqa: N802
        frame = self._open.pop()
        self._finish(frame, Items(frame.at, tuple(frame.items)))

    def _on_MappingEndEvent(self, _event: Any, _at: Place) -> None:  # noqa: N802
        frame = self._open.pop()
        for table in frame.merged:
            for key, value in table.entries.items():
                if key not in frame.entries:
                    frame.entries[key] = value
                    frame.places[key] = table.places[key]
        self._finish(frame, Table(frame.at, frame.entries, frame.places))

    def _start(self, event: Any, at: Place, *, is_table: bool) -> None:
        if event.tag is not None:
            self._refuse(at, f"the tag {quoted(event.tag)}", "plain YAML without tags")
        if len(self._open) >= DEEPEST:
            self._refuse(at, f"more than {DEEPEST} levels", "lists and tables less deep")
        self._count(at, 1)
        if event.anchor is not None:
            # An alias to it from inside itself would never end.
            self._anchors.pop(event.anchor, None)
        self._open.append(_Frame(at, event.anchor, is_table))

    def _finish(self, frame: _Frame, value: Value) -> None:
        self._remember(frame.anchor, value, frame.weight)
        self._put(value, frame.weight)

    def _remember(self, anchor: str | None, value: Value, weight: int) -> None:
        if anchor is not None:
            self._anchors[anchor] = (value, weight)

    def _put(self, value: Value, weight: int) -> None:
        if not self._open:
            self.root = value
            return
        frame = self._open[-1]
        frame.weight += weight
        if not frame.is_table:
            frame.items.append(value)
        elif frame.key is None:
            if not isinstance(value, Scalar):
                self._refuse(value.at, f"{describe(value)} as a key", "keys that are plain text")
            frame.key = value
        else:
            self._entry(frame, frame.key, value)
            frame.key = None

    def _entry(self, frame: _Frame, key: Scalar, value: Value) -> None:
        if key.text == "<<":
            tables = value.values if isinstance(value, Items) else (value,)
            frame.merged += [table for table in tables if isinstance(table, Table)]
            if not all(isinstance(table, Table) for table in tables):
                self._refuse(key.at, "<<: without a table", "<<: *anchor of a table")
        elif key.text in frame.entries:
            first = frame.places[key.text].line
            found = f"the same key twice (first in line {first})"
            self.mistakes.add(key.at, key.text, found=found, allowed="each key once")
        else:
            frame.entries[key.text] = value
            frame.places[key.text] = key.at

    def _scalar(self, event: Any, at: Place) -> Scalar:
        text: str = event.value
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                self._refuse(at, "half of a character (a lone surrogate)", "whole characters")
        if event.tag is not None and event.tag not in _TEXT_TAGS:
            self._refuse(at, f"the tag {quoted(event.tag)}", "plain YAML without tags")
        plain = event.tag is None and event.implicit[0]
        return Scalar(at, _resolved(text) if plain else text, text)

    def _count(self, at: Place, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > MOST_NODES:
            self._refuse(at, f"more than {MOST_NODES:,} values, aliases expanded", "fewer values")

    def _refuse(self, at: Place, found: str, allowed: str) -> NoReturn:
        raise ConfigError([*self.mistakes.kept, Mistake(at, "", found, allowed)])


def _resolved(text: str) -> bool | int | float | str | None:
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > _LONGEST_NUMBER:
        return text
    if _WHOLE.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text):
        return float(text)
    if _NOT_FINITE.fullmatch(text):
        return float(text.replace(".", "", 1))
    return text
