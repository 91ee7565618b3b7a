"""Whether the programs of presets are on this host. Looks at files: not in the loop's thread."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence

from paddock.config.preset import Preset, how_to_get
from paddock.wire.run_request import RunRequest, Step

from .problems import not_installed


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
