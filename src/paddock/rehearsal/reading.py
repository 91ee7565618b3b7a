"""Reading a script: YAML, every mistake with its line. The words: docs/reference/rehearsal.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from paddock.config.kinds import Duration, Kind, Size, Whole, Wrong
from paddock.config.located import Items, Scalar, Table, Value, describe, load_file
from paddock.config.mistakes import Mistakes

from .script import (
    LAST_WORD,
    Fail,
    Memory,
    RateLimit,
    Run,
    Say,
    Script,
    Scripts,
    Stall,
    Step,
    Wait,
    Write,
)

MOST_STEPS: Final = 1000
LONGEST_TEXT: Final = 100_000
LONGEST_S: Final = 8 * 3600.0
_TOP: Final = ("steps", "end", "runs")
_OF_A_RUN: Final = ("steps", "end")
_TIME: Final = Duration(0.0, LONGEST_S)
# Below the ten minutes after which the programs stop a command themselves.
_WAIT: Final = Duration(0.0, 540.0)
_SIZE: Final = Size(1 << 20, 1 << 40)
_TIMES: Final = Whole(1, 100)
_STATUS: Final = Whole(400, 599)


class _Text:
    allowed = f"text, {LONGEST_TEXT:,} characters at most"
    may_be_empty = False

    def read(self, value: Value) -> str:
        if not isinstance(value, Scalar) or value.value is None:
            raise Wrong(describe(value), self.allowed)
        text = value.text
        if len(text) > LONGEST_TEXT or "\0" in text or not (text or self.may_be_empty):
            raise Wrong(describe(value), self.allowed)
        return text


class _Content(_Text):
    may_be_empty = True


class _Path(_Text):
    allowed = "a path below the directory it works in, as in notes/a.txt"

    def read(self, value: Value) -> str:
        text = super().read(value)
        if len(text) > 1000 or text.startswith(("/", "~")) or ".." in text.split("/"):
            raise Wrong(describe(value), self.allowed)
        return text


# What may stand in a step: the keys of its table, those that it needs first; and its short form.
_Fields = dict[str, Any]
_FORMS: Final[dict[str, tuple[dict[str, Any], int, Callable[[_Fields], Step]]]] = {
    "run": ({"command": _Text()}, 1, lambda of: Run(of["command"])),
    "write": ({"path": _Path(), "text": _Content()}, 2, lambda of: Write(of["path"], of["text"])),
    "wait": ({"for": _WAIT}, 1, lambda of: Wait(of["for"])),
    "memory": (
        {"size": _SIZE, "for": _WAIT},
        1,
        lambda of: Memory(of["size"], of.get("for", 5.0)),
    ),
    "say": ({"text": _Text()}, 1, lambda of: Say(of["text"])),
    "rate_limit": ({"for": _TIME}, 1, lambda of: RateLimit(of["for"])),
    "error": (
        {"status": _STATUS, "times": _TIMES},
        1,
        lambda of: Fail(of["status"], of.get("times", 1)),
    ),
    "stall": ({"for": _TIME, "times": _TIMES}, 1, lambda of: Stall(of["for"], of.get("times", 1))),
}
STEPS: Final = tuple(_FORMS)
_EXAMPLE: Final = "a table with one of " + ", ".join(_FORMS) + ", as in - run: make test"


def read_scripts(path: Path) -> Scripts:
    """ConfigError with all that is wrong in it."""
    table = load_file(path, pipes=True)
    reader = _Reader()
    found = reader.top(table)
    reader.mistakes.raise_any()
    return found


class _Reader:
    def __init__(self) -> None:
        self.mistakes = Mistakes()

    def top(self, table: Table) -> Scripts:
        self._known(table, "", _TOP)
        of_runs: dict[str, Script] = {}
        runs = table.entries.get("runs")
        if isinstance(runs, Table):
            for name, value in runs.entries.items():
                of_runs[name] = self._of_run(value, f"runs.{name}")
        elif runs is not None:
            allowed = "a table of runs by their names, each with steps"
            self.mistakes.add(runs.at, "runs", found=describe(runs), allowed=allowed)
        if "steps" not in table.entries and not of_runs:
            self.mistakes.add(table.at, "steps", found="nothing", allowed=f"a list: {_EXAMPLE}")
        return Scripts(self._script(table, ""), of_runs)

    def _of_run(self, value: Value, key: str) -> Script:
        if not isinstance(value, Table):
            self.mistakes.add(value.at, key, found=describe(value), allowed="a table with steps")
            return Script(())
        self._known(value, f"{key}.", _OF_A_RUN)
        return self._script(value, f"{key}.")

    def _script(self, table: Table, prefix: str) -> Script:
        steps = self._steps(table.entries.get("steps"), f"{prefix}steps")
        end = table.entries.get("end")
        word = LAST_WORD if end is None else self._read(_Text(), end, f"{prefix}end")
        return Script(tuple(steps), word or LAST_WORD)

    def _steps(self, value: Value | None, key: str) -> Iterable[Step]:
        if value is None:
            return []
        if not isinstance(value, Items) or len(value.values) > MOST_STEPS:
            allowed = f"a list of {MOST_STEPS:,} steps at most, each {_EXAMPLE}"
            self.mistakes.add(value.at, key, found=describe(value), allowed=allowed)
            return []
        found = (self._step(item, f"{key}[{at}]") for at, item in enumerate(value.values))
        return [step for step in found if step is not None]

    def _step(self, value: Value, key: str) -> Step | None:
        if not isinstance(value, Table) or len(value.entries) != 1:
            found = describe(value)
            if isinstance(value, Table):
                found = " and ".join(value.entries) or "an empty table"
            self.mistakes.add(value.at, key, found=found, allowed=_EXAMPLE)
            return None
        ((word, body),) = value.entries.items()
        if word not in _FORMS:
            self.mistakes.unknown_key(value.places[word], f"{key}.{word}", known=_FORMS)
            return None
        kinds, needed, make = _FORMS[word]
        fields = self._fields(body, f"{key}.{word}", kinds, needed)
        return None if fields is None else make(fields)

    def _fields(
        self, body: Value, key: str, kinds: dict[str, Kind[Any]], needed: int
    ) -> _Fields | None:
        first = next(iter(kinds))
        if not isinstance(body, Table):
            if needed > 1:
                allowed = f"a table with {' and '.join(kinds)}"
                self.mistakes.add(body.at, key, found=describe(body), allowed=allowed)
                return None
            value = self._read(kinds[first], body, key)
            return None if value is None else {first: value}
        before = len(self.mistakes.kept) + self.mistakes.left_out
        self._known(body, f"{key}.", kinds)
        found = {
            name: self._read(kinds[name], each, f"{key}.{name}")
            for name, each in body.entries.items()
            if name in kinds
        }
        for name in list(kinds)[:needed]:
            if name not in body.entries:
                allowed = kinds[name].allowed
                self.mistakes.add(body.at, f"{key}.{name}", found="nothing", allowed=allowed)
        after = len(self.mistakes.kept) + self.mistakes.left_out
        return found if after == before else None

    def _known(self, table: Table, prefix: str, known: Iterable[str]) -> None:
        names = list(known)
        for key in table.entries:
            if key not in names:
                self.mistakes.unknown_key(table.places[key], f"{prefix}{key}", known=names)

    def _read(self, kind: Any, value: Value, key: str) -> Any:
        try:
            return kind.read(value)
        except Wrong as wrong:
            at = wrong.at or value.at
            self.mistakes.add(at, key, found=wrong.found, allowed=wrong.allowed, nearest=wrong.near)
            return None
