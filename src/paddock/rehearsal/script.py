"""What the stand-in's model does, as data: steps in order, and a last word. Does not read YAML."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Run:
    """A command that the agent is asked to run."""

    command: str


@dataclass(frozen=True, slots=True)
class Write:
    """A file that the agent is asked to write; a relative path counts from where it works."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Wait:
    """A command that takes its time."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Memory:
    """A command that holds memory for a while."""

    size_bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Say:
    """Text beside the next thing that is asked for."""

    text: str


@dataclass(frozen=True, slots=True)
class RateLimit:
    """429 with a time, until that time has come."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Fail:
    """A status of the server's, so many times."""

    status: int
    times: int


@dataclass(frozen=True, slots=True)
class Stall:
    """An answer that begins and does not go on, so many times."""

    seconds: float
    times: int


Asked = Run | Write | Wait | Memory
Answered = RateLimit | Fail | Stall
Step = Asked | Say | Answered
ASKED: Final = (Run, Write, Wait, Memory)

_KINDS: Final = {kind.__name__: kind for kind in (Run, Write, Wait, Memory, Say)} | {
    kind.__name__: kind for kind in (RateLimit, Fail, Stall)
}
LAST_WORD: Final = "All steps of the rehearsal are done."


@dataclass(frozen=True, slots=True)
class Script:
    steps: tuple[Step, ...]
    end: str = LAST_WORD

    @property
    def asked(self) -> int:
        """How many tool calls it asks for."""
        return sum(isinstance(step, ASKED) for step in self.steps)


@dataclass(frozen=True, slots=True)
class Scripts:
    """One for everybody, and those of runs, or steps as in `run.step`, that have their own."""

    usual: Script
    of_runs: dict[str, Script] = field(default_factory=dict)

    def of(self, *names: str) -> Script:
        """That of the first name that has one."""
        found = (self.of_runs[name] for name in names if name in self.of_runs)
        return next(found, self.usual)


def to_json(script: Script) -> str:
    steps = [{"kind": type(step).__name__, **asdict(step)} for step in script.steps]
    return json.dumps({"steps": steps, "end": script.end})


def from_json(text: str) -> Script:
    found: dict[str, Any] = json.loads(text)
    steps = []
    for values in found["steps"]:
        kind = _KINDS[values.pop("kind")]
        steps.append(kind(**values))
    return Script(tuple(steps), found["end"])


# Harmless wherever it is tried: nothing is written.
USUAL: Final = Script(
    (
        Say("I look around first."),
        Run("pwd; ls | head -5"),
        Wait(1.0),
        Memory(64 << 20, 1.0),
    )
)
