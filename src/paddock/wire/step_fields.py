"""The steps of a run in a fleet file: how each is read, and which cannot stand together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from paddock.config.kinds import Choice, Flag, Kind, Wrong, as_items, as_table
from paddock.config.located import Value, describe
from paddock.config.mistakes import nearest, quoted

from .run_request import Step
from .run_words import LONGEST_PROMPT, Arguments, Command, Name, Text

MOST_STEPS: Final = 1000


@dataclass(frozen=True, slots=True)
class Steps:
    @property
    def allowed(self) -> str:
        return (
            "a list of {name: unit, command: [pytest, -q]} or {name: fix, agent: claude, "
            "prompt: …}, with stream, each, cut or resume"
        )

    def read(self, value: Value) -> tuple[Step, ...]:
        items = as_items(value, self.allowed)
        if not items or len(items) > MOST_STEPS:
            raise Wrong(describe(value), f"{self.allowed}, 1 to {MOST_STEPS}")
        steps = self._all(items)
        names = [step.name for step in steps]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise Wrong(f"two steps called {twice!r}", "a name of its own for each step")
        problem = stream_problem(steps)
        if problem is not None:
            raise Wrong(*problem)
        return steps

    def _all(self, items: tuple[Value, ...]) -> tuple[Step, ...]:
        """Every mistake at once."""
        steps, wrongs = [], []
        for item in items:
            try:
                steps.append(self._step(item))
            except Wrong as wrong:
                wrong.at = wrong.at or item.at
                wrongs.append(wrong)
        if wrongs:
            wrongs[0].also = tuple(wrongs[1:])
            raise wrongs[0]
        return tuple(steps)

    def _step(self, value: Value) -> Step:
        entries = as_table(value, self.allowed)
        for key in entries:
            if key not in _STEP_KINDS:
                near = nearest(key, tuple(_STEP_KINDS))
                found = f"an unknown key {quoted(key)} in a step"
                raise Wrong(found, self.allowed, near=near, at=value.at)
        step = Step(**{"name": "", **{k: _STEP_KINDS[k].read(e) for k, e in entries.items()}})
        problem = step_problem(step)
        if problem is not None:
            raise Wrong(problem, self.allowed, at=value.at)
        return step

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "minItems": 1, "items": {"type": "object"}}

    def show(self, value: Any) -> str:
        return ", ".join(step.name for step in value)


def step_problem(step: Step) -> str | None:
    """What was found that is no step."""
    if not step.name or not (step.command or step.agent):
        return "a step without a name, or without a command or an agent"
    if step.command and step.agent:
        return f"command and agent in {step.name}"
    if (step.agent is None) != (step.prompt is None):
        return f"an agent without a prompt, or a prompt without an agent, in {step.name}"
    if step.arguments and step.agent is None:
        return f"arguments without an agent in {step.name}"
    if step.agent is not None and (step.stream or step.each == "chunk"):
        return f"an agent that streams in {step.name}"
    return None


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
        if reads and step.agent is not None:
            return f"an agent that reads a stream, {step.name}", "a command there"
        reads = step.stream
    if reads:
        return f"stream in the last step, {steps[-1].name}", "a step after it that reads it"
    return None


_STEP_KINDS: Final[Mapping[str, Kind[Any]]] = {
    "name": Name(),
    "command": Command(),
    "agent": Name(),
    "prompt": Text(LONGEST_PROMPT, lines=True),
    "arguments": Arguments(),
    "stream": Flag(),
    "each": Choice(("stream", "chunk")),
    "cut": Choice(("bytes", "lines")),
    "resume": Choice(("replay", "seek")),
}
