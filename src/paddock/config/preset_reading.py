"""Reading presets: those that ship, and `agents:` of a configuration file, by the same rules.

One that has the name of another changes it key by key; `like: NAME` begins with another's. A
project's file may only say how much memory one gets: a repository that somebody cloned must not
decide which command runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path, PurePath
from typing import Any, Final

from .kinds import Wrong
from .located import Scalar, Table, Value, describe, load_file
from .mistakes import Mistakes, nearest, printable
from .preset import GIVEN, Preset
from .preset_kinds import PRESET_KINDS

MOST_PRESETS: Final = 50
PRESET_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")
OF_A_PROJECT: Final = ("memory",)
KEYS: Final = ("like", *PRESET_KINDS)
_FIELDS: Final = {"memory": "memory_bytes", "peak": "peak_bytes"}

Presets = Mapping[str, Preset]


@cache
def built_in() -> Presets:
    mistakes = Mistakes()
    table = load_file(Path(__file__).with_name("presets.yaml"))
    found = with_agents({}, table, mistakes=mistakes)
    mistakes.raise_any()
    return {name: replace(each, source="built in") for name, each in found.items()}


def with_agents(
    known: Presets, value: Value, *, mistakes: Mistakes, project: bool = False
) -> Presets:
    """The presets with what a file says about them; mistakes are added, what is right is kept."""
    if isinstance(value, Scalar) and value.value is None:
        return known
    if not isinstance(value, Table) or len(value.entries) > MOST_PRESETS:
        allowed = f"a table of {MOST_PRESETS} presets at most, each a table of keys"
        mistakes.add(value.at, "agents", found=describe(value), allowed=allowed)
        return known
    return _Reader(known, value, mistakes, project=project).read()


class _Reader:
    def __init__(self, known: Presets, table: Table, mistakes: Mistakes, *, project: bool) -> None:
        self._known = known
        self._table = table
        self._mistakes = mistakes
        self._project = project
        self._done: dict[str, Preset] = {}
        self._under_way: list[str] = []
        self._refused: set[str] = set()  # each is told once, whoever asks for it again

    def read(self) -> Presets:
        for name in self._table.entries:
            if PRESET_NAME.fullmatch(name):
                self._preset(name)
            else:
                allowed = "a name that begins with a letter: letters, digits, _ and -, 32 at most"
                self._say(name, "", found=repr(name[:60]), allowed=allowed)
        return {**self._known, **self._done}

    def _say(self, name: str, key: str, *, found: str, allowed: str, near: str = "") -> None:
        at = self._table.places[name]
        body = self._table.entries[name]
        if key and isinstance(body, Table):
            at = body.places.get(key, at)
        full = f"agents.{name}.{key}" if key else f"agents.{name}"
        self._mistakes.add(at, full, found=found, allowed=allowed, nearest=near)

    def _preset(self, name: str) -> Preset | None:
        if name in self._refused:
            return None
        found = self._read(name)
        if found is None:
            self._refused.add(name)
        return found

    def _read(self, name: str) -> Preset | None:
        if name in self._done or name not in self._table.entries:
            return self._done.get(name) or self._known.get(name)
        body = self._table.entries[name]
        if not isinstance(body, Table):
            allowed = "a table of keys, as in {like: claude, memory: 6G}"
            self._say(name, "", found=describe(body), allowed=allowed)
            return None
        begins = self._begins_with(name, body)
        if begins is None:
            return None
        before = len(self._mistakes.kept) + self._mistakes.left_out
        made = self._changed(begins, name, body)
        if len(self._mistakes.kept) + self._mistakes.left_out == before:
            self._check(made)
        self._done[name] = made
        return made

    def _begins_with(self, name: str, body: Table) -> Preset | None:
        like = body.entries.get("like")
        if like is None:
            if self._project and name not in self._known:
                self._unknown(name, "", name)
                return None
            return self._known.get(name, Preset(name=name))
        if self._project:
            return self._known.get(name, Preset(name=name))  # `like` itself is refused below
        other = like.text if isinstance(like, Scalar) else ""
        if other in (*self._under_way, name) and not (other == name and name in self._known):
            self._say(name, "like", found=f"a circle by way of {other!r}", allowed="another preset")
            return None
        if other == name:
            return self._known[name]
        self._under_way.append(name)
        found = self._preset(other)
        self._under_way.pop()
        if found is None and other not in self._table.entries:
            self._unknown(name, "like", other)
        return None if found is None else replace(found, name=name)

    def _unknown(self, name: str, key: str, other: str) -> None:
        names = list(dict.fromkeys([*self._known, *self._table.entries]))
        names = [each for each in names if each != name]
        near = nearest(other, names)
        found = f"the unknown preset {other[:40]!r}"
        self._say(name, key, found=found, allowed=", ".join(map(printable, names)), near=near)

    def _changed(self, begins: Preset, name: str, body: Table) -> Preset:
        said: dict[str, Any] = {}
        for key, value in body.entries.items():
            if key == "like" and not self._project:
                continue
            if key not in KEYS:
                self._mistakes.unknown_key(body.places[key], f"agents.{name}.{key}", known=KEYS)
            elif self._project and key not in OF_A_PROJECT:
                allowed = f"{', '.join(OF_A_PROJECT)}: what is run is the user's to say"
                self._say(name, key, found="it in a project's file", allowed=allowed)
            else:
                said |= self._value(name, key, value)
        made = replace(begins, **said, source=str(self._table.places[name]))
        return made if "install" in said else replace(made, install=self._install(made, begins))

    def _install(self, made: Preset, begins: Preset) -> str:
        """It belongs to the program, which may be another one than that of `like`."""
        program = PurePath(made.program).name
        same = (each for each in (begins, *self._known.values()) if each.install)
        return next((each.install for each in same if PurePath(each.program).name == program), "")

    def _value(self, name: str, key: str, value: Value) -> dict[str, Any]:
        field = _FIELDS.get(key, key)
        if isinstance(value, Scalar) and value.value is None and value.text != "":
            return {field: getattr(Preset(name=name), field)}  # null: as if nobody had said it
        try:
            return {field: PRESET_KINDS[key].read(value)}
        except Wrong as wrong:
            at = wrong.at or value.at
            self._mistakes.add(
                at, f"agents.{name}.{key}", found=wrong.found, allowed=wrong.allowed,
                nearest=wrong.near,
            )  # fmt: skip
            return {}

    def _check(self, preset: Preset) -> None:
        """What no value is wrong in by itself."""
        name = preset.name
        if not any("{prompt}" in word for word in preset.start):
            found = "no {prompt} in it" if preset.start else "nothing"
            self._say(name, "start", found=found, allowed=PRESET_KINDS["start"].allowed)
        if any("{session}" in word for word in preset.start) and preset.session != GIVEN:
            allowed = "session: given, or no {session} there"
            self._say(name, "start", found="{session}, which nobody knows yet", allowed=allowed)
        if any("{session}" in word for word in preset.resume) and preset.session is None:
            allowed = "session: given, or a pattern that finds it"
            self._say(name, "resume", found="{session}, which nobody knows", allowed=allowed)
        if preset.model and "{model}" not in preset.start:
            allowed = "{model} as a word of start"
            self._say(name, "model", found="no {model} in start", allowed=allowed)
        elif "{model}" in (*preset.start, *preset.resume) and not preset.model:
            allowed = 'model: [--model, "{model}"] beside it'
            self._say(name, "start", found="{model}, and no words for it", allowed=allowed)
