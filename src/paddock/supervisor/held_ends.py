"""Ends that are told later, once they are understood; what comes after an end waits behind it."""

from __future__ import annotations

from msgspec.structs import replace

from paddock.core.events import OF_AN_END, AttemptLost, Emptied, Event, Exited
from paddock.core.fleet import Fleet
from paddock.core.run import Attempt, Run

End = Exited | Emptied | AttemptLost


class HeldEnds:
    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._held: dict[Attempt, list[End]] = {}  # the end, and what came after

    def waits_behind(self, event: Event) -> bool:
        """Whether it is news of an attempt whose end is held; then it is held, too."""
        if not isinstance(event, OF_AN_END) or event.attempt not in self._held:
            return False
        self._held[event.attempt].append(event)
        return True

    def run_of(self, event: End) -> Run | None:
        """Whose end it is; none if it is an old attempt's."""
        run = self._fleet.runs.get(event.attempt.run)
        return run if run is not None and run.attempt == event.attempt else None

    def heard(self, event: Exited) -> Exited:
        """Its time may be over before it is understood: then it was not stopped for that."""
        if event.exit.heard_at is not None:
            return event
        return replace(event, exit=replace(event.exit, heard_at=self._fleet.now))

    def hold(self, event: End) -> None:
        self._held[event.attempt] = [self.heard(event) if isinstance(event, Exited) else event]

    def let_go(self, attempt: Attempt) -> list[End]:
        """In the order in which they came."""
        return self._held.pop(attempt)
