"""What a run keeps from one attempt to the next: a directory of its own for its checkpoints.

It goes when the run has succeeded. Of one that ended otherwise it stays until the run is forgotten:
`paddock retry` goes on with it.
"""

from __future__ import annotations

import logging
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import structs

from paddock.core.run import Attempt, Ended, Outcome
from paddock.ports import Launch
from paddock.supervisor.later import Stated, stated_in
from paddock.supervisor.sweeping import Sweeper
from paddock.supervisor.thoughts import Parting
from paddock.workspaces.in_advance import InAdvance
from paddock.workspaces.removal import delete_tree

VARIABLE: Final = "PADDOCK_CHECKPOINT_DIR"
LATER: Final = "PADDOCK_LATER"
_LATER: Final = ".later-"
AFTER_LABEL: Final = "after"  # the run that this one goes on with

log = logging.getLogger("paddock.keepsakes")


class Keepsakes:
    def __init__(self, top: Path) -> None:
        self._top = top
        self._done = Sweeper(self.remove, self._top.joinpath)
        self._in_advance = InAdvance(top)

    def given(self, launch: Launch) -> Launch:
        """With a place for its checkpoints. Raises OSError where none can be made."""
        path = self._top / launch.attempt.run
        after = launch.labels.get(AFTER_LABEL)
        try:
            is_new = launch.attempt.number == 1 and after is None
            if not (is_new and self._in_advance.take(path)):
                self._make(path, after)
        except FileNotFoundError:
            self._top.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._make(path, after)
        self._forget_stated(launch)
        later = self._later(launch.attempt)
        ours = {**launch.ours, VARIABLE: str(path), LATER: later}
        return structs.replace(launch, ours=ours, reach=(*launch.reach, path))

    def _make(self, path: Path, after: str | None) -> None:
        if after is not None and not path.exists():
            with suppress(FileNotFoundError):
                (self._top / after).rename(path)
                return
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)  # noqa: PTH102 - quicker, and this is done for every start

    def is_used(self, run: str) -> bool:
        """Whether the run has put something there: then it knows of checkpoints."""
        try:
            with os.scandir(self._top / run) as found:
                return any(not each.name.startswith(_LATER) for each in found)
        except OSError:
            return False

    def _later(self, attempt: Attempt) -> str:
        """For each attempt its own, so that none is taken for what another one said. Stays until
        the next one begins: a daemon that dies before it remembers the end looks once more."""
        return f"{self._top}/{attempt.run}/{_LATER}{attempt.number}"

    def _forget_stated(self, launch: Launch) -> None:
        """What the attempt before this one said, or that of another run which this one goes on
        with, and which counted its attempts from 1 as well."""
        run, number = launch.attempt.run, launch.attempt.number
        if number > 1:
            _remove(self._later(Attempt(run, number - 1)))
        if AFTER_LABEL in launch.labels:
            _remove(self._later(launch.attempt))

    def stated(self, attempt: Attempt) -> Stated:
        """When it asked to be tried again. In a thread."""
        return stated_in(self._later(attempt), now=time.time())

    # -- after ----------------------------------------------------------------------------

    def part(self, parting: Parting) -> None:
        state = parting.run.state
        if isinstance(state, Ended) and state.outcome is Outcome.SUCCEEDED:
            self._done.add(parting.run.id)

    def remove(self, run: str) -> None:
        """Of a run that succeeded, or is forgotten. In a thread."""
        path = self._top / run
        try:
            path.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            for reason in delete_tree(self._top, path):
                log.warning("of a run's checkpoints is left: %s", reason)

    def drop_stream(self, run: str, step: int) -> None:
        """What a stage of steps had on its way from one to the next."""
        path = self._top / run / f"stream-{step + 1}"
        if path.is_dir() and not path.is_symlink():
            delete_tree(self._top / run, path)

    def close(self) -> None:
        """What is left of those that succeeded goes when their runs are forgotten."""
        self._in_advance.close()
        for run in self._done.close():
            with suppress(OSError):
                (self._top / run).rmdir()


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)  # noqa: PTH108 - quicker, and this is done for every start
