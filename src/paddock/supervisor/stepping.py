"""Which command an attempt gets: of its step, or the one that goes on after a cut (STEP-1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from paddock import stream
from paddock.core.actions import StartAttempt
from paddock.core.run import Run
from paddock.core.steps import goes_on, tries
from paddock.ports import Recipe
from paddock.supervisor.keepsakes import AFTER_LABEL
from paddock.supervisor.sessions import Agent, agent_in

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
    agent: Agent | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """What an attempt is given to do, and the variables that say so."""

    command: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    agent: Agent | None = None  # its command is made of the session it is in


def steps_label(stages: Sequence[Sequence[Part]]) -> str:
    return msgspec.json.encode(stages).decode()


def resume_label(command: tuple[str, ...]) -> str:
    return msgspec.json.encode(command).decode()


def origin_of(run: str, labels: Mapping[str, str]) -> str:
    return labels.get(ORIGIN_LABEL, run)


def resumes(run: Run, recipe: Recipe) -> bool:
    """Whether something was begun before: by this run, or by the one that it goes on with."""
    if goes_on(run):
        return True
    is_first = tries(run) == 0 and run.steps_done == run.spec.first_step
    return is_first and AFTER_LABEL in recipe.labels


def stages_in(labels: Mapping[str, str]) -> tuple[tuple[Part, ...], ...]:
    return msgspec.json.decode(labels[STEPS_LABEL], type=tuple[tuple[Part, ...], ...])


def agent_at(labels: Mapping[str, str], step: int) -> Agent | None:
    """The agent of a run, or of the step that it is at. Of steps that stream to each other there
    is one output: nobody can tell whose words in it are whose, so they are nobody's."""
    if STEPS_LABEL not in labels:
        return agent_in(labels)
    stages = stages_in(labels)
    stage = stages[step] if step < len(stages) else ()
    return stage[0].agent if len(stage) == 1 else None


def _model(labels: Mapping[str, str]) -> dict[str, str]:
    return {"PADDOCK_MODEL": labels["model"]} if "model" in labels else {}


def work_of(action: StartAttempt, run: Run, recipe: Recipe) -> Work:
    if action.step is None:
        again = recipe.labels.get(RESUME_LABEL)
        if again is not None and resumes(run, recipe):
            words = msgspec.json.decode(again, type=tuple[str, ...])
            return Work(words, _model(recipe.labels))
        return Work(recipe.command, _model(recipe.labels), agent_in(recipe.labels))
    stage, names = stages_in(recipe.labels)[action.step], run.spec.steps
    said = {
        **_model(recipe.labels),
        "PADDOCK_STEP": names[action.step],
        "PADDOCK_STEP_NUMBER": str(action.step + 1),
        "PADDOCK_STEPS": str(len(names)),
        # The same for every attempt at this step, also of a run that goes on with this one.
        "PADDOCK_STEP_KEY": f"{origin_of(run.id, recipe.labels)}/{action.step + 1}",
    }
    if action.in_doubt:
        said["PADDOCK_STEP_MAYBE_DONE"] = "1"
    if len(stage) == 1:
        return Work(stage[0].command, said, stage[0].agent)
    return Work(tuple(stream.command()), {**said, stream.STAGE: _stage(stage)})


def _stage(stage: Sequence[Part]) -> str:
    """For the relay, which knows no agents and refuses what it does not know."""
    parts = [msgspec.structs.asdict(part) for part in stage]
    for part in parts:
        del part["agent"]
    return msgspec.json.encode({"steps": parts}).decode()
