"""Turning what is known of an attempt into events: each told once, an end when its output is in."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Final

from paddock.core.events import AttemptLost, Emptied, Event, Exited, SpawnFailed, Started, StopFound
from paddock.core.run import Exit
from paddock.drivers.container.life import Life, Phase
from paddock.drivers.watched import Toll

STRAYS_LOOK_S: Final = 0.05
# A full disk: the end is told all the same then. What is still in the pipe goes on being moved, and
# the attempt is not cleared away before it is empty.
UNDRAINED_AT_MOST_S: Final = 10.0
UNDRAINED_AGAIN_S: Final = 0.02
_CODE: Final = re.compile(r"[0-9]{1,3}")


class Telling:
    """`over` is called with each life of which nothing is left, and again when its output is in."""

    def __init__(self, *, over: Callable[[Life], None]) -> None:
        self._over = over

    def started(self, life: Life) -> None:
        if not life.started:
            life.started = True
            _tell(life, Started(_now(), life.attempt))

    def stop_found(self, life: Life) -> None:
        """A daemon before this one had begun to kill it."""
        stop = life.box.noted_stop()
        if stop is not None and stop.outcome is not None and life.stop is None:
            life.stop = stop
            _tell(life, StopFound(_now(), life.attempt, stop.outcome, stop.because))

    def failed(self, life: Life, reason: str, *, permanent: bool) -> None:
        if not life.is_over:
            _tell(life, SpawnFailed(_now(), life.attempt, reason, permanent=permanent))
            self._finish(life)

    def lost(self, life: Life, reason: str) -> None:
        if life.is_over or not self._drained(life, lambda: self.lost(life, reason)):
            return
        _tell(life, AttemptLost(_now(), life.attempt, reason, permanent=True))
        self._finish(life)

    def ended(self, life: Life, known: Exit, toll: Toll) -> None:
        """Its main process has; told once all that is there now is in the file."""
        if life.exit is not None or life.is_over:
            return
        life.exit = exit_of(known, toll, life)
        self.settle(life)

    def settle(self, life: Life) -> None:
        if life.is_over or not self._drained(life, lambda: self.settle(life)):
            return
        assert life.exit is not None
        life.empty = life.tether is None or not life.tether.members()
        if not life.exit_told:
            life.exit_told = True
            _tell(life, Exited(_now(), life.attempt, life.exit, empty=life.empty))
        elif life.empty:
            _tell(life, Emptied(_now(), life.attempt))
        if life.empty:
            self._finish(life)
        else:
            _later(STRAYS_LOOK_S, lambda: self.settle(life))

    def _drained(self, life: Life, again: Callable[[], None]) -> bool:
        """False: not yet, and `again` is called."""
        if life.drain is None or life.drain.empty():
            return True
        if life.undrained_since is None:
            life.undrained_since = _now()
        if _now() - life.undrained_since > UNDRAINED_AT_MOST_S:
            return True
        _later(UNDRAINED_AGAIN_S, again)
        return False

    def _finish(self, life: Life) -> None:
        life.phase = Phase.OVER
        life.untie()
        self._let_go(life)

    def _let_go(self, life: Life) -> None:
        """Of its FIFO, once it is empty: whatever it holds would go with it."""
        if life.drain is not None:
            if not life.drain.empty():
                _later(UNDRAINED_AGAIN_S, lambda: self._let_go(life))
                return
            life.drain.close()
            life.drain = None
        self._over(life)


def exit_of(known: Exit, toll: Toll, life: Life) -> Exit:
    peak_bytes = max(toll.peak_bytes or 0, life.peak_bytes)
    if toll.oom:
        peak_bytes = max(peak_bytes, life.limit_bytes)
    return Exit(
        code=known.code,
        signal=known.signal,
        oom=toll.oom,
        fleet_oom=toll.fleet_oom,
        peak_bytes=peak_bytes or None,
        victim=toll.victim,
        note=toll.note,
    )


def exit_in(status: str) -> Exit | None:
    """What the shim wrote down: "exit 7" or "signal 9"; None for anything else."""
    how, _, text = status.partition(" ")
    if how not in ("exit", "signal") or not _CODE.fullmatch(text):
        return None
    number = int(text)
    if how == "exit":
        return Exit(code=number) if number <= 255 else None
    return Exit(signal=number) if 0 < number <= 64 else None


def _tell(life: Life, event: Event) -> None:
    if not life.forgotten:
        life.tell(event)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _later(seconds: float, do: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_later(seconds, do)
