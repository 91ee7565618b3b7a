"""What follows the end of a run: its notification, its stdin, the heartbeats that were for it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from paddock.core.events import HeartbeatRemoved
from paddock.core.run import Ended, Run
from paddock.ports import Recipe
from paddock.supervisor.loop import Supervisor
from paddock.supervisor.thoughts import Parting
from paddock.supervisor.wanted import ADDRESS

ON_END_LABEL: Final = "on_end"
WHILE_LABEL: Final = "while"  # of a heartbeat: it beats until these runs have ended
AT_ONCE: Final = 8
LONGEST_S: Final = 60.0
LONGEST_REASON: Final = 4096

log = logging.getLogger("paddock.endings")


class Endings:
    def __init__(self, supervisor: Supervisor, stdin: Path) -> None:
        self._supervisor = supervisor
        self._stdin = stdin
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._beats_for: dict[str, set[str]] = {}
        supervisor.on_parting.append(self.part)

    def part(self, parting: Parting) -> None:
        recipe = parting.recipe
        if recipe is not None and recipe.stdin is not None:
            self._drop_stdin(recipe.stdin)
        if recipe is not None and recipe.labels.get(ON_END_LABEL):
            task = asyncio.get_running_loop().create_task(self._notify(parting.run, recipe))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        for name in list(self._beats_for):
            self._stop_beating(name, parting.run.id)

    # -- heartbeats -----------------------------------------------------------------------

    def beat_while(self, name: str, recipe: Recipe) -> None:
        """A heartbeat of a fleet file goes when the runs of that file have ended."""
        runs = recipe.labels.get(WHILE_LABEL, "").split()
        left = {run for run in runs if self._is_under_way(run)}
        if runs:
            self._beats_for[name] = left
            if not left:
                self._stop_beating(name, "")

    async def remember_beats(self) -> None:
        """After a restart."""
        names = list(self._supervisor.fleet.heartbeats)
        found = await self._supervisor.look(
            lambda store: {name: store.heartbeat_recipe(name) for name in names}
        )
        for name, recipe in found.items():
            if recipe is not None:
                self.beat_while(name, recipe)

    def _is_under_way(self, run: str) -> bool:
        known = self._supervisor.fleet.runs.get(run)
        return known is not None and not isinstance(known.state, Ended)

    def _stop_beating(self, name: str, run: str) -> None:
        left = self._beats_for[name]
        left.discard(run)
        if not left:
            del self._beats_for[name]
            self._supervisor.post(HeartbeatRemoved(0.0, name))

    # -- the rest -------------------------------------------------------------------------

    def _drop_stdin(self, path: Path) -> None:
        """An upload is for one run, and goes with it; what is not ours to remove stays."""
        if path.parent == self._stdin:
            path.unlink(missing_ok=True)

    async def _notify(self, run: Run, recipe: Recipe) -> None:
        """At most once, with the run's own environment and directory; a slow one is ended."""
        async with self._turn:
            try:
                shell = await asyncio.create_subprocess_exec(
                    *("/bin/sh", "-c", recipe.labels[ON_END_LABEL]),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=asyncio.subprocess.DEVNULL,
                    env={**_own(recipe), **dict(_facts(run))},
                    cwd=recipe.directory if recipe.directory.is_dir() else Path("/"),
                    start_new_session=True,
                )
                code = await asyncio.wait_for(shell.wait(), LONGEST_S)
            except TimeoutError:
                os.killpg(shell.pid, signal.SIGKILL)
                await shell.wait()
                log.warning("the --on-end command of %s took too long and was ended", run.id)
            except OSError as error:
                log.warning("the --on-end command of %s did not start: %s", run.id, error.strerror)
            else:
                if code:
                    log.warning("the --on-end command of %s ended with %s", run.id, code)

    async def finish(self) -> None:
        """At shutdown: those under way may end."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=5.0)


def _own(recipe: Recipe) -> dict[str, str]:
    """The run's environment; a password for its repository was no part of it."""
    variables = dict(recipe.environment or {})
    variables.pop(ADDRESS, None)
    return variables


def _facts(run: Run) -> Iterable[tuple[str, str]]:
    yield "PADDOCK_RUN", run.id
    yield "PADDOCK_RUN_NAME", run.spec.name
    if isinstance(run.state, Ended):
        code = run.state.exit_code
        yield "PADDOCK_OUTCOME", str(run.state.outcome)
        yield "PADDOCK_EXIT_CODE", "" if code is None else str(code)
        yield "PADDOCK_BECAUSE", run.state.because[:LONGEST_REASON]
