"""A JSON object on one line as a table that knows where it stands. Knows nothing of its keys.

Not read as YAML, though most JSON is: `"\\ud83d\\ude00"`, as programs write an emoji, is not.
"""

from __future__ import annotations

import json
from typing import Any, Final

from paddock.config.located import DEEPEST, Items, Scalar, Table, Value
from paddock.config.mistakes import ConfigError, Mistake, Place

_LONGEST_NUMBER: Final = 40  # longer is no number that anybody means, and costs time


class NotJson(Exception):
    """What the parser says, and in which column."""


def load_json(line: str, at: Place) -> Table:
    """NotJson for what is none; ConfigError for JSON that no run could mean."""
    reader = _Reader(at)
    try:
        found = json.loads(
            line,
            object_pairs_hook=reader.table,
            parse_int=reader.number,
            parse_float=reader.number,
            parse_constant=reader.number,
        )
    except json.JSONDecodeError as error:
        raise NotJson(f"{error.msg.lower()} in column {error.colno}") from error
    except RecursionError:
        raise reader.refusal(f"more than {DEEPEST} levels", "lists and tables less deep") from None
    assert isinstance(found, Table), "the line begins with {"
    return found


class _Reader:
    def __init__(self, at: Place) -> None:
        self._at = at

    def table(self, pairs: list[tuple[str, Any]]) -> Table:
        entries: dict[str, Value] = {}
        for key, each in pairs:
            self._check(key)
            if key in entries:
                raise self.refusal("the same key twice", "each key once", key=key)
            entries[key] = self._value(each, depth=0)
        return Table(self._at, entries, dict.fromkeys(entries, self._at))

    def number(self, text: str) -> Scalar:
        if len(text) > _LONGEST_NUMBER or text.lstrip("-") in ("NaN", "Infinity"):
            return Scalar(self._at, text, text)
        whole = text.lstrip("-").isdigit()
        return Scalar(self._at, int(text) if whole else float(text), text)

    def refusal(self, found: str, allowed: str, *, key: str = "") -> ConfigError:
        return ConfigError([Mistake(self._at, key, found, allowed)])

    def _value(self, found: Any, *, depth: int) -> Value:
        if depth > DEEPEST:
            raise self.refusal(f"more than {DEEPEST} levels", "lists and tables less deep")
        if isinstance(found, Table | Scalar):
            return found
        if isinstance(found, list):
            return Items(self._at, tuple(self._value(each, depth=depth + 1) for each in found))
        if isinstance(found, str):
            self._check(found)
            return Scalar(self._at, found, found)
        return Scalar(self._at, found, json.dumps(found))

    def _check(self, text: str) -> None:
        try:
            text.encode()
        except UnicodeEncodeError:
            # Not the text itself: it may be a variable's value.
            found = "half of a character (a lone surrogate)"
            raise self.refusal(found, "whole characters") from None
