"""What lies in the mailbox, what was thought and is not yet remembered, and who has parted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from paddock.core.actions import Action, Refuse
from paddock.core.events import Event
from paddock.core.run import Run
from paddock.ports import Recipe, Step
from paddock.supervisor.batch import merged


class Answer(Protocol):
    """Where an answer goes: a future, or whoever need not be woken for it."""

    def done(self) -> bool: ...

    def set_result(self, refused: Sequence[Refuse], /) -> None: ...

    def set_exception(self, error: BaseException, /) -> None: ...


@dataclass(slots=True)
class Thought:
    """One step that was thought and is not yet remembered."""

    step: Step
    actions: list[Action]
    answer: Answer | None = None
    submitted: tuple[str, ...] = ()
    refused: tuple[Refuse, ...] = ()


@dataclass(slots=True)
class Letter:
    """What lies in the mailbox: made into an event when its turn comes."""

    make: Callable[[float], Event]
    recipes: Mapping[str, Recipe] = field(default_factory=dict)
    heartbeat_recipes: Mapping[str, Recipe] = field(default_factory=dict)
    answer: Answer | None = None
    epoch: int | None = None
    boot_id: str | None = None


@dataclass(frozen=True, slots=True)
class Parting:
    """A run that has ended, with what is needed to say so: its recipe leaves the store."""

    run: Run
    recipe: Recipe | None


def reply(thought: Thought) -> None:
    if thought.answer is not None and not thought.answer.done():
        thought.answer.set_result(thought.refused)
    thought.answer = None


def merge(thoughts: list[Thought]) -> Thought:
    """A store in trouble for long: only where each run stands is kept, not how it got there."""
    starts = [action for thought in thoughts for action in thought.actions]
    return Thought(merged([thought.step for thought in thoughts]), starts)


def named(event: Event) -> str:
    about = getattr(event, "attempt", None) or getattr(event, "run", "")
    return f"{type(event).__name__} {about}" if about else type(event).__name__


def counted(actions: list[Action]) -> str:
    shown = [f"{type(a).__name__} {getattr(a, 'attempt', '')}" for a in actions[:3]]
    more = f" and {len(actions) - 3} more" if len(actions) > 3 else ""
    return ", ".join(shown) + more or "nothing"
