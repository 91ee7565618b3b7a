"""What local attempts are called: their marks, their files, and the environment they get."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from paddock.core.run import Attempt, Priority
from paddock.drivers.attempts import Signs, attempt_of, environment_of, name_of, note_in, unsafe
from paddock.drivers.local.keeper.protocol import MAX_ID_LENGTH
from paddock.drivers.local.life import Life
from paddock.ports import Launch

FIFO: Final = "fifo"
# From a run's labels and PATH: a directory to put in front of it, with shims for walled commands.
Tools = Callable[[Mapping[str, str], str], str | None]

log = logging.getLogger("paddock.local")


class Names:
    """Paths as text: they are made a dozen times for each attempt."""

    def __init__(
        self, output: Path, live: Path, instance: str, tools: Tools = lambda _, __: None
    ) -> None:
        self._tools = tools
        self._output = output
        self._live = live
        self.instance = instance

    def mark(self, attempt: Attempt) -> str:
        """Differs between all paddocks of a user: the mark decides who is killed."""
        return f"{self.instance}.{name_of(attempt)}"

    def is_ours(self, mark: str) -> bool:
        return mark.startswith(f"{self.instance}.")

    def problem(self, attempt: Attempt) -> str | None:
        """Why no directory can have this run's name."""
        problem = unsafe(attempt.run)
        if problem is not None:
            return problem
        if len(self.mark(attempt)) > MAX_ID_LENGTH:
            return f"the run's id {attempt.run[:20]!r}… is too long"
        return None

    def fifo(self, attempt: Attempt) -> str:
        return self._file(attempt, FIFO)

    def is_begun(self, attempt: Attempt) -> bool:
        """The FIFO is made before the agent: without it nothing was."""
        return os.access(self.fifo(attempt), os.F_OK)

    def segment(self, attempt: Attempt) -> str:
        """As `logs.output` reads it. Its directory comes with the first byte."""
        return f"{self._output}/{attempt.run}/{attempt.number}.log"

    def facts(self, attempt: Attempt) -> str:
        return self._file(attempt, "facts")

    def killed(self, attempt: Attempt) -> str:
        """Where a rescue says that it killed it, and why."""
        return self._file(attempt, "killed")

    def keep_facts(self, lives: Iterable[Life]) -> None:
        """For rescues, at the first look: whoever ends before that needs none."""
        for life in lives:
            if life.facts is not None:
                self._keep_facts(life, life.facts)

    def _keep_facts(self, life: Life, facts: Callable[[], str]) -> None:
        text, life.facts, life.has_facts = facts(), None, True
        try:
            self._live.mkdir(mode=0o700, exist_ok=True)  # somebody may have removed it
            keep(self.facts(life.attempt), text)
        except OSError as error:
            log.warning("a rescue will not know the name of %s: %s", life.attempt.run, error)

    def keep_priority(self, life: Life, priority: Priority) -> None:
        """In the same file. A rescue reads it meanwhile, so it is there whole at any time."""
        self.keep_facts([life])
        path = self.facts(life.attempt)
        try:
            facts = json.loads(note_in(path))
            if facts["priority"] != int(priority):
                keep(f"{path}.new", json.dumps({**facts, "priority": int(priority)}))
                os.replace(f"{path}.new", path)  # noqa: PTH105
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            log.warning("a rescue goes by the old priority of %s: %s", life.attempt.run, error)

    def signs(self, attempt: Attempt) -> Signs:
        return Signs(
            self._file(attempt, "soft-timeout"),
            self._file(attempt, "checkpoint-request"),
            self._file(attempt, "checkpoint-written"),
        )

    def signs_of(self, life: Life) -> Signs:
        return self.signs(life.attempt)

    def _file(self, attempt: Attempt, kind: str) -> str:
        """There only until it is forgotten: in one directory, where what is left is soon found."""
        return f"{self._live}/{name_of(attempt)}.{kind}"

    def left_fifos(self) -> dict[Attempt, Path]:
        """Every FIFO there is. It is made before its agent and goes when the attempt is forgotten:
        one that nobody knows any more is of an attempt that was begun, and whose keeper died."""
        paths = {attempt_of(path.stem): path for path in self._live.glob(f"*.{FIFO}")}
        return {attempt: path for attempt, path in paths.items() if attempt is not None}

    def environment(self, launch: Launch) -> dict[str, str]:
        given = environment_of(launch, self.mark(launch.attempt), self.signs(launch.attempt))
        shims = self._tools(launch.labels, given.get("PATH", os.defpath))
        if shims is not None:
            given["PATH"] = f"{shims}{os.pathsep}{given.get('PATH', os.defpath)}"
        return given


def keep(path: str, text: str) -> None:
    """A small file of ours, new. In a pipe that an agent laid there nobody waits."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    file = os.open(path, flags, 0o600)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def attempt_in(mark: str) -> Attempt | None:
    """Of any paddock's mark: who it is about."""
    return attempt_of(mark.partition(".")[2])
