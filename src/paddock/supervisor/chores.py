"""What keeps a daemon small and whole over months: old runs go, lost files come back."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, Protocol

from paddock.supervisor.loop import Supervisor
from paddock.supervisor.steady import Steady
from paddock.workspaces.errors import WorkspaceError

EVERY_S: Final = 60.0
LOOK_S: Final = 1.0  # at the store's files: an agent may remove them, and nothing else would tell
PAUSE_S: Final = 0.05  # between two batches, so that commits come through
UPLOADS_KEPT_S: Final = 24 * 3600.0
NOT_TIDIED: Final = "tidying waits"
NOT_DROPPED: Final = "old input of runs stays"
NOT_DONE: Final = "the ballast is not seen to"
NOT_MENDED: Final = "the store's files are not looked after"

log = logging.getLogger("paddock.chores")


class KeptOutput(Protocol):
    """What is kept of a run beside the store: its output, its black box."""

    def remove(self, run: str) -> None: ...


class Chores:
    def __init__(
        self,
        supervisor: Supervisor,
        kept: Sequence[KeptOutput],
        stdin: Path,
        *,
        also: Callable[[], None] = lambda: None,
        every_s: float = EVERY_S,
    ) -> None:
        self._supervisor = supervisor
        self._kept = kept
        self._stdin = stdin
        self._also = also
        self._every_s = every_s
        self._steady = Steady(log)

    async def do(self) -> None:
        """Whatever goes wrong in one turn, the next one comes: a task that ended would take the
        daemon along, a minute after every start."""
        due_at = 0.0
        while True:
            with self._steady.turn(NOT_MENDED):
                if self._supervisor.store.missing():
                    await self._supervisor.mend()
            if time.monotonic() >= due_at:
                due_at = time.monotonic() + self._every_s
                await self.once()
            await asyncio.sleep(LOOK_S)

    async def once(self) -> None:
        """Each for itself: what one of them meets must not keep the others from their turn."""
        with self._steady.turn(NOT_TIDIED):
            await self._forget_old()
        with self._steady.turn(NOT_DROPPED):
            await self._drop_uploads()
        with self._steady.turn(NOT_DONE):
            self._also()

    async def _forget_old(self) -> None:
        """A small batch at a time: each holds the store's thread for a moment only.

        Output goes with the run that this very store forgets. What no store knows is left alone:
        the store may be a new one, and the output all that is left of the work.
        """
        supervisor = self._supervisor
        now_at = supervisor.clock.now()
        some_went = False
        while gone := await supervisor.look(lambda store: store.tidy(now_at=now_at)):
            some_went = True
            await asyncio.to_thread(self._drop_output, gone.runs)
            await asyncio.sleep(PAUSE_S)
        if some_went:
            await supervisor.count_outcomes()

    def _drop_output(self, runs: Iterable[str]) -> None:
        """The store has forgotten these for good: what one of them leaves in the way, such as a
        file in place of a directory, or a bug, must not keep that of all others."""
        for run in runs:
            for kept in self._kept:
                try:
                    kept.remove(run)
                except (OSError, WorkspaceError) as error:
                    log.warning("of %s, which is forgotten, something is left: %s", run, error)
                except Exception:
                    log.exception("of %s, which is forgotten, something is left", run)

    async def _drop_uploads(self) -> None:
        """What was handed over as stdin for a run that never came, or has ended."""
        old = await asyncio.to_thread(self._old_uploads)
        if not old:
            return
        wanted = await self._supervisor.look(lambda store: store.inputs())
        for path in old:
            if str(path) not in wanted:
                with contextlib.suppress(OSError):
                    path.unlink()

    def _old_uploads(self) -> list[Path]:
        if not self._stdin.is_dir():
            return []
        before = time.time() - UPLOADS_KEPT_S
        return [path for path in self._stdin.iterdir() if _changed_at(path) < before]


def _changed_at(path: Path) -> float:
    """Of one that went meanwhile: now, so that nobody bothers."""
    try:
        return path.lstat().st_mtime
    except FileNotFoundError:
        return time.time()
