"""Which session of its program a run is in: what it goes on with after a cut.

A file a run, with the session's id. A run that goes on with another takes that one's file along, so
that of two retries only one has the session. The id of a session that paddock makes comes from run
and attempt: an action that is repeated after a crash names the same one.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol
from uuid import UUID, uuid5

import msgspec
from msgspec import structs

from paddock.config.patterns import compiled
from paddock.config.preset import GIVEN, Line, Sign
from paddock.core.run import Attempt, Ended, Outcome
from paddock.ports import Launch
from paddock.supervisor.keepsakes import AFTER_LABEL
from paddock.supervisor.sweeping import Sweeper
from paddock.supervisor.thoughts import Parting
from paddock.workspaces.plain_files import read_plain

AGENT_LABEL: Final = "agent"  # see `Agent`, as JSON
LONGEST: Final = 200
HEAD_BYTES: Final = 64 << 10
LONGEST_LINE: Final = 4 << 10
_SPACE: Final = UUID("b3d9c1de-6a52-4f0e-9a1c-5f3c6f0f7a11")

log = logging.getLogger("paddock.sessions")


class Agent(msgspec.Struct, frozen=True, omit_defaults=True):
    """What of its preset an attempt needs. Lies in the recipe: a preset that is changed later
    changes no run that is there."""

    preset: str
    sessions: Mapping[int, str] = {}  # words of the command that hold the session's id
    resume: Line | None = None
    session: str | None = None
    prompt: str | None = None  # that comes as stdin
    later: tuple[Sign, ...] = ()
    lost: tuple[Sign, ...] = ()


def agent_label(agent: Agent) -> str:
    return msgspec.json.encode(agent).decode()


def agent_in(labels: Mapping[str, str]) -> Agent | None:
    found = labels.get(AGENT_LABEL)
    return None if found is None else msgspec.json.decode(found, type=Agent)


class Written(Protocol):
    """An attempt's output, its beginning and its end."""

    def head(self, attempt: Attempt, most: int) -> bytes: ...

    def last(self, attempt: Attempt, most: int) -> bytes: ...


class Sessions:
    def __init__(self, top: Path, written: Written) -> None:
        self._top = top
        self._written = written
        self._done = Sweeper(self.remove, self._path)

    def given(self, launch: Launch, agent: Agent) -> Launch:
        """With the command that begins a session, or goes on with the one that is known."""
        run, line = launch.attempt.run, agent.resume
        if launch.resume and line is not None:
            known = self._claimed(run, launch.labels.get(AFTER_LABEL))
            if known is None and launch.attempt.number > 1:
                # Nobody saw the end of the one before: the machine was restarted under it.
                known = self.find(Attempt(run, launch.attempt.number - 1), agent)
            if known is not None or not line.sessions:
                return structs.replace(launch, command=line.at(known or ""), stdin=None)
        session = ""
        if agent.session == GIVEN:
            session = session_of(launch.attempt)
            self.keep(run, session)
        elif not launch.resume:
            self._path(run).unlink(missing_ok=True)  # of the step before
        command = Line(launch.command, agent.sessions).at(session)
        stdin = launch.stdin if agent.prompt is None else self._prompt(run, agent.prompt)
        return structs.replace(launch, command=command, stdin=stdin)

    def find(self, attempt: Attempt, agent: Agent) -> str | None:
        """What the program said at its beginning, where it makes its sessions itself."""
        if agent.session in (None, GIVEN):
            return None
        pattern = compiled(agent.session or "")
        for line in lines_of(self._written.head(attempt, HEAD_BYTES)):
            said = pattern.search(line)
            if said is not None:
                session = said.get("session", "")
                return session if self.keep(attempt.run, session) else None
        return None

    def keep(self, run: str, session: str) -> bool:
        """Whole or not at all; nothing that a program could take for an option."""
        if not session.isprintable() or len(session) > LONGEST or session[:1] in ("", "-"):
            return False
        self._write(self._path(run), session)
        return True

    def _claimed(self, run: str, after: str | None) -> str | None:
        path = self._path(run)
        if after is not None and not path.exists():
            with suppress(FileNotFoundError):
                self._path(after).rename(path)
        try:
            return read_plain(path).decode(errors="replace").strip()[:LONGEST] or None
        except (FileNotFoundError, ValueError):
            return None

    def _prompt(self, run: str, prompt: str) -> Path:
        path = self._top / f"{run}.prompt"
        self._write(path, prompt)
        return path

    def _write(self, path: Path, text: str) -> None:
        self._top.mkdir(mode=0o700, parents=True, exist_ok=True)
        half = path.with_name(f".{path.name}")
        half.unlink(missing_ok=True)
        handle = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(handle, "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor has no path
            file.write(text)
        half.rename(path)

    def _path(self, run: str) -> Path:
        return self._top / f"{run}.session"

    # -- after ----------------------------------------------------------------------------

    def part(self, parting: Parting) -> None:
        state = parting.run.state
        if isinstance(state, Ended) and state.outcome is Outcome.SUCCEEDED and _is_agent(parting):
            self._done.add(parting.run.id)

    def remove(self, run: str) -> None:
        """Of a run that succeeded, or is forgotten. In a thread."""
        for path in (self._path(run), self._top / f"{run}.prompt"):
            path.unlink(missing_ok=True)

    def close(self) -> None:
        """What is left of those that succeeded goes when their runs are forgotten."""
        self._done.close()


def lines_of(data: bytes) -> list[str]:
    return [line[:LONGEST_LINE].rstrip() for line in data.decode(errors="replace").split("\n")]


def _is_agent(parting: Parting) -> bool:
    return bool(parting.run.spec.agent)


def session_of(attempt: Attempt) -> str:
    return str(uuid5(_SPACE, f"{attempt.run}/{attempt.number}"))
