"""Which command an attempt gets: of its step, or the one that goes on after a cut (STEP-1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from paddock import stream
from paddock.core.actions import StartAttempt
from paddock.core.run import Run
from paddock.ports import Recipe
from paddock.supervisor.keepsakes import AFTER_LABEL

STEPS_LABEL: Final = "steps"  # stages of steps, as JSON
RESUME_LABEL: Final = "resume"  # the words of a command, as JSON
ORIGIN_LABEL: Final = "origin"  # the first of the runs that this one goes on with


class Part(msgspec.Struct, frozen=True):
    """One step of a stage: those of a stage live at the same time, each reading the one before."""

    name: str
    command: tuple[str, ...]
    each: str = "stream"
    cut: str = "bytes"
    resume: str = "replay"


@dataclass(frozen=True, slots=True)
class Work:
    """What an attempt is given to do, and the variables that say so."""

    command: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)


def steps_label(stages: Sequence[Sequence[Part]]) -> str:
    return msgspec.json.encode(stages).decode()


def resume_label(command: tuple[str, ...]) -> str:
    return msgspec.json.encode(command).decode()


def origin_of(run: str, labels: Mapping[str, str]) -> str:
    return labels.get(ORIGIN_LABEL, run)


def resumes(action: StartAttempt, recipe: Recipe) -> bool:
    """Whether something was begun before: by this run, or by the one that it goes on with."""
    return action.resume or (action.attempt.number == 1 and AFTER_LABEL in recipe.labels)


def work_of(action: StartAttempt, run: Run, recipe: Recipe) -> Work:
    if action.step is None:
        again = recipe.labels.get(RESUME_LABEL)
        if again is not None and resumes(action, recipe):
            return Work(msgspec.json.decode(again, type=tuple[str, ...]))
        return Work(recipe.command)
    stages = msgspec.json.decode(recipe.labels[STEPS_LABEL], type=tuple[tuple[Part, ...], ...])
    stage, names = stages[action.step], run.spec.steps
    said = {
        "PADDOCK_STEP": names[action.step],
        "PADDOCK_STEP_NUMBER": str(action.step + 1),
        "PADDOCK_STEPS": str(len(names)),
        # The same for every attempt at this step, also of a run that goes on with this one.
        "PADDOCK_STEP_KEY": f"{origin_of(run.id, recipe.labels)}/{action.step + 1}",
    }
    if action.in_doubt:
        said["PADDOCK_STEP_MAYBE_DONE"] = "1"
    if len(stage) == 1:
        return Work(stage[0].command, said)
    return Work(
        tuple(stream.command()),
        {**said, stream.STAGE: msgspec.json.encode({"steps": stage}).decode()},
    )
