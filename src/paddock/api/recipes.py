"""From a request to a recipe: command, directory, environment, labels. Decides nothing."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec

from paddock.config.layers import PROFILE_VARIABLE
from paddock.config.places import STATE_VARIABLE, Places
from paddock.config.policy import RunDefaults
from paddock.logs.keeping import LOGS_LABEL, logs_label
from paddock.ports import Driver, Recipe
from paddock.supervisor.sessions import AGENT_LABEL, Agent, agent_label
from paddock.supervisor.stepping import RESUME_LABEL, STEPS_LABEL, Part, resume_label, steps_label
from paddock.wire.run_request import RunRequest, Step, memory_high_bytes, stages
from paddock.wire.views import Submit

from .in_clusters import IN_CLUSTERS
from .presets import OF_THE_RUN
from .problems import Declined, bad_request, refused
from .repositories import labels_of, variables_of

TOKEN: Final = re.compile(r"[a-z0-9]{16,64}")
KEY_LABEL: Final = "key"
FLEET_LABEL: Final = "fleet"
WHILE_LABEL: Final = "while"
DRIVER_LABEL: Final = "driver"
HIGH_LABEL: Final = "memory_high"  # in bytes
REHEARSAL_LABEL: Final = "rehearsal"  # its program is a stand-in's, and goes with the rehearsal
TOOLS_LABEL: Final = "tools"  # commands with walls of their own: [share, walls], as JSON
LONGEST_PATH: Final = 4096
NOBODY: Final[Mapping[str, str]] = {}
NO_AGENTS: Final[Mapping[str, Agent]] = {}
# What marks the agent that submits must not mark what it submits; these two only say where
# paddock is and how it is to be used, and an agent may submit, too.
_KEPT: Final = (STATE_VARIABLE, PROFILE_VARIABLE)


@dataclass(frozen=True, slots=True)
class Sent:
    """What all recipes of a submission share."""

    key: str
    environment: Mapping[str, str]
    directory: Path
    stdin: Path | None
    fleet: str | None
    umask: int | None


_path: Final = lru_cache(256)(Path)  # most come from where the last one came from


def sent(body: Submit, stdin: Path | None) -> Sent:
    directory = _path(body.directory)
    clean = outside_environment(body.environment)
    return Sent(body.key, clean, directory, stdin, body.fleet, body.umask)


def outside_environment(variables: Mapping[str, str]) -> Mapping[str, str]:
    if "PADDOCK_" not in "\0".join(variables):
        return variables
    return {
        name: value
        for name, value in variables.items()
        if not name.startswith("PADDOCK_") or name in _KEPT
    }


def environment_again(recipe: Recipe, said: Mapping[str, str]) -> Mapping[str, str]:
    """Of who asks for it once more; in a cluster, where that means nothing, of the run itself."""
    if recipe.labels.get(DRIVER_LABEL) == IN_CLUSTERS:
        return recipe.environment or {}
    return outside_environment(said)


def recipe_of(
    request: RunRequest,
    of: Sent,
    defaults: RunDefaults,
    *,
    driver: str,
    agents: Mapping[str, Agent] = NO_AGENTS,
) -> Recipe:
    # Runs without variables of their own share one table: ten thousand copies would be 50 MB.
    own = {**request.env, **variables_of(request)} if request.repo else request.env
    environment = {**of.environment, **own} if own else of.environment
    labels = _labels(request, of, defaults) | _work(request, agents) | {DRIVER_LABEL: driver}
    if driver == IN_CLUSTERS:  # where the submitter's environment means nothing
        environment = own
        labels |= {"complexity": request.complexity} if request.complexity else {}
    return Recipe(
        command=request.command or request.steps[0].command,
        directory=of.directory if request.dir is None else _path(request.dir),
        environment=environment,
        stdin=of.stdin if request.stdin else None,
        labels=labels,
    )


def _labels(request: RunRequest, of: Sent, defaults: RunDefaults) -> dict[str, str]:
    cpu = defaults.cpu_limit if request.cpu is None else request.cpu
    found = {
        KEY_LABEL: of.key,
        "cpu": "unlimited" if cpu is None else str(cpu),
        "pids": str(request.pids or defaults.pids_limit),
        HIGH_LABEL: str(memory_high_bytes(request, defaults)),
        LOGS_LABEL: logs_label(
            defaults.log_buffer_bytes,
            defaults.log_rotation_bytes,
            files=defaults.log_files_kept,
            full=defaults.full_log,
        ),
    }
    if defaults.image is not None:
        found["image"] = defaults.image
    if defaults.tool_walls:
        found[TOOLS_LABEL] = _tools(defaults)
    said = {
        "umask": None if of.umask is None else f"{of.umask:03o}",
        FLEET_LABEL: of.fleet,
        "on_end": request.on_end,
        "ready_marker": request.ready_marker,
        "role": request.role,
        "model": request.model,
        "strict": "1" if request.strict else None,
    }
    found |= {name: value for name, value in said.items() if value is not None}
    if request.repo:
        found |= labels_of(request, max_bytes=defaults.max_repo_bytes)
    return found


def _work(request: RunRequest, agents: Mapping[str, Agent]) -> dict[str, str]:
    """What each attempt is to do, beside the command."""
    found = {}
    if request.steps:
        every = stages(request.steps)
        found[STEPS_LABEL] = steps_label([_parts(stage, agents) for stage in every])
    if request.resume:
        found[RESUME_LABEL] = resume_label(request.resume)
    if request.agent is not None:
        found[AGENT_LABEL] = agent_label(agents[OF_THE_RUN])
    if request.program is not None or any(one.program is not None for one in request.steps):
        found[REHEARSAL_LABEL] = "1"
    return found


def _parts(stage: tuple[Step, ...], agents: Mapping[str, Agent]) -> list[Part]:
    return [
        Part(one.name, one.command, one.each, one.cut, one.resume, agents.get(one.name))
        for one in stage
    ]


@lru_cache(64)
def _tools(defaults: RunDefaults) -> str:
    return msgspec.json.encode([defaults.tool_share, defaults.tool_walls]).decode()


def not_held(requests: Sequence[RunRequest], driver: Driver) -> str | None:
    """What was asked for, is kept for the day there are walls, and holds nobody today."""
    guarantees = driver.guarantees
    if guarantees.hard_memory_wall and not guarantees.unheld:
        return None
    said = {
        "cpu": any(one.cpu not in (None, "unlimited") for one in requests),
        "pids": any(one.pids is not None for one in requests),
        "memory_high": any(one.memory_high_bytes or one.memory_high_percent for one in requests),
    }
    cannot = guarantees.unheld if guarantees.hard_memory_wall else said.keys()
    names = [name for name, is_said in said.items() if is_said and name in cannot]
    if not names:
        return None
    lacks = "no such wall on this host" if guarantees.hard_memory_wall else "no walls"
    return f"{' and '.join(names)} will not be held: the driver {guarantees.name} has {lacks}"


def driver_of(
    request: RunRequest,
    usual: str,
    default: str,
    known: Collection[str],
    absent: Mapping[str, str] = NOBODY,
) -> str:
    """`absent`: what is to be done about a driver that is not there."""
    asked = request.driver or usual
    name = default if asked == "auto" else asked
    if name not in known:
        there = " or ".join(sorted(known))
        why = absent.get(name, "is not there")
        raise bad_request(f"{request.name}: the driver {name} {why}; use {there}")
    if name != default and any(step.stream for step in request.steps):
        raise bad_request(f"{request.name}: steps stream to each other with the driver {default}")
    return name


def check_directory(text: str, *, of: str | None = None) -> None:
    """Absolute, there, a directory. May hang on a network mount, so not in the loop's thread. With
    the run's name whoever reads a file can say in which line of it the mistake is."""
    key = "dir" if of is None else f"{of}: dir"
    if not text.startswith("/") or "\0" in text or len(text) > LONGEST_PATH:
        raise bad_request(f"{key}: found {text[:60]!r}; allowed: an absolute path")
    try:
        mode = os.stat(text).st_mode  # noqa: PTH116 - quicker, and this is done for every run
    except OSError as error:
        raise bad_request(f"{key}: {text[:200]!r}: {error.strerror}") from None
    if not stat.S_ISDIR(mode):
        raise bad_request(f"{key}: {text[:200]!r} is no directory")


def stdin_of(token: str | None, places: Places) -> Path | None:
    """The file behind a token; a token is no path, whatever it looks like."""
    if token is None:
        return None
    if TOKEN.fullmatch(token) is None:
        raise bad_request("stdin: this is no token of an upload")
    path = places.stdin / token
    if not path.is_file() or path.is_symlink():
        raise bad_request("stdin: what was uploaded is no longer there; send it again")
    return path


def no_stdin_left(name: str) -> Declined:
    return refused(
        f"{name} read its input from --stdin, which is gone with its end: submit it anew"
    )
