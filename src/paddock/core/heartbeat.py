"""Periodic low-priority runs: when the next one is due, and whether it is skipped."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from .run import Priority, RunSpec

SHORTEST_S = 1.0  # more often than the host is looked at makes no sense


class Heartbeat(Struct, frozen=True):
    template: RunSpec
    every_s: float
    next_at: float
    beats: int = 0
    skipped_pressure: int = 0
    skipped_busy: int = 0
    last_run: str | None = None

    @property
    def name(self) -> str:
        return self.template.id


def beat(
    heartbeat: Heartbeat, *, at: float, pressed: bool, busy: bool
) -> tuple[Heartbeat, RunSpec | None]:
    """The heartbeat after its time came, and the run to submit unless it is skipped."""
    # Beats missed while nobody looked (a suspended laptop) are not made up for.
    missed = int((at - heartbeat.next_at) // heartbeat.every_s)
    after = replace(heartbeat, next_at=heartbeat.next_at + (missed + 1) * heartbeat.every_s)
    if pressed:
        return replace(after, skipped_pressure=after.skipped_pressure + 1), None
    if busy:
        return replace(after, skipped_busy=after.skipped_busy + 1), None
    # By the time it was due, not by its number: unique also when removed and declared again.
    run_id = f"{heartbeat.name}.{int(heartbeat.next_at)}"
    spec = replace(
        heartbeat.template, id=run_id, priority=Priority.LOW, heartbeat=heartbeat.name, needs=()
    )
    return replace(after, beats=after.beats + 1, last_run=run_id), spec
