"""The keys of a run in a fleet file: how each is read. Knows no files and no other runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from paddock.config.kinds import (
    Choice,
    Duration,
    Flag,
    Kind,
    OrWord,
    SizeOrShare,
    Whole,
    Wrong,
    as_items,
    as_table,
)
from paddock.config.located import Scalar, Value, describe
from paddock.config.mistakes import nearest, quoted
from paddock.config.settings import AGENT_SIZE, CPUS, DRIVER, PIDS
from paddock.core.heartbeat import SHORTEST_S
from paddock.core.units import DAY_S, HOUR_S, MINUTE_S

from .run_request import Step

LONGEST_NAME: Final = 64
MOST_NEEDS: Final = 1000
MOST_STEPS: Final = 1000
MOST_WORDS: Final = 10_000
# What the kernel takes as one argument or variable (MAX_ARG_STRLEN), its final zero byte included.
LONGEST_WORD: Final = 131_071
LONGEST_PATH: Final = 4096
LONGEST_TIMEOUT_S: Final = 366 * DAY_S
PRIORITIES: Final = ("critical", "high", "normal", "low")
COMPLEXITIES: Final = ("simple", "medium", "complex")

_NAME: Final = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{LONGEST_NAME - 1}}}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


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


@dataclass(frozen=True, slots=True)
class Steps:
    @property
    def allowed(self) -> str:
        return "a list of {name: unit, command: [pytest, -q]}, with stream, each, cut or resume"

    def read(self, value: Value) -> tuple[Step, ...]:
        items = as_items(value, self.allowed)
        if not items or len(items) > MOST_STEPS:
            raise Wrong(describe(value), f"{self.allowed}, 1 to {MOST_STEPS}")
        steps = tuple(self._step(item) for item in items)
        names = [step.name for step in steps]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise Wrong(f"two steps called {twice!r}", "a name of its own for each step")
        problem = stream_problem(steps)
        if problem is not None:
            raise Wrong(*problem)
        return steps

    def _step(self, value: Value) -> Step:
        entries = as_table(value, self.allowed)
        for key in entries:
            if key not in _STEP_KINDS:
                near = nearest(key, tuple(_STEP_KINDS))
                found = f"an unknown key {quoted(key)} in a step"
                raise Wrong(found, self.allowed, near=near, at=value.at)
        if not {"name", "command"} <= entries.keys():
            raise Wrong("a step without a name or a command", self.allowed, at=value.at)
        return Step(**{key: _STEP_KINDS[key].read(entry) for key, entry in entries.items()})

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "minItems": 1, "items": {"type": "object"}}

    def show(self, value: Any) -> str:
        return ", ".join(step.name for step in value)


def stream_problem(steps: tuple[Step, ...]) -> tuple[str, str] | None:
    """What was found and what is allowed, where steps cannot stream to each other as they say."""
    reads, writes_first = False, False
    for step in steps:
        writes_first = step.stream and not reads
        if step.each == "chunk" and not reads:
            return f"each: chunk in {step.name}", "it in a step that reads the stream of another"
        if step.resume == "seek" and not writes_first:
            return f"resume: seek in {step.name}", "it in the first step of a stream"
        if step.cut == "lines" and step.each != "chunk":
            return f"cut: lines in {step.name}", "it together with each: chunk"
        reads = step.stream
    if reads:
        return f"stream in the last step, {steps[-1].name}", "a step after it that reads it"
    return None


@dataclass(frozen=True, slots=True)
class Environment:
    @property
    def allowed(self) -> str:
        return "a table of variables, as in {CI: 1}; PADDOCK_ is paddock's own"

    def read(self, value: Value) -> dict[str, str]:
        entries = as_table(value, self.allowed)
        if len(entries) > MOST_WORDS:
            raise Wrong(f"{len(entries):,} variables", f"{MOST_WORDS:,} at most")
        for name in entries:
            if not _VARIABLE.fullmatch(name) or name.upper().startswith("PADDOCK_"):
                raise Wrong(f"the variable {quoted(name)}", self.allowed)
        return {name: _secret(name, each, self.allowed) for name, each in entries.items()}

    def schema(self) -> dict[str, Any]:
        return {"type": "object"}

    def show(self, value: Any) -> str:
        return ", ".join(value)


@dataclass(frozen=True, slots=True)
class Time(Duration):
    """As `Duration`, with a longest time that nobody has to divide by 86,400 to understand."""

    @property
    def allowed(self) -> str:
        least, most = compact_time(self.least_s), compact_time(self.most_s)
        return f"a time from {least} to {most}, as in 90, 90s or 15m"


def compact_time(seconds: float) -> str:
    """Exactly, as it would be written, in the largest unit that allows it: `366d`, `15m`, `90s`."""
    for unit_s, letter in ((DAY_S, "d"), (HOUR_S, "h"), (MINUTE_S, "m")):
        if seconds >= unit_s and seconds % unit_s == 0:
            return f"{seconds / unit_s:.0f}{letter}"
    return f"{seconds:.3f}".rstrip("0").rstrip(".") + "s"


def _word(value: Value, allowed: str) -> str:
    if not isinstance(value, Scalar):
        raise Wrong(f"{describe(value)} in it", allowed, at=value.at)
    if "\0" in value.text or len(value.text.encode()) > LONGEST_WORD:
        raise Wrong(
            f"{quoted(value.text)} in it", f"{allowed}; each {LONGEST_WORD:,} bytes at most"
        )
    return value.text


def _secret(name: str, value: Value, allowed: str) -> str:
    """A variable's value is never part of a message."""
    if not isinstance(value, Scalar):
        raise Wrong(f"{describe(value)} for {name}", allowed, at=value.at)
    if "\0" in value.text or len(value.text.encode()) > LONGEST_WORD:
        raise Wrong(f"a value for {name} that no process can get", allowed, at=value.at)
    return value.text


_STEP_KINDS: Final[Mapping[str, Kind[Any]]] = {
    "name": Name(),
    "command": Command(),
    "stream": Flag(),
    "each": Choice(("stream", "chunk")),
    "cut": Choice(("bytes", "lines")),
    "resume": Choice(("replay", "seek")),
}
_SHORT: Final = Text(200)
_PATH: Final = Text(LONGEST_PATH)
RUN_KINDS: Final[Mapping[str, Kind[Any]]] = {
    "name": Name(),
    "command": Command(),
    "agent": Name(),
    "prompt": Text(1_000_000, lines=True),
    "steps": Steps(),
    "resume": Command(),
    "priority": Choice(PRIORITIES),
    "memory": AGENT_SIZE,
    "memory_high": SizeOrShare(AGENT_SIZE),
    "cpu": OrWord("unlimited", CPUS),
    "pids": PIDS,
    "timeout": OrWord("none", Time(1, LONGEST_TIMEOUT_S)),
    "soft_timeout": Time(1, LONGEST_TIMEOUT_S),
    "complexity": Choice(COMPLEXITIES),
    "dir": _PATH,
    "repo": Repository(LONGEST_PATH),
    "branch": _SHORT,
    "shallow": Flag(),
    "sparse": Directories(),
    "submodules": Flag(),
    "any_size": Flag(),
    "ready_marker": _SHORT,
    "role": Name(),
    "model": _SHORT,
    "group": _SHORT,
    "needs": Names(),
    "retries": Whole(0, 100),
    "env": Environment(),
    "on_end": _PATH,
    "driver": DRIVER,
    "performance_profile": Name(),
    "strict": Flag(),
}
EVERY: Final = Time(SHORTEST_S, LONGEST_TIMEOUT_S)
NOT_IN_DEFAULTS: Final = ("name", "needs")
# A heartbeat is low, has no needs, and is not tried again: the next beat is its retry.
NOT_IN_HEARTBEATS: Final = ("priority", "needs", "retries", "steps", "resume", "ready_marker")
# These say something about the repository: without one they are a mistake.
OF_REPO: Final = ("branch", "shallow", "sparse", "submodules", "ready_marker")
