"""Turning what is known of an attempt into events: each told once, an end when its output is in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from paddock.core.events import (
    AttemptLost,
    CheckpointDeclined,
    CheckpointWritten,
    Event,
    Exited,
    Noticed,
    SpawnFailed,
    Started,
    StartPutOff,
    StartTakesLonger,
    StopFound,
)
from paddock.core.run import Exit
from paddock.drivers.kubernetes.life import Life
from paddock.drivers.kubernetes.reading import Ending

SIGTERM, SIGKILL = 15, 9
AGAIN_S: Final = 20.0  # well within the patience of whoever waits for a start


@dataclass(frozen=True, slots=True)
class Telling:
    """`over` is called with each life of which nothing is left."""

    over: Callable[[Life], None]

    def started(self, life: Life) -> None:
        if not life.started and not life.over:
            life.started = True
            _tell(life, Started(_now(), life.attempt))

    def failed(self, life: Life, reason: str, *, permanent: bool) -> None:
        if not life.over:
            _tell(life, SpawnFailed(_now(), life.attempt, reason, permanent=permanent))
            self._finish(life)

    def put_off(self, life: Life, reason: str, *, retry_s: float) -> None:
        """Nothing of it is in the cluster: it was no attempt."""
        if not life.over:
            _tell(life, StartPutOff(_now(), life.attempt, reason, retry_s=retry_s))
            self._finish(life)

    def takes_longer(self, life: Life, because: str) -> None:
        """At once where the reason is another, then often enough that nobody gives up."""
        now = _now()
        if life.over or life.started or life.stop is not None:
            return
        if because != life.because or now - life.told_at > AGAIN_S:
            life.because, life.told_at = because, now
            _tell(life, StartTakesLonger(now, life.attempt, because))

    def noticed(self, life: Life, note: str) -> None:
        if not life.noticed and not life.over:
            life.noticed = True
            _tell(life, Noticed(_now(), life.attempt, note))

    def stop_found(self, life: Life) -> None:
        """A daemon before this one had begun to kill it."""
        if life.stop is not None and life.stop.outcome is not None:
            found = StopFound(_now(), life.attempt, life.stop.outcome, life.stop.because)
            _tell(life, found)

    def said(self, life: Life, word: str) -> None:
        """By the entry of its container."""
        if life.over:
            return
        match word:
            case "begun":
                self.started(life)
            case "written":
                _tell(life, CheckpointWritten(_now(), life.attempt))
            case "declined":
                _tell(life, CheckpointDeclined(_now(), life.attempt))
            case _:
                pass

    def ended(self, life: Life, ending: Ending) -> None:
        if life.over:
            return
        if ending.missing:
            reason = "its command is not in the image, or may not be executed"
            self.failed(life, reason, permanent=True)
            return
        if life.given_up is not None and not (life.started or life.stop):
            reason, permanent = life.given_up
            self.failed(life, reason, permanent=permanent)
            return
        if life.stop is None and not life.termed and ending.lost is not None:
            _tell(life, AttemptLost(_now(), life.attempt, ending.lost))
            self._finish(life)
            return
        self.started(life)
        if life.stop is None and ending.stop is not None and ending.stop.outcome is not None:
            stop = ending.stop
            _tell(life, StopFound(_now(), life.attempt, ending.stop.outcome, stop.because))
        exit_told = replace(_by_us(life, ending.exit), peak_bytes=_peak(life, ending.exit))
        _tell(life, Exited(_now(), life.attempt, exit_told))
        self._finish(life)

    def _finish(self, life: Life) -> None:
        life.over = True
        self.over(life)


def _by_us(life: Life, known: Exit | None) -> Exit:
    """A cluster cannot kill without asking first: whoever leaves at that was killed all the same,
    and of a pod that is gone nobody knows more."""
    if known is not None and (known.code is not None or known.oom or life.stop is None):
        return known
    if life.stop is not None:
        return Exit(signal=SIGKILL)
    return known or Exit(signal=SIGTERM)


def _peak(life: Life, known: Exit | None) -> int | None:
    told = known.peak_bytes or 0 if known is not None else 0
    return max(life.peak_bytes, told) or None


def _tell(life: Life, event: Event) -> None:
    if not life.forgotten:
        life.tell(event)


def _now() -> float:
    return asyncio.get_running_loop().time()
