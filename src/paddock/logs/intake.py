"""What comes in: asked before output is moved and told after it (`ports.Capture`).

Decides when a live file is rotated, marks times, rings for those who follow. All of it in the
loop's thread, in microseconds; files are packed in threads of their own.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from paddock.core.run import Attempt
from paddock.ports import Fate, Launch

from . import names
from .bells import Bells
from .free_room import FreeRoom
from .keeping import Keeping
from .names import Kind, Part
from .packers import Packing
from .shelf import NONE, Missing, opened
from .taking import Taking, Whose
from .tidying import Tidier
from .times import Marker, records

# One for two cores: packing is quick, and agents are what the cores are for.
PACKERS: Final = max(1, min(4, (os.cpu_count() or 1) // 2))

log = logging.getLogger("paddock.logs")


@dataclass(slots=True)
class Inlet:
    """One attempt whose output comes in."""

    number: int
    directory: Path
    marker: Marker
    base: int  # where its live file begins
    size: int  # of the live file
    born_at: float  # of its first byte
    gap: Part | None = None  # just before it, that grows while the disk is too full
    untold: Missing = NONE  # not kept, after the gap and before the live file, and in no name yet
    origin: int | None = None  # where the attempt begins in the stream of its run, once known
    try_at: int = 0  # of a file that could not be rotated: the size at which to try again
    is_held: bool = False
    is_closed: bool = False  # nothing more comes, and something is untold


@dataclass(slots=True)
class Counted:
    """Since this daemon was started, over all attempts."""

    written_bytes: int = 0
    discarded_bytes: int = 0
    rotated: int = 0
    held: int = 0  # times that one had to wait for what it had written before
    discarded: int = 0


@dataclass(slots=True)
class _About:
    """What a run is called, and how its output is kept."""

    agent: str
    keeping: Keeping
    last: int | None = None  # attempt that was begun by this daemon


class Intake:
    def __init__(
        self,
        directory: Path,
        tidier: Tidier,
        taking: Taking,
        *,
        packers: int = PACKERS,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.usual = Keeping()
        self.free_room = FreeRoom(directory, now=now)
        self.bells = Bells()
        self.counted = Counted()
        self._directory = directory
        self._tidier, self._taking, self._turns = tidier, taking, tidier.turns
        self._now = now
        self._about: dict[str, _About] = {}
        self._inlets: dict[Attempt, Inlet] = {}
        self._newest: dict[str, Inlet] = {}
        self._owing: Attempt | None = None  # of which something is untold: one at most
        self._packing = Packing(self._tidy, packers)

    # -- what drivers say (ports.Capture) -------------------------------------------------

    def expect(self, launch: Launch) -> int:
        keeping = Keeping.of(launch.labels, self.usual)
        run, number = launch.attempt.run, launch.attempt.number
        self._about[run] = _About(launch.name or run, keeping, number)
        return keeping.alone_bytes

    def fate(self, attempt: Attempt) -> Fate:
        self._is_settled()
        inlet = self._inlet(attempt)  # before anything is moved: what lies there is older
        if self.free_room.is_low() or (inlet is not None and self._tell(inlet) is not None):
            return Fate.DISCARD
        # While one part is packed and the next lies ready for it, its agent waits, and nobody else.
        if inlet is not None and self._packing.is_behind(attempt.run):
            self.counted.held += not inlet.is_held
            inlet.is_held = True
            return Fate.HOLD
        if inlet is not None:
            inlet.is_held = False
        return Fate.KEEP

    def when_free(self, attempt: Attempt, then: Callable[[], None]) -> None:
        self._packing.when_free(attempt.run, then)

    def moved(self, attempt: Attempt, size_bytes: int) -> None:
        is_first = attempt not in self._inlets  # `fate` found nothing: all of it is new
        inlet = self._inlet(attempt)
        if inlet is None or size_bytes <= inlet.size:
            self.counted.written_bytes += size_bytes if is_first else 0
            return
        now = self._now()
        newest = self._newest.get(attempt.run)
        if newest is not None and newest is not inlet:
            newest.origin = None  # an older attempt still writes: the newer one begins later
        if not inlet.size:
            inlet.born_at, inlet.gap = now, None
        self._mark(inlet, now)
        self.free_room.took(size_bytes - inlet.size)
        self.counted.written_bytes += size_bytes - inlet.size
        inlet.size = size_bytes
        if size_bytes >= max(self._limit(attempt.run, inlet, now), inlet.try_at):
            self._rotate(attempt, inlet)
        self.bells.ring(attempt.run)

    def discard(self, attempt: Attempt, fifo_fd: int, count: int) -> bool:
        """Told at once in a name: what is not kept is counted, whatever happens to us. What has no
        place of its own cannot be, as where a file cannot even be renamed: its agent waits. So does
        it while something of another is untold: of one only, `taking` can tell the next daemon."""
        inlet = self._inlet(attempt, make=True)
        if inlet is None or (self._owing != attempt and not self._is_settled()):
            return False
        if not self._has_place(attempt, inlet):
            return False
        whose = Whose(attempt, inlet.base + inlet.untold.bytes, inlet.untold)
        taken = self._taking.take(fifo_fd, count, whose)
        self.free_room.not_kept(taken.bytes, taken.lines)
        self.counted.discarded += taken.bytes > 0
        self.counted.discarded_bytes += taken.bytes
        inlet.untold = inlet.untold.and_also(taken)
        error = self._tell(inlet)
        if error is not None:
            self._owing = attempt
            if inlet.untold == taken:  # once
                log.error("what %s writes is not kept, nor counted yet: %s", attempt.run, error)
        return True

    def refused(self, attempt: Attempt) -> None:  # noqa: ARG002
        self.free_room.refused()

    def closed(self, attempt: Attempt) -> None:
        """One that gathered much while no daemon was there has its turn now."""
        inlet = self._inlets.get(attempt)
        if inlet is None and os.path.isdir(f"{self._directory}/{attempt.run}"):  # noqa: PTH112
            inlet = self._inlet(attempt)  # most that never said a word have no directory
        if inlet is not None:
            if self._tell(inlet) is not None:
                inlet.is_closed = True  # it goes when that is told
            else:
                if inlet.size >= self._limit(attempt.run, inlet, self._now()):
                    self._rotate(attempt, inlet)
                self._leave_inlet(attempt, inlet)
        self._leave(attempt)
        self.bells.ring(attempt.run)

    # -- beside them ----------------------------------------------------------------------

    def about(self, run: str, agent: str, keeping: Keeping) -> None:
        self._about[run] = _About(agent or run, keeping)

    def rotate(self, attempt: Attempt) -> None:
        """Now, whatever its size."""
        inlet = self._inlet(attempt)
        if inlet is not None:
            self._rotate(attempt, inlet)

    def forget(self, run: str) -> None:
        self._about.pop(run, None)
        self._newest.pop(run, None)
        self._taking.forget(run)
        for attempt in list(self._inlets):  # in one step: this is a thread, and the loop goes on
            if attempt.run == run:
                self._inlets.pop(attempt, None)

    def newest(self, run: str) -> Inlet | None:
        """Of the attempt that writes now, if one does. Where its bytes lie is true until the loop
        has its next turn: ask there."""
        return self._newest.get(run)

    def written(self, attempt: Attempt) -> tuple[int, float] | None:
        """How much an attempt wrote so far, and when it last did; None: nothing yet."""
        inlet = self._inlets.get(attempt)
        return None if inlet is None else (inlet.base + inlet.size, inlet.marker.written_at)

    def take_up(self) -> None:
        """Before a byte is moved: what a killed daemon took and did not tell."""
        try:
            left = self._taking.prepare()
        except OSError as error:
            log.warning("what has no room is not counted to the byte if I am killed: %s", error)
            return
        if left is None:
            return
        # What was taken first has no directory yet. Of a run that was removed nothing is left here.
        inlet = self._inlet(left.attempt, make=left.end > 0)
        if inlet is not None and left.end > inlet.base:
            inlet.untold = Missing(left.end - inlet.base, left.lines)
            if self._tell(inlet) is not None:
                self._owing = left.attempt

    def tidy_soon(self, run: str, waiting: Iterable[str] = ()) -> None:
        """`waiting`: names of parts that another daemon left."""
        for name in waiting:
            self._tidier.sync_soon(self._directory / run, name)
        self._packing.ask(run)

    def settle(self) -> None:
        """Until nothing waits to be packed."""
        self._packing.settle()

    def close(self) -> None:
        self._packing.close()
        self._tidier.close()
        self._taking.close()

    def _leave_inlet(self, attempt: Attempt, inlet: Inlet) -> None:
        # A thread may forget the run in this very moment.
        self._inlets.pop(attempt, None)
        if self._newest.get(attempt.run) is inlet:
            self._newest.pop(attempt.run, None)

    def _leave(self, attempt: Attempt) -> None:
        """How it was to be kept, unless a later attempt or a packer still goes by it: a run is
        forgotten only after days, and there may be thousands."""
        about = self._about.get(attempt.run)
        is_last = about is not None and about.last == attempt.number
        if is_last and not self._packing.is_at(attempt.run):
            del self._about[attempt.run]

    def _limit(self, run: str, inlet: Inlet, now: float) -> int:
        about = self._about.get(run)
        keeping = self.usual if about is None else about.keeping
        return keeping.limit_bytes(size_bytes=inlet.size, age_s=now - inlet.born_at)

    def _inlet(self, attempt: Attempt, *, make: bool = False) -> Inlet | None:
        """None before the first byte: directories come with it, unless one is asked for."""
        found = self._inlets.get(attempt)
        if found is not None or not names.SAFE_RUN.fullmatch(attempt.run):
            return found
        directory = self._directory / attempt.run
        found = self._turns.steadily(attempt.run, lambda: _looked_up(directory, attempt.number))
        if found is None and make:
            marker = Marker(names.times_name(attempt.number), written_at=0.0)
            found = Inlet(attempt.number, directory, marker, base=0, size=0, born_at=0.0)
        if found is not None:
            self._inlets[attempt] = found
            newest = self._newest.get(attempt.run)
            if newest is None or newest.number < attempt.number:
                self._newest[attempt.run] = found
        return found

    def _has_place(self, attempt: Attempt, inlet: Inlet) -> bool:
        """For a gap: after all that is kept."""
        if not inlet.size:
            return True
        if self._tell(inlet) is not None:
            return False
        if not self._rotate(attempt, inlet):
            self._leave_inlet(attempt, inlet)  # and look again: somebody may have taken its file
            return False
        return True

    def _is_settled(self) -> bool:
        """Whether nothing is untold now."""
        owing = self._owing
        inlet = None if owing is None else self._inlets.get(owing)
        if owing is not None and inlet is not None:
            if self._tell(inlet) is not None:
                return False
            if inlet.is_closed:
                self._leave_inlet(owing, inlet)
        self._owing = None
        return True

    def _tell(self, inlet: Inlet) -> OSError | None:
        """Why it cannot be told yet: what comes next would stand in a wrong place."""
        before, (count, lines) = inlet.gap, inlet.untold
        if not count:
            return None
        start = inlet.base
        if before is not None:
            start, lines = before.start, lines + (before.lines or 0)
        after = names.gap(inlet.number, start, inlet.base + count, lines)
        try:
            if not inlet.base:
                inlet.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._tidier.widen(inlet.directory, before, after)
        except OSError as error:
            if isinstance(error, FileNotFoundError):
                inlet.gap = None  # somebody has removed it
            return error
        inlet.gap, inlet.base, inlet.untold = after, after.end, NONE
        return None

    def _rotate(self, attempt: Attempt, inlet: Inlet) -> bool:
        about = self._about.get(attempt.run)
        agent = attempt.run if about is None else about.agent
        number = attempt.number
        try:
            part = self._tidier.rotate(inlet.directory, agent, attempt=number, base=inlet.base)
        except OSError as error:
            log.warning("the output of %s goes on in one file: %s", attempt.run, error)
            part = None
        if part is None:
            inlet.try_at = 2 * inlet.size
            return False
        self.counted.rotated += 1
        inlet.base, inlet.size, inlet.gap, inlet.try_at = part.end, 0, None, 0
        self._tidier.sync_soon(inlet.directory, part.name)
        self._packing.ask(attempt.run, waiting=1)
        return True

    def _mark(self, inlet: Inlet, now: float) -> None:
        if not inlet.marker.is_due(now):
            inlet.marker.wrote(now)
            return
        with suppress(OSError), opened(inlet.directory) as handle:
            if handle is not None:
                inlet.marker.mark(handle, inlet.base + inlet.size, now)

    def _tidy(self, run: str) -> bool:
        """In a packer's thread. Of a run that nobody told us about nothing is let go."""
        about = self._about.get(run)
        keeping = Keeping(full=True) if about is None else about.keeping
        return self._tidier.tidy(self._directory / run, keeping)


def _looked_up(directory: Path, attempt: int) -> Inlet | None:
    with opened(directory) as handle:
        if handle is None:
            return None
        size, written_at = 0, 0.0
        found = (names.parsed(name) for name in os.listdir(handle))  # noqa: PTH208
        rotated = names.in_order(part for part in found if part and part.attempt == attempt)
        base = rotated[-1].end if rotated else 0
        gap = rotated[-1] if rotated and rotated[-1].kind is Kind.GAP else None
        with suppress(FileNotFoundError):
            facts = os.stat(names.live_name(attempt), dir_fd=handle, follow_symlinks=False)
            size, written_at = facts.st_size, facts.st_mtime
        times = names.times_name(attempt)
        begun = [at for start, at, _ in records(handle, times) if start >= base]
        marker = Marker(times, written_at=written_at)
        born_at = begun[0] if begun else written_at
        return Inlet(attempt, directory, marker, base, size, born_at, gap)
