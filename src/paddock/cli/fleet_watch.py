"""Looks at a fleet until all of it has ended, and hands signals on to its runs. Shows nothing."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from .connecting import Door
from .ends import code_of_all
from .exits import ExitCode
from .following import LEAVE, listening
from .staying import Staying

if TYPE_CHECKING:
    from paddock.wire.views import HeartbeatView, MoveView, RunView, Submission

LOOK_EVERY_S: Final = 0.5
# Looking may take this share of the daemon's time: a fleet of 10,000 is looked at less often.
SHARE: Final = 0.05
MOST_STORIES: Final = 200


class Progress(Protocol):
    def show(self, runs: Sequence[RunView], heartbeats: Sequence[HeartbeatView]) -> None: ...

    def say(self, text: str) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    runs: list[RunView]
    code: ExitCode
    took_s: float
    stories: dict[str, Sequence[MoveView]] = field(default_factory=dict)


def _since_submitted_s(runs: Sequence[RunView]) -> float:
    """A short run may have ended before anybody watched."""
    now = time.time()
    return now - min((run.submitted_at or now for run in runs), default=now)


class Watch:
    def __init__(self, answer: Submission, door: Door, progress: Progress) -> None:
        self._ids = [run.id for run in answer.runs]
        self._heartbeats = answer.heartbeats
        self._daemon = Staying(door)
        self._progress = progress
        self._signals: list[int] = []
        self._views: dict[str, RunView] = {}
        self._stops = 0

    def watch(self) -> Watched:
        began = time.monotonic()
        with self._daemon, listening(self._signals.append):
            code = self._until_ended()
            if code is None:
                self._end_heartbeats()
                code = ExitCode.INTERRUPTED if self._stops else code_of_all(self._views.values())
            self._progress.close()
            runs = [self._views[run] for run in self._ids if run in self._views]
            stories = {} if code == ExitCode.LEFT_RUNNING else self._stories(runs)
        took_s = max(time.monotonic() - began, _since_submitted_s(runs))
        return Watched(runs=runs, code=code, took_s=took_s, stories=stories)

    def _until_ended(self) -> ExitCode | None:
        """None when they have; a code when we left before."""
        every_s = 0.0
        while True:
            pending = [run for run in self._ids if not self._has_ended(run)]
            if not pending:
                return None
            every_s = self._look(pending, every_s)
            while self._signals:
                code = self._heed(self._signals.pop(0))
                if code is not None:
                    return code

    def _look(self, pending: list[str], within_s: float) -> float:
        """The views; and how long to wait at the next look, by what this one cost."""
        began = time.monotonic()
        asked = tuple(pending)
        views = self._daemon.ask(lambda client: client.wait(asked, timeout_s=within_s))
        cost_s = max(0.0, time.monotonic() - began - within_s)
        self._views |= {view.id: view for view in views}
        shown = [self._views[run] for run in self._ids if run in self._views]
        self._progress.show(shown, self._beats())
        return max(LOOK_EVERY_S, min(cost_s, 5.0) / SHARE)

    def _beats(self) -> list[HeartbeatView]:
        if not self._heartbeats:
            return []
        status = self._daemon.ask(lambda client: client.status())
        return [beat for beat in status.heartbeats if beat.name in self._heartbeats]

    def _heed(self, number: int) -> ExitCode | None:
        if number in LEAVE:
            self._progress.say("left running: paddock ls")
            return ExitCode.LEFT_RUNNING
        self._stops += 1
        if self._stops > 2:
            return ExitCode.INTERRUPTED
        force = self._stops == 2
        again = "" if force or number == signal.SIGTERM else "; Ctrl-C again kills them"
        self._progress.say(f"{'killing' if force else 'stopping'} what has not ended{again}")
        self._kill([run for run in self._ids if not self._has_ended(run)], force=force)
        return None

    def _kill(self, runs: Sequence[str], *, force: bool = False) -> None:
        from paddock.client.errors import NotFound, Refused

        # One that ended meanwhile may be refused: then each is asked for by itself.
        try:
            self._daemon.ask(lambda client: client.kill(tuple(runs), force=force))
        except (NotFound, Refused):
            if len(runs) > 1:
                for run in runs:
                    self._kill([run], force=force)

    def _end_heartbeats(self) -> None:
        for name in self._heartbeats:
            self._kill([name])

    def _has_ended(self, run: str) -> bool:
        return run in self._views and self._views[run].state == "ended"

    def _stories(self, runs: Sequence[RunView]) -> dict[str, Sequence[MoveView]]:
        """For the times of the summary; without them it has a dash."""
        from paddock.client.errors import ClientError

        found: dict[str, Sequence[MoveView]] = {}
        with suppress(ClientError):
            for run in runs[:MOST_STORIES]:
                found[run.id] = self._story(run.id)
        return found

    def _story(self, run: str) -> Sequence[MoveView]:
        return self._daemon.ask(lambda client: client.story(run))
