"""From the runs that somebody wants to rehearse to the runs that are submitted.

Only the program differs: it is a script of ours, by its path, that calls `stage`. What paddock does
with a preset (its command, its resume form, its signs) stays as it is. And that path leads nowhere
else once the rehearsal's directory is gone: a retry of the run, which the daemon refuses, could
not run the real one with the user's account.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final

from msgspec.structs import replace

from paddock.config.preset import Preset, how_to_get
from paddock.wire.run_request import RunRequest

from .costumes import COSTUMES
from .script import Script, Scripts, to_json

ROLE: Final = "rehearsal"
_LONGEST_ROLE: Final = 64
_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
_SHIM: Final = """\
#!/bin/sh
# Made by paddock rehearse: the program comes after it, in a network of its own.
exec {python} -P -m paddock.rehearsal.stage {place} {agent} -- {program} "$@"
"""


class CannotRehearse(Exception):
    """Why, in one line; `missing` says that a program is not installed."""

    def __init__(self, text: str, *, missing: bool = False) -> None:
        super().__init__(text)
        self.missing = missing


@dataclass(frozen=True, slots=True)
class Part:
    """A rehearsed run, or step of one: where its things are, and what its model asks for."""

    place: Path
    agent: str
    script: Script

    @property
    def ledger(self) -> Path:
        return self.place / "ledger"


def put_on(
    request: RunRequest, *, presets: Mapping[str, Preset], scripts: Scripts, top: Path
) -> tuple[RunRequest, list[Part]]:
    """The run as it is to be submitted; no parts: nothing of it has an agent.

    CannotRehearse is raised before anything is written for this run.
    """
    cast = _Cast(request, presets)
    names = [request.agent, *(step.agent for step in request.steps)]
    found = {name: cast.member(name) for name in names if name is not None}
    if not any(found.values()):
        return request, []
    if request.driver not in (None, "auto", "local"):
        raise CannotRehearse(
            f"{request.name}: found the driver {request.driver}; allowed in a rehearsal: local"
        )
    parts: list[Part] = []

    def program(agent: str | None, name: str) -> str | None:
        member = None if agent is None else found[agent]
        if member is None:
            return None
        parts.append(_make(member, top / name, scripts.of(name, request.name)))
        return str(parts[-1].place / "bin" / member.costume)

    as_root = [member.preset.as_root for member in found.values() if member and os.getuid() == 0]
    made = replace(
        request,
        program=program(request.agent, request.name),
        steps=tuple(
            replace(step, program=program(step.agent, f"{request.name}.{step.name}"))
            for step in request.steps
        ),
        env={**request.env, **{name: each[name] for each in as_root for name in each}},
        model=None,  # there is one, whatever it is called
        driver="local",
        role=_own_role(request),
        group=None if request.group is None else f"{ROLE}-{request.group}",
    )
    return made, parts


@dataclass(frozen=True, slots=True)
class _Member:
    """An agent of a run: its preset, what it dresses as, and where the real program is."""

    preset: Preset
    costume: str
    program: str
    keep: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Cast:
    request: RunRequest
    presets: Mapping[str, Preset]

    def member(self, name: str) -> _Member | None:
        """None for `plain`, which is a command like any other."""
        preset = self.presets.get(name)
        if preset is None:
            raise CannotRehearse(
                f"{self.request.name}: there is no preset {name[:40]!r}; "
                f"allowed in a rehearsal: {', '.join(rehearsable(self.presets))}"
            )
        if preset.start[:1] == ("{arguments}",):
            return None
        costume = _costume(preset)
        path = self.request.env.get("PATH") or os.environ.get("PATH") or os.defpath
        program = _found(preset, path)
        return _Member(preset, costume, program, _kept(self.request, preset))


def rehearsable(presets: Mapping[str, Preset]) -> list[str]:
    return sorted(name for name, preset in presets.items() if _program(preset) in COSTUMES)


def _costume(preset: Preset) -> str:
    program = _program(preset)
    if program not in COSTUMES:
        known = ", ".join(COSTUMES)
        raise CannotRehearse(
            f"the preset {preset.name} runs {preset.start[0]!r}, which has no stand-in; "
            f"allowed: presets that run {known}"
        )
    return program


def _program(preset: Preset) -> str:
    return PurePath(preset.start[0]).name if preset.start else ""


def _found(preset: Preset, path: str) -> str:
    program = shutil.which(preset.program, path=path)
    if program is None:
        raise CannotRehearse(how_to_get(preset), missing=True)
    return str(Path(program).absolute())


def _kept(request: RunRequest, preset: Preset) -> tuple[str, ...]:
    """Variables that were asked for by name go along, unless they sound like a secret."""
    named = {*request.env, *preset.env} - {"HOME"}
    return tuple(sorted(name for name in named if not _SECRET.search(name)))


def _own_role(request: RunRequest) -> str:
    """A group of its own: what a rehearsal shows of memory and failures says nothing of the real
    thing."""
    return f"{ROLE}-{request.role}"[:_LONGEST_ROLE] if request.role else ROLE


def _make(member: _Member, place: Path, script: Script) -> Part:
    (place / "bin").mkdir(parents=True, mode=0o700)
    (place / "home").mkdir(mode=0o700)
    (place / "script.json").write_text(to_json(script), encoding="utf-8")
    (place / "keep").write_text("\n".join(member.keep), encoding="utf-8")
    words = {"place": str(place), "agent": member.costume, "program": member.program}
    words = {name: shlex.quote(word) for name, word in words.items()}
    shim = place / "bin" / member.costume
    shim.write_text(_SHIM.format(python=shlex.quote(sys.executable), **words), encoding="utf-8")
    shim.chmod(0o700)
    return Part(place, member.costume, script)
