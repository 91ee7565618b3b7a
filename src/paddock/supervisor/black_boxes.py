"""What is known of every death: the wall, the last minute of memory, the last commit, what is next.

A small file for each run, the latest attempt that did not succeed. `paddock why` shows it (ISO-10).
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, assert_never

from paddock.core.explain import waiting
from paddock.core.fleet import Change
from paddock.core.run import (
    Attempt,
    Ended,
    Live,
    Outcome,
    Queued,
    Run,
    Running,
    Starting,
    Stopping,
)
from paddock.core.steps import is_between_steps
from paddock.core.units import format_duration, format_size
from paddock.supervisor.looks import Looks
from paddock.supervisor.loop import Supervisor
from paddock.supervisor.minutes import Minutes, Sample
from paddock.supervisor.salvage import CUT_SHORT, salvage
from paddock.workspaces.errors import BrokenOff, WorkspaceError
from paddock.workspaces.plain_files import put_plain, read_plain
from paddock.workspaces.records import State
from paddock.workspaces.room import Room

SHOWN: Final = 12
GIT_S: Final = 5.0
COMMIT_S: Final = 30.0
PATIENCE_S: Final = 600.0  # twice git's own deadline; a disk that hangs has none
NEARLY: Final = 1.02  # the same, for people
BARS: Final = "▁▂▃▄▅▆▇█"

log = logging.getLogger("paddock.boxes")


class BlackBoxes:
    def __init__(
        self, supervisor: Supervisor, directory: Path, *, room: Room | None = None
    ) -> None:
        self._supervisor = supervisor
        self._directory = directory
        self._room = room
        self.looks = Looks("salvage")
        self._minutes = Minutes()
        self._tasks: set[asyncio.Task[None]] = set()
        self._keeping: set[Attempt] = set()
        supervisor.on_change.append(self._changed)

    def seen(self, used: Mapping[Attempt, int]) -> None:
        """One look of the eyes."""
        self._minutes.seen(used, time.monotonic())

    def recent_bytes(self, attempt: Attempt) -> tuple[int, ...]:
        """The most it used in each of the last seconds, oldest first, as far as somebody looked."""
        return self._minutes.recent_bytes(attempt, time.monotonic())

    def read(self, run: str) -> dict[str, str] | None:
        """In a thread: it is a file."""
        return box_in(self._directory / f"{run}.json")

    def remove(self, run: str) -> None:
        (self._directory / f"{run}.json").unlink(missing_ok=True)

    async def finish(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=GIT_S)
        for task in self._tasks:
            task.cancel()  # the next daemon does it
        self.looks.close()

    # -- writing --------------------------------------------------------------------------

    def _changed(self, change: Change) -> None:
        before, run = change.before, change.run
        if not isinstance(before, Live) or run.live:
            return
        if run.attempts < before.attempt:
            return  # its start was put off: nothing has begun
        samples = self._minutes.let_go(Attempt(run.id, before.attempt))
        if isinstance(run.state, Ended) and run.state.outcome is Outcome.SUCCEEDED:
            return
        if is_between_steps(run):
            return
        facts = self._facts(change, before, samples)
        attempt = Attempt(run.id, before.attempt)
        self._begin(self._keep(run, attempt, facts, _cut_by(change)))

    def _begin(self, keeping: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(keeping)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def resume(self) -> None:
        """At a start: what the last daemon had no time to save and to write down, of runs that
        were cut short. One that comes back finds its files as they are."""
        if self._room is None:
            return
        records = await asyncio.to_thread(self._room.records)
        names = [record.name for record in records if record.state in (State.TAKEN, State.IDLE)]
        runs = await self._supervisor.look(lambda store: [store.run(name) for name in names])
        for run in runs:
            if run is None or not isinstance(run.state, Ended) or run.attempt in self._keeping:
                continue
            outcome = run.state.outcome
            if outcome in CUT_SHORT and not await asyncio.to_thread(self._has_box, run):
                self._begin(self._keep(run, run.attempt, self._late_facts(run), outcome))

    def _has_box(self, run: Run) -> bool:
        box = self.read(run.id)
        return box is not None and box.get("attempt", "").startswith(f"{run.attempts},")

    def _late_facts(self, run: Run) -> dict[str, str]:
        assert isinstance(run.state, Ended)
        return {
            "attempt": f"{run.attempts}, ended when paddock stopped",
            "why": run.state.because,
            "limit": format_size(run.limit_bytes),
            "next": self._next(run),
        }

    def _facts(self, change: Change, before: Live, seen: list[Sample]) -> dict[str, str]:
        run = change.run
        facts = {
            "attempt": f"{before.attempt}, {_lived(before, self._supervisor.fleet.now)}",
            "why": change.because,
            "limit": format_size(before.hold.limit_bytes),
        }
        if isinstance(run.state, Ended) and run.state.peak_bytes:
            facts["peak"] = peak_text(run.state.peak_bytes, [used for _, used in seen])
        if seen:
            facts["memory"] = _drawn(seen, before.hold.limit_bytes)
        return facts | {"next": self._next(run)}

    def _next(self, run: Run) -> str:
        # As it is by now: what was thought may be ahead of what was remembered just now.
        run = self._supervisor.fleet.runs.get(run.id, run)
        if isinstance(run.state, Queued) and run.id in self._supervisor.fleet.runs:
            return waiting(self._supervisor.fleet, run).sentence
        if run.live:
            return "it runs once more"
        return "nothing: it is over (`paddock retry` runs it once more)"

    async def _keep(
        self, run: Run, attempt: Attempt, facts: dict[str, str], cut_by: Outcome | None
    ) -> None:
        self._keeping.add(attempt)
        try:
            if self._room is not None and cut_by is not None:
                facts |= await self._salvaged(self._room, attempt, cut_by)
            await self._fill(run, facts)
        except BrokenOff:
            pass  # without a box, so that the next daemon does it
        except (WorkspaceError, OSError) as error:
            log.warning("the black box of %s could not be kept: %s", run.id, error)
        finally:
            self._keeping.discard(attempt)

    async def _salvaged(self, room: Room, attempt: Attempt, cut_by: Outcome) -> dict[str, str]:
        """A repository on a disk that hangs keeps nobody else's work, nor their boxes."""
        try:
            work = partial(salvage, room, attempt, cut_by)
            return await self.looks.seen(work, patience_s=PATIENCE_S)
        except TimeoutError:
            late = f"git did not answer in {format_duration(PATIENCE_S)}"
            return {"saved": f"what it had not committed is still in its workspace: {late}"}

    async def _fill(self, run: Run, facts: dict[str, str]) -> None:
        place = await self._place_of(run.id)
        if place is not None and _never_began(run):
            facts["directory"] = str(place)  # where its program was looked for
        if self._room is not None and (commit := await self._last_commit(self._room, run.id)):
            facts["last commit"] = commit
        await asyncio.to_thread(self._write, run.id, json.dumps(facts, ensure_ascii=False))

    async def _place_of(self, run: str) -> Path | None:
        """Its workspace, or the directory that it was submitted for."""
        if self._room is not None and (path := await asyncio.to_thread(self._room.path, run)):
            return path
        recipe = await self._supervisor.look(lambda store: store.recipe(run))
        return None if recipe is None else recipe.directory

    async def _last_commit(self, room: Room, run: str) -> str:
        """Empty where there is none, or git does not answer; and without a workspace, where the
        last commit may be anybody's."""

        def look() -> str:
            return room.last_commit(run) if room.record(run) is not None else ""

        with suppress(WorkspaceError, OSError, TimeoutError):
            return await self.looks.seen(look, patience_s=COMMIT_S)
        return ""

    def _write(self, run: str, text: str) -> None:
        self._directory.mkdir(mode=0o700, exist_ok=True)
        put_plain(self._directory / f"{run}.json", text.encode())


def box_in(path: Path) -> dict[str, str] | None:
    """None where there is none that can be read."""
    try:
        found = json.loads(read_plain(path))
        return {str(name): str(text) for name, text in found.items()}
    except (OSError, ValueError, AttributeError, RecursionError):
        return None


def _cut_by(change: Change) -> Outcome | None:
    """How it ended; of one that comes back, why it was stopped: it finds its files as they are, but
    whoever is stopped could not commit. None: it ended by itself, and comes back."""
    state, before = change.run.state, change.before
    if isinstance(state, Ended):
        return state.outcome
    return before.outcome if isinstance(before, Stopping) else None


def _never_began(run: Run) -> bool:
    return isinstance(run.state, Ended) and run.state.outcome is Outcome.SPAWN_FAILED


def _lived(last: Live, now: float) -> str:
    """How long it ran, without what it stood still."""
    match last:
        case Starting():
            return f"given up {format_duration(max(0.0, now - last.since_at))} after its start"
        case Running():
            began_at: float | None = last.since_at + last.paused_s
        case Stopping():
            began_at = last.started_at
        case _:
            assert_never(last)
    return (
        "never ran" if began_at is None else f"ran for {format_duration(max(0.0, now - began_at))}"
    )


def peak_text(peak_bytes: int, seen: Sequence[int]) -> str:
    """The kernel's own, which a curve of looks may never have come near."""
    is_between = bool(seen) and peak_bytes > max(seen) * NEARLY
    return format_size(peak_bytes) + (", between two looks" if is_between else "")


def _drawn(samples: list[Sample], limit_bytes: int) -> str:
    """The last minute as a row of bars, each for the most in its part, and where it began and
    ended."""
    step = -(-len(samples) // SHOWN)
    parts = [samples[max(0, end - step) : end] for end in range(len(samples), 0, -step)]
    shown = [max(used for _, used in part) for part in reversed(parts)]
    most = max(limit_bytes, *shown, 1)
    bars = "".join(BARS[min(len(BARS) - 1, used * len(BARS) // most)] for used in shown)
    first, last = samples[0], samples[-1]
    span = format_duration(max(0.0, last[0] - first[0]))
    peak = format_size(max(used for _, used in samples))
    ends = f"{format_size(first[1])} to {format_size(last[1])}"
    return f"{bars}  {ends} in {span}, {peak} at most when looked at"
