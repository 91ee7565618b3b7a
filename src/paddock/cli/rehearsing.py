"""One rehearsal from its preparation to its clearing up: its directory, its runs, what it told."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn, Self

import msgspec

from .exits import CommandError, ExitCode
from .here import settings_here

if TYPE_CHECKING:
    from paddock.client import Client
    from paddock.config.preset_reading import Presets
    from paddock.rehearsal.putting_on import CannotRehearse, Part
    from paddock.rehearsal.script import Scripts
    from paddock.rehearsal.summary import Played
    from paddock.wire.run_request import RunRequest
    from paddock.wire.views import RunView, Submit

_RUNS: Final = "runs"  # ids, a line each: for as long as one of them lives, its things stay
_LOOK_S: Final = 30
_ABOUT_TO_S: Final = 24 * 3600.0


class Rehearsal:
    """Its directory goes with it, unless a run of it still lives."""

    def __init__(self, scripts: Scripts, *, state: Path) -> None:
        self._scripts = scripts
        self._all = state / "rehearsals"
        self._top = self._all / os.urandom(4).hex()
        self._ended: set[str] = set()
        self._ids: list[str] = []
        self.parts: dict[str, list[Part]] = {}  # by the run's name

    def __enter__(self) -> Self:
        # Perhaps before there is a daemon, which wants to find its directory closed to others.
        for place in (self._all.parent, self._all, self._top):
            place.mkdir(parents=True, mode=0o700, exist_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._ended >= set(self._ids):
            shutil.rmtree(self._top, ignore_errors=True)

    @cached_property
    def _presets(self) -> Presets:
        return settings_here().presets

    def put_on(self, requests: Sequence[RunRequest]) -> list[RunRequest]:
        """As they are to be submitted; those without an agent stay as they are."""
        from paddock.rehearsal.putting_on import CannotRehearse, put_on

        found = []
        for request in requests:
            try:
                made, parts = put_on(
                    request, presets=self._presets, scripts=self._scripts, top=self._top
                )
            except CannotRehearse as error:
                refuse(error)
            found.append(made)
            if parts:
                self.parts[request.name] = parts
        return found

    def nothing_in(self, requests: Sequence[RunRequest]) -> str:
        """Why none of these is rehearsed."""
        from paddock.rehearsal.putting_on import rehearsable

        agents = {agent for run in requests for agent in _agents_of(run) if agent is not None}
        if not agents:
            return "none of these runs has an agent"
        allowed = ", ".join(rehearsable(self._presets))
        return f"{', '.join(sorted(agents))} has no model to stand in for; allowed: {allowed}"

    def unknown_scripts(self) -> list[str]:
        """Scripts of runs and steps that are not there."""
        return [name for name in self._scripts.of_runs if name not in self.names()]

    def names(self) -> list[str]:
        """What a script may be for."""
        steps = [part.place.name for parts in self.parts.values() for part in parts]
        return list(dict.fromkeys([*self.parts, *steps]))

    def submitted(self, ids: Sequence[str]) -> None:
        self._ids = list(ids)
        (self._top / _RUNS).write_text("\n".join(ids), encoding="utf-8")

    def ended(self, runs: Sequence[RunView]) -> None:
        self._ended |= {run.id for run in runs if run.state == "ended"}

    def played(self, name: str) -> Played:
        from paddock.rehearsal.summary import played, sum_of

        return sum_of([played(part.script, part.ledger) for part in self.parts[name]])

    def clear_earlier(self, client: Client) -> None:
        """Those whose command was killed, once nothing of theirs lives any more."""
        for place in self._all.iterdir():
            if place != self._top and not self._is_wanted(place, client):
                shutil.rmtree(place, ignore_errors=True)

    def _is_wanted(self, place: Path, client: Client) -> bool:
        try:
            ids = (place / _RUNS).read_text(encoding="utf-8").split()
        except FileNotFoundError:  # another command may be about to submit
            return time.time() - place.stat().st_mtime < _ABOUT_TO_S
        return any(_lives(client, run) for run in ids)


def refuse(error: CannotRehearse) -> NoReturn:
    code = ExitCode.NO_SUCH_COMMAND if error.missing else ExitCode.BAD_USAGE
    raise CommandError(str(error), code) from error


def without_the_users(order: Submit) -> Submit:
    """A single rehearsal takes nothing of the user's environment into the store either."""
    from paddock.rehearsal.stage import clean

    return msgspec.structs.replace(order, environment=clean(order.environment, keep=set()))


def check_network() -> None:
    """In a process of its own, because there is no way back out of a namespace."""
    command = [sys.executable, "-P", "-m", "paddock.rehearsal.namespace"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_LOOK_S, check=False)
    if done.returncode:
        reason = done.stderr.strip().splitlines() or ["no network namespace here"]
        raise CommandError(reason[-1], ExitCode.PADDOCK_FAILED)


def _lives(client: Client, run: str) -> bool:
    from paddock.client.errors import NotFound

    try:
        return client.wait((run,), timeout_s=0.0)[0].state != "ended"
    except NotFound:
        return False


def _agents_of(run: RunRequest) -> tuple[str | None, ...]:
    return (run.agent, *(step.agent for step in run.steps))
