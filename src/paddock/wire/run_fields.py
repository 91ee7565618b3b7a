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
    as_table,
)
from paddock.config.located import Scalar, Value, describe
from paddock.config.mistakes import quoted
from paddock.config.settings import AGENT_SIZE, CPUS, DRIVER, PIDS
from paddock.core.heartbeat import SHORTEST_S
from paddock.core.units import DAY_S, HOUR_S, MINUTE_S

from .run_words import (
    LONGEST_PATH,
    LONGEST_PROMPT,
    LONGEST_WORD,
    MOST_WORDS,
    Arguments,
    Command,
    Directories,
    Name,
    Names,
    Repository,
    Text,
)
from .step_fields import Steps

LONGEST_TIMEOUT_S: Final = 366 * DAY_S
PRIORITIES: Final = ("critical", "high", "normal", "low")
COMPLEXITIES: Final = ("simple", "medium", "complex")

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


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


def _secret(name: str, value: Value, allowed: str) -> str:
    """A variable's value is never part of a message."""
    if not isinstance(value, Scalar):
        raise Wrong(f"{describe(value)} for {name}", allowed, at=value.at)
    if "\0" in value.text or len(value.text.encode()) > LONGEST_WORD:
        raise Wrong(f"a value for {name} that no process can get", allowed, at=value.at)
    return value.text


_SHORT: Final = Text(200)
_PATH: Final = Text(LONGEST_PATH)
RUN_KINDS: Final[Mapping[str, Kind[Any]]] = {
    "name": Name(),
    "command": Command(),
    "agent": Name(),
    "prompt": Text(LONGEST_PROMPT, lines=True),
    "prompt_file": _PATH,
    "arguments": Arguments(),
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
