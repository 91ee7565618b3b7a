"""Turning what is known of an attempt into events: each told once, an end when its output is in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Final

from paddock.core.events import AttemptLost, Emptied, Event, Exited, SpawnFailed, Started, StopFound
from paddock.core.run import Exit
from paddock.drivers.attempts import note_in
from paddock.drivers.local.containment import Containment
from paddock.drivers.local.drain import drain_of
from paddock.drivers.local.life import Life, Phase, stop_in
from paddock.drivers.local.line import Message
from paddock.drivers.local.naming import Names
from paddock.ports import Capture, Stop

# The keeper's own size shows in every child's high-water mark (between vfork and exec they share
# memory), so that below this it says nothing about the agent. Sampled peaks know better there.
PEAK_FLOOR_BYTES: Final = 24 << 20
# A full disk: the end is told all the same then. What is still in the pipe goes on being moved, and
# the attempt is not cleared away before it is empty.
UNDRAINED_AT_MOST_S: Final = 10.0
UNDRAINED_AGAIN_S: Final = 0.02
STRAYS_AGAIN_S: Final = 0.02
LONGEST_NOTE: Final = 16 * 1024


class Telling:
    """`over` is called with each life of which nothing is left."""

    def __init__(
        self,
        names: Names,
        containment: Containment,
        *,
        over: Callable[[Life], None],
        capture: Capture,
    ) -> None:
        self.trouble: str | None = None
        self._names = names
        self._containment = containment
        self._over = over
        self._capture = capture

    def seen(self, life: Life, record: Message) -> None:
        """What the keeper, or a dead one's journal, says of it: news, or the same again."""
        if life.is_over:
            return
        life.order = None
        life.pid, life.start = record.get("pid") or 0, record.get("start") or 0
        if record["state"] == "spawn_failed":
            reason = record.get("reason") or "no reason is known"
            self.failed(life, reason, permanent=bool(record.get("permanent")))
            return
        self.watch_output(life)
        if record["state"] == "running":
            self.started(life)
        elif record["state"] == "exited":
            self.started(life)
            if life.exit is None:
                if life.has_facts:  # by which a rescue knows it
                    self._rescue_found(life)
                life.exit = self._exit(life, record)
            life.empty = bool(record.get("empty", True)) and not self._has_strays(life)
            self.settle(life)

    def _has_strays(self, life: Life) -> bool:
        """Those that the keeper cannot see: without the mark, its parent and its session they are
        still in the cgroup, and leave it dead."""
        if not self._containment.pids(life.attempt):
            return False
        self._containment.kill(life.attempt)
        asyncio.get_running_loop().call_later(STRAYS_AGAIN_S, self._look_for_strays, life)
        return True

    def _look_for_strays(self, life: Life) -> None:
        if not life.is_over and not life.empty and not self._has_strays(life):
            life.empty = True
            self.settle(life)

    def watch_output(self, life: Life) -> None:
        if life.drain is None:
            names, attempt = self._names, life.attempt
            fifos = (names.fifo(attempt), life.spare_fifo)
            segment, capture = names.segment(attempt), self._capture
            life.drain = drain_of(
                fifos, segment, self._hear_trouble, attempt=attempt, capture=capture
            )

    def started(self, life: Life) -> None:
        if not life.started:
            life.started = True
            _tell(life, Started(_now(), life.attempt))

    def stop_found(self, life: Life, record: Message) -> None:
        self._found(life, stop_in(record.get("stop")))

    def _rescue_found(self, life: Life) -> None:
        """Killed by a rescue that could not ask us, or did not."""
        try:
            said = json.loads(note_in(self._names.killed(life.attempt), LONGEST_NOTE))
        except (OSError, ValueError, RecursionError):
            return
        self._found(life, stop_in(said))

    def _found(self, life: Life, stop: Stop | None) -> None:
        if stop is not None and stop.outcome is not None and life.stop is None:
            life.stop = stop
            _tell(life, StopFound(_now(), life.attempt, stop.outcome, stop.because))

    def failed(self, life: Life, reason: str, *, permanent: bool) -> None:
        if not life.is_over:
            _tell(life, SpawnFailed(_now(), life.attempt, reason, permanent=permanent))
            self._finish(life)

    def settle(self, life: Life) -> None:
        """Its main process has ended: told once all that is there now is in the file."""
        if life.is_over or not self._drained(life, self.settle):
            return
        if not life.exit_told:
            life.exit_told = True
            assert life.exit is not None
            _tell(life, Exited(_now(), life.attempt, life.exit, empty=life.empty))
        elif life.empty:
            _tell(life, Emptied(_now(), life.attempt))
        if life.empty:
            self._finish(life)

    def lost(self, life: Life, reason: str) -> None:
        """No process of it is left, and nobody was told how it ended."""
        life.empty = True
        if life.exit is not None:
            self.settle(life)
        elif not life.is_over and self._drained(life, lambda again: self.lost(again, reason)):
            _tell(life, AttemptLost(_now(), life.attempt, reason, permanent=True))
            self._finish(life)

    def _drained(self, life: Life, again: Callable[[Life], None]) -> bool:
        """False: not yet, and `again` is called."""
        if life.drain is None or life.drain.empty():
            return True
        now = _now()
        if life.undrained_since is None:
            life.undrained_since = now
        if now - life.undrained_since > UNDRAINED_AT_MOST_S:
            return True
        asyncio.get_running_loop().call_later(UNDRAINED_AGAIN_S, again, life)
        return False

    def _finish(self, life: Life) -> None:
        life.phase = Phase.OVER
        life.order = None
        self._let_go(life)
        self._over(life)

    def _let_go(self, life: Life) -> bool:
        """Of its FIFO, once it is empty: whatever it holds would go with it."""
        if life.drain is None:
            return True
        if not life.drain.empty():
            asyncio.get_running_loop().call_later(UNDRAINED_AGAIN_S, self._let_go_late, life)
            return False
        life.drain.close()
        life.drain = None
        return True

    def _let_go_late(self, life: Life) -> None:
        # Without a drain the driver was closed meanwhile: the keeper goes on then.
        if life.drain is not None and self._let_go(life):
            self._over(life)

    def _exit(self, life: Life, record: Message) -> Exit:
        toll = self._containment.toll(life.attempt, failed=record.get("exit_code") != 0)
        high_water = record.get("max_rss_bytes") or 0
        known = high_water if high_water >= PEAK_FLOOR_BYTES else 0
        if self._containment.holds(life.attempt):
            # It has pages of files in it, which are nobody's: at most the wall was the agent's.
            known = min(known, life.limit_bytes) if toll.peak_bytes is None else toll.peak_bytes
        peak_bytes = max(known, life.peak_bytes)
        return Exit(
            code=record.get("exit_code"),
            signal=record.get("signal"),
            oom=toll.oom,
            fleet_oom=toll.fleet_oom,
            peak_bytes=peak_bytes or None,
            victim=toll.victim,
            note=toll.note,
        )

    def _hear_trouble(self, trouble: str | None) -> None:
        self.trouble = trouble


def _tell(life: Life, event: Event) -> None:
    if not life.forgotten:
        life.tell(event)


def _now() -> float:
    return asyncio.get_running_loop().time()
