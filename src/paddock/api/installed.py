"""Whether programs are on this host. Looks at files: not in the loop's thread."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from paddock.config.preset import Preset, how_to_get
from paddock.ports import Recipe
from paddock.supervisor.loop import Supervisor
from paddock.wire.run_request import RunRequest, Step
from paddock.wire.views import Submit

from .defaults import Given
from .presets import uses_preset
from .problems import not_installed
from .recipes import driver_of, outside_environment

KNOWN_S: Final = 60.0
MOST_KNOWN: Final = 256


def check_presets(
    supervisor: Supervisor,
    body: Submit,
    every: Sequence[RunRequest],
    given: Mapping[str | None, Given],
) -> None:
    """Of those that run on this host; a container has its own."""
    environment = outside_environment(body.environment)
    for profile, one in given.items():
        of = [each for each in every if each.performance_profile == profile and uses_preset(each)]
        usual, known = one.run.driver, (supervisor.default_driver, supervisor.drivers)
        local = [each for each in of if driver_of(each, usual, *known) == "local"]
        check_installed(local, one.presets(), environment)


def check_installed(
    requests: Sequence[RunRequest],
    presets: Mapping[str, Preset],
    environment: Mapping[str, str],
) -> None:
    """Of runs with the local driver: in a container are programs of its own."""
    there: set[tuple[str, str]] = set()  # a fleet has one program, and a thousand runs
    for request in requests:
        for preset in _used(request, presets):
            path = _path_of(request, preset, environment)
            one = (preset.program, path)
            if one not in there and _is_missing(*one):
                raise not_installed(f"{request.name}: {how_to_get(preset)}")
            there.add(one)


def _used(request: RunRequest, presets: Mapping[str, Preset]) -> Iterator[Preset]:
    """Without those that do not exist, which is told elsewhere."""
    every: tuple[RunRequest | Step, ...] = (request, *request.steps)
    for asked in every:
        found = None if asked.agent is None else presets.get(asked.agent)
        # One that is named by the request was looked up by whoever named it.
        if found is not None and asked.program is None and found.program:
            yield found


def _path_of(request: RunRequest, preset: Preset, environment: Mapping[str, str]) -> str:
    return {"PATH": os.defpath, **environment, **preset.env, **request.env}["PATH"]


def _is_missing(program: str, path: str) -> bool:
    """What is relative may be in a workspace that is not made yet: then nobody knows."""
    places = [program] if "/" in program else path.split(os.pathsep)
    if not all(place.startswith("/") for place in places):
        return False
    return shutil.which(program, path=path) is None


# -- of plain commands --------------------------------------------------------------------------


class Sender(Protocol):
    """A submission, or what is left of one."""

    @property
    def directory(self) -> str | Path: ...

    @property
    def environment(self) -> Mapping[str, str]: ...


class _Sought(NamedTuple):
    program: str
    path: str
    directory: str

    def is_there(self) -> bool:
        """As the run will look for it: from its directory, by its PATH."""
        if "/" in self.program:
            places, program = None, os.path.join(self.directory, self.program)  # noqa: PTH118
        else:
            each = (os.path.join(self.directory, one) for one in self.path.split(os.pathsep))  # noqa: PTH118
            places, program = os.pathsep.join(each), self.program
        return shutil.which(program, path=places) is not None


class Programs:
    """Which of them were there when somebody looked, so that nobody is stopped for a typo."""

    def __init__(self) -> None:
        self._there: dict[_Sought, tuple[bool, float]] = {}

    def are_there(self, body: Submit) -> bool:
        """Whether all were seen of late; what nobody looked for may be there or not."""
        now = time.monotonic()
        for sought in _of(body):
            there, until = self._there.get(sought, (False, 0.0))
            if not there or until < now:
                return False
        return True

    def look_for(self, body: Submit) -> None:
        """In a thread: files may be slow."""
        if len(self._there) >= MOST_KNOWN:
            self._there.clear()
        until = time.monotonic() + KNOWN_S
        for sought in set(_of(body)):
            self._there[sought] = sought.is_there(), until

    def is_missing(self, request: RunRequest, of: Sender) -> bool:
        """As far as was seen."""
        sought = _sought(request, of)
        return sought is not None and not self._there.get(sought, (True, 0.0))[0]


def is_still_missing(recipe: Recipe, environment: Mapping[str, str]) -> bool:
    """Of a run that is tried once more. In a thread, likewise."""
    path = environment.get("PATH")
    if path is None:
        return False
    return not _Sought(recipe.command[0], path, str(recipe.directory)).is_there()


def _of(body: Submit) -> Iterator[_Sought]:
    return (sought for each in body.runs if (sought := _sought(each, body)) is not None)


def _sought(request: RunRequest, of: Sender) -> _Sought | None:
    """None: another run, a workspace or a preset may bring it along, or nobody knows its PATH."""
    path = request.env.get("PATH", of.environment.get("PATH"))
    others = (request.agent, request.steps, request.needs, request.repo)
    if not request.command or path is None or any(others):
        return None
    return _Sought(request.command[0], path, request.dir or str(Path(of.directory)))
