"""Fleet files: one parser for the local host and for Kubernetes. Submits nothing.

Every mistake is reported at once, each with file, line, key, what was found and what is allowed.
Relative `dir` and `repo` are relative to the file's own directory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, Final

from paddock.config.kinds import Share, Wrong, compact_size
from paddock.config.located import MIB, Items, Scalar, Table, Value, describe, load_file, load_text
from paddock.config.mistakes import ConfigError, Mistakes, Place, nearest
from paddock.workspaces.secrets import is_address

from .run_fields import (
    EVERY,
    NOT_IN_DEFAULTS,
    NOT_IN_HEARTBEATS,
    OF_REPO,
    RUN_KINDS,
    compact_time,
)
from .run_request import HeartbeatRequest, RunRequest
from .run_words import Name, read_prompt

LARGEST_FILE: Final = 4 * MIB
MOST_RUNS: Final = 10_000
MOST_HEARTBEATS: Final = 100
MOST_CIRCLES: Final = 20
TOP_KEYS: Final = ("fleet", "defaults", "runs", "heartbeats")

_PROMPTS: Final = ("prompt", "prompt_file")
_WORK: Final = ("command", "agent", *_PROMPTS, "arguments", "steps")
_ONE_OF: Final = "exactly one of command, agent with prompt, and steps"
_OF_PLAIN: Final = "the program of `agent: plain` goes into arguments"


class FleetFileError(ConfigError):
    """Everything that is wrong in a fleet file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFile:
    name: str
    runs: tuple[RunRequest, ...]
    heartbeats: tuple[HeartbeatRequest, ...] = ()
    places: Mapping[str, Place]  # where each run and heartbeat stands, by name


@dataclass(frozen=True, slots=True)
class _Read:
    """What was understood of one run: its values, and where each stands."""

    at: Place
    values: dict[str, Any]
    places: dict[str, Place]
    complete: bool
    # Of one without a name that could be read: what might have been meant as its name.
    texts: frozenset[str] = frozenset()


def parse_fleet(path: Path) -> FleetFile:
    try:
        table = load_file(path, largest=LARGEST_FILE, pipes=True)
    except ConfigError as error:
        raise _of_a_fleet(error) from error
    return _Parser(path.absolute().parent).parse(table, name=path.stem)


def parse_fleet_text(text: str, *, file: str, directory: Path) -> FleetFile:
    """For a fleet file that is no file: read from stdin, or sent over the wire."""
    if len(text) > LARGEST_FILE:
        mistakes = Mistakes()
        allowed = f"{LARGEST_FILE // MIB} MiB at most"
        mistakes.add(Place(file), "", found=f"{len(text):,} characters", allowed=allowed)
        mistakes.raise_any(FleetFileError)
    try:
        table = load_text(text, file=file)
    except ConfigError as error:
        raise _of_a_fleet(error) from error
    return _Parser(directory).parse(table, name="fleet")


def read_run(table: Table, *, directory: Path) -> RunRequest:
    """One run as a table of its own, as from options or a line; its needs are not looked up."""
    return _Parser(directory).parse_one(table)


def _of_a_fleet(error: ConfigError) -> FleetFileError:
    """Whoever reads YAML knows configuration files only, and names a key of theirs."""
    mistakes = [
        replace(each, allowed=each.allowed.replace("`performance:`", "`runs:`"))
        for each in error.mistakes
    ]
    return FleetFileError(mistakes, left_out=error.left_out)


class _Parser:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.mistakes = Mistakes()

    def parse(self, table: Table, *, name: str) -> FleetFile:
        for key in table.entries:
            if key not in TOP_KEYS:
                self.mistakes.unknown_key(table.places[key], key, known=TOP_KEYS)
        defaults = self._defaults(table.entries.get("defaults"))
        runs = self._runs(table, defaults)
        heartbeats = self._heartbeats(table.entries.get("heartbeats"), defaults)
        places = self._unique([*runs, *heartbeats])
        self._check_needs(runs)
        title = self._title(table.entries.get("fleet"), name)
        self.mistakes.raise_any(FleetFileError)
        return FleetFile(
            name=title,
            runs=tuple(_request(run.values) for run in runs),
            heartbeats=tuple(_heartbeat(each.values) for each in heartbeats),
            places=places,
        )

    def parse_one(self, table: Table) -> RunRequest:
        nothing = self._defaults(None)
        run = self._whole(self._table(table, "run", known=RUN_KINDS), nothing, key="run")
        self.mistakes.raise_any(FleetFileError)
        return _request(run.values)

    def _title(self, value: Value | None, otherwise: str) -> str:
        if value is not None:
            try:
                return Name().read(value)
            except Wrong as wrong:
                self._add(wrong, value.at, "fleet")
        return re.sub(r"[^A-Za-z0-9_-]+", "-", otherwise).strip("-_")[:64] or "fleet"

    def _defaults(self, value: Value | None) -> _Read:
        if value is None or (isinstance(value, Scalar) and value.value is None):
            return _Read(Place(""), {}, {}, complete=True)
        known = [key for key in RUN_KINDS if key not in NOT_IN_DEFAULTS]
        return self._table(value, "defaults", known=known)

    def _runs(self, table: Table, defaults: _Read) -> list[_Read]:
        value = table.entries.get("runs")
        if value is None and "heartbeats" in table.entries:
            return []
        items = self._list(value, table.at, key="runs", most=MOST_RUNS)
        found = []
        for number, item in enumerate(items):
            key = _key("runs", number, item)
            run = self._table(item, key, known=RUN_KINDS)
            found.append(self._whole(run, defaults, key=key))
        return found

    def _heartbeats(self, value: Value | None, defaults: _Read) -> list[_Read]:
        if value is None:
            return []
        known = [*(key for key in RUN_KINDS if key not in NOT_IN_HEARTBEATS), "every"]
        usual = {key: each for key, each in defaults.values.items() if key in known}
        fitting = _Read(defaults.at, usual, defaults.places, defaults.complete)
        found = []
        items = self._list(value, value.at, key="heartbeats", most=MOST_HEARTBEATS)
        for number, item in enumerate(items):
            key = _key("heartbeats", number, item)
            beat = self._table(item, key, known=known)
            if beat.complete and "every" not in beat.values:
                self.mistakes.add(beat.at, f"{key}.every", found="nothing", allowed=EVERY.allowed)
            found.append(self._whole(beat, fitting, key=key))
        return found

    def _list(self, value: Value | None, at: Place, *, key: str, most: int) -> tuple[Value, ...]:
        allowed = f"a list of 1 to {most:,} tables, as in - {{name: test, command: [pytest]}}"
        if isinstance(value, Items) and 0 < len(value.values) <= most:
            return value.values
        found = "nothing" if value is None else describe(value)
        self.mistakes.add(value.at if value else at, key, found=found, allowed=allowed)
        return ()

    def _table(self, value: Value, key: str, *, known: Iterable[str]) -> _Read:
        """Each key by its kind; `complete` says that there was no mistake."""
        if not isinstance(value, Table):
            allowed = "a table of keys and values, as in {name: test, command: [pytest]}"
            self.mistakes.add(value.at, key, found=describe(value), allowed=allowed)
            return _Read(value.at, {}, {}, complete=False)
        names, values, complete = list(known), {}, True
        for name, each in value.entries.items():
            if name not in names:
                self.mistakes.unknown_key(value.places[name], f"{key}.{name}", known=names)
                complete = False
                continue
            try:
                kind = EVERY if name == "every" else RUN_KINDS[name]
                values[name] = kind.read(each)
            except Wrong as wrong:
                self._add(wrong, each.at, f"{key}.{name}")
                complete = False
        texts = frozenset() if "name" in values else _texts(value)
        return _Read(value.at, values, value.places, complete, texts)

    def _whole(self, run: _Read, defaults: _Read, *, key: str) -> _Read:
        """A run with its defaults; what it says itself about its work or place replaces theirs."""
        usual = dict(defaults.values)
        if any(word in run.values for word in ("command", "steps")):
            usual = {name: each for name, each in usual.items() if name not in _WORK}
        if any(word in run.values for word in ("agent", *_PROMPTS)):
            own = any(word in run.values for word in _PROMPTS)
            not_its = ("command", "steps", *(_PROMPTS if own else ()))
            usual = {name: each for name, each in usual.items() if name not in not_its}
        if any(word in run.values for word in ("dir", "repo")):
            # A text that says it is ready fits any repository; the rest is about that one.
            stays = ("ready_marker",) if "repo" in run.values else ()
            other = ("dir", "repo", *(word for word in OF_REPO if word not in stays))
            usual = {name: each for name, each in usual.items() if name not in other}
        values = {**usual, **run.values}
        if "env" in values:
            values["env"] = {**usual.get("env", {}), **run.values.get("env", {})}
        complete = run.complete and defaults.complete
        if "prompt_file" in values:
            at = run.places.get("prompt_file", defaults.places.get("prompt_file", run.at))
            self._read_prompt(values, at, f"{key}.prompt_file")
        whole = _Read(run.at, values, run.places, complete, run.texts)
        if whole.complete:
            self._check(whole, key)
        for name in ("dir", "repo"):
            if name in values and not (name == "repo" and is_address(values[name])):
                at = run.places.get(name, run.at)
                values[name] = self._path(values[name], at, f"{key}.{name}")
        return whole

    def _check(self, run: _Read, key: str) -> None:
        values = run.values
        if "name" not in values:
            self.mistakes.add(run.at, f"{key}.name", found="nothing", allowed=Name().allowed)
        kinds = [word for word in ("command", "agent", "steps") if word in values]
        if "prompt" in values and "command" in values:
            found = "command and agent" if "agent" in values else "command and a prompt"
            self.mistakes.add(run.at, key, found=found, allowed=f"{_ONE_OF}; {_OF_PLAIN}")
        elif "agent" not in values and "prompt" in values:
            self.mistakes.add(run.at, key, found="a prompt without an agent", allowed=_ONE_OF)
        elif len(kinds) != 1:
            found = " and ".join(kinds) or "nothing to run"
            self.mistakes.add(run.at, key, found=found, allowed=_ONE_OF)
        elif kinds == ["agent"] and "prompt" not in values:
            self.mistakes.add(run.at, key, found="an agent without a prompt", allowed=_ONE_OF)
        if "dir" in values and "repo" in values:
            allowed = "dir (as it is) or repo (a workspace of its own)"
            self.mistakes.add(run.at, key, found="dir and repo", allowed=allowed)
        if "arguments" in values and "agent" not in values:
            at = run.places.get("arguments", run.at)
            found, allowed = "no agent beside it", "only together with agent"
            self.mistakes.add(at, f"{key}.arguments", found=found, allowed=allowed)
        said = next((name for name in OF_REPO if values.get(name)), None)
        if said is not None and "repo" not in values:
            at = run.places.get(said, run.at)
            found, allowed = "no repo beside it", "only together with repo"
            self.mistakes.add(at, f"{key}.{said}", found=found, allowed=allowed)
        self._check_sizes(run, key)

    def _read_prompt(self, values: dict[str, Any], at: Place, key: str) -> None:
        """A file's text in the place of its name."""
        if "prompt" in values:
            self.mistakes.add(at, key, found="prompt as well", allowed="one of the two")
        path = self._path(values.pop("prompt_file"), at, key)
        try:
            values["prompt"] = read_prompt(Path(path))
        except Wrong as wrong:
            self._add(wrong, at, key)
            values.setdefault("prompt", "?")  # it is there, and is not asked for once more

    def _check_sizes(self, run: _Read, key: str) -> None:
        values = run.values
        high, limit = values.get("memory_high"), values.get("memory")
        if isinstance(high, int) and limit is not None and high >= limit:
            at = run.places.get("memory_high", run.at)
            found, allowed = compact_size(high), f"a share, or less than its {compact_size(limit)}"
            self.mistakes.add(at, f"{key}.memory_high", found=found, allowed=allowed)
        soft, hard = values.get("soft_timeout"), values.get("timeout")
        if soft is not None and hard is not None and soft >= hard:
            at = run.places.get("soft_timeout", run.at)
            found, allowed = compact_time(soft), f"less than its timeout of {compact_time(hard)}"
            self.mistakes.add(at, f"{key}.soft_timeout", found=found, allowed=allowed)

    def _path(self, text: str, at: Place, key: str) -> str:
        """Absolute, without following links."""
        try:
            return str(self.directory / Path(text).expanduser())
        except RuntimeError:
            self.mistakes.add(at, key, found=repr(text[:60]), allowed="~ of a user who exists")
            return text

    def _unique(self, runs: Iterable[_Read]) -> dict[str, Place]:
        places: dict[str, Place] = {}
        for run in runs:
            name = run.values.get("name")
            if name in places:
                found = f"the name {name!r} twice (first in line {places[name].line})"
                self.mistakes.add(
                    run.places.get("name", run.at), "name", found=found, allowed="a name of its own"
                )
            elif name is not None:
                places[name] = run.at
        return places

    def _check_needs(self, runs: list[_Read]) -> None:
        graph = {
            run.values["name"]: run.values.get("needs", ()) for run in runs if "name" in run.values
        }
        # A name that could not be read, such as of `nam: three`, may be the one that is needed.
        meant = frozenset().union(*(run.texts for run in runs))
        for run in runs:
            for need in run.values.get("needs", ()) if "name" in run.values else ():
                if need not in graph and need not in meant:
                    self._unknown_need(run, need, graph)
        for _ in range(MOST_CIRCLES):
            try:
                TopologicalSorter(graph).prepare()
            except CycleError as error:
                # It names them from the needed to the needing.
                self._circle(list(reversed(error.args[1])), runs)
                graph = {name: () if name in error.args[1] else n for name, n in graph.items()}
            else:
                return

    def _circle(self, names: list[str], runs: list[_Read]) -> None:
        run = next(run for run in runs if run.values.get("name") == names[0])
        shown = names if len(names) <= 10 else [*names[:8], "…", names[-1]]
        self.mistakes.add(
            run.places.get("needs", run.at),
            f"runs.{names[0]}.needs",
            found=f"a circle: {' needs '.join(shown)}",
            allowed="needs that end somewhere",
        )

    def _unknown_need(self, run: _Read, need: str, known: Mapping[str, Any]) -> None:
        at, key = run.places.get("needs", run.at), f"runs.{run.values['name']}.needs"
        near = shown = ""
        if not self.mistakes.full:
            names = list(known)
            shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
            near = nearest(need, names)
        self.mistakes.add(at, key, found=f"the unknown run {need!r}", allowed=shown, nearest=near)

    def _add(self, wrong: Wrong, at: Place, key: str) -> None:
        for one in (wrong, *wrong.also):
            self.mistakes.add(
                *(one.at or at, key), found=one.found, allowed=one.allowed, nearest=one.near
            )


def _texts(value: Table) -> frozenset[str]:
    return frozenset(each.text for each in value.entries.values() if isinstance(each, Scalar))


def _key(section: str, number: int, item: Value) -> str:
    """A run by its name where it has one: people do not count list entries."""
    name = item.entries.get("name") if isinstance(item, Table) else None
    try:
        return f"{section}[{number}]" if name is None else f"{section}.{Name().read(name)}"
    except Wrong:
        return f"{section}[{number}]"


def _heartbeat(values: Mapping[str, Any]) -> HeartbeatRequest:
    rest = {key: value for key, value in values.items() if key != "every"}
    return HeartbeatRequest(every_s=values["every"], run=_request({**rest, "priority": "low"}))


_RENAMED: Final = {"memory": "memory_bytes", "soft_timeout": "soft_timeout_s"}


def _request(values: Mapping[str, Any]) -> RunRequest:
    """Where a word stands for no bound, the kind has read None; the request says the word again."""
    fields = {_RENAMED.get(key, key): value for key, value in values.items()}
    if "timeout" in fields:
        timeout = fields.pop("timeout")
        fields["timeout_s"] = "none" if timeout is None else timeout
    if "cpu" in fields and fields["cpu"] is None:
        fields["cpu"] = "unlimited"
    high = fields.pop("memory_high", None)
    if isinstance(high, Share):
        fields["memory_high_percent"] = high.percent
    elif high is not None:
        fields["memory_high_bytes"] = high
    return RunRequest(**fields)
