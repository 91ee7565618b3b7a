"""From an agent and a prompt to a command: what a preset makes of a request. Starts nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from paddock.config.mistakes import nearest
from paddock.config.preset import Preset, Task, Unfit, resume_line, start_line
from paddock.core.units import format_size
from paddock.supervisor.sessions import Agent
from paddock.wire.run_request import RunRequest, Step

from .problems import bad_request

OF_THE_RUN = ""  # in the place of a step's name


@dataclass(frozen=True, slots=True)
class Filled:
    """A request whose commands are all there, and the agents behind them by the step's name."""

    request: RunRequest
    agents: Mapping[str, Agent] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def uses_preset(request: RunRequest) -> bool:
    return request.agent is not None or any(step.agent is not None for step in request.steps)


def filled(
    request: RunRequest,
    read: Callable[[], Mapping[str, Preset]],
    environment: Mapping[str, str],
    *,
    largest_bytes: int,
) -> Filled:
    """`read` gives the presets, `environment` is that of whoever submits, and `largest_bytes` the
    largest wall that fits this host."""
    if not uses_preset(request):
        return Filled(request)
    presets = read()
    agents: dict[str, Agent] = {}
    used: list[Preset] = []
    if request.agent is not None:
        preset = _named(request.agent, request, presets)
        command, agents[OF_THE_RUN] = _started(request, request, preset)
        request, used = replace(request, command=command), [preset]
    steps = []
    for step in request.steps:
        if step.agent is not None:
            preset = _named(step.agent, request, presets)
            command, agents[step.name] = _started(step, request, preset)
            step = replace(step, command=command)
            used.append(preset)
        steps.append(step)
    own = {name: value for preset in used for name, value in preset.env.items()}
    env = {**own, **request.env}
    made = replace(request, steps=tuple(steps), env=env)
    made = _with_memory(made, used, largest_bytes)
    notes = _notes(made, used, {**environment, **env})
    return Filled(made, agents, tuple(dict.fromkeys(notes)))


def _named(name: str, request: RunRequest, presets: Mapping[str, Preset]) -> Preset:
    found = presets.get(name)
    if found is not None:
        return found
    near = nearest(name, presets)
    meant = f"; did you mean {near}?" if near else ""
    raise bad_request(
        f"{request.name}: agent: there is no preset {name[:40]!r}; "
        f"there are {', '.join(sorted(presets))}{meant}"
    )


def _started(
    asked: RunRequest | Step, request: RunRequest, preset: Preset
) -> tuple[tuple[str, ...], Agent]:
    """`asked`: the run or the step whose agent it is."""
    task = Task(prompt=asked.prompt or "", model=request.model, arguments=asked.arguments)
    try:
        line, by_stdin = start_line(preset, task)
    except Unfit as error:
        raise bad_request(f"{request.name}: {error}") from None
    if by_stdin and request.stdin:
        text = "its prompt is so long that it comes as stdin, which --stdin has taken"
        raise bad_request(f"{request.name}: {text}")
    again = resume_line(preset, task)
    if asked.program is not None:
        line = line.by(asked.program)
        again = None if again is None else again.by(asked.program)
    return line.words, Agent(
        preset=preset.name,
        sessions=line.sessions,
        resume=again,
        session=preset.session,
        prompt=task.prompt if by_stdin else None,
        later=preset.later,
        lost=preset.lost,
    )


def _with_memory(request: RunRequest, used: list[Preset], largest_bytes: int) -> RunRequest:
    said = [preset.memory_bytes for preset in used if preset.memory_bytes is not None]
    if request.memory_bytes is not None or not said:
        return request
    return replace(request, memory_bytes=min(max(said), largest_bytes))


def _notes(request: RunRequest, used: list[Preset], environment: Mapping[str, str]) -> list[str]:
    found, wall = [], request.memory_bytes
    for preset in used:
        if wall is not None and preset.peak_bytes is not None and wall < preset.peak_bytes:
            seen, asked = format_size(preset.peak_bytes), format_size(wall)
            found.append(f"{preset.name} was seen to use {seen} by itself, and gets {asked}")
        wanted = preset.as_root if os.geteuid() == 0 else {}
        for name, value in wanted.items():
            if environment.get(name) != value:
                found.append(
                    f"{preset.name} may refuse to work as root unless {name}={value} is in its "
                    f"environment: say --env {name}={value} if this machine is a sandbox"
                )
    return found
