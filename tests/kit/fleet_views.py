"""A fleet as the API would tell it, made by hand: for what is shown, not for what is true."""

from __future__ import annotations

from typing import Any

from paddock.api.views_of import rungs_of
from paddock.core.policy import LadderPolicy
from paddock.wire import views as v

MIB, GIB = 1 << 20, 1 << 30
NOW = 1_800_000_000.0


def a_run_view(name: str = "implement", **more: Any) -> v.RunView:
    usual: dict[str, Any] = {
        "id": f"{name[:7]:x<8}",
        "name": name,
        "state": "running",
        "outcome": None,
        "exit_code": None,
        "priority": "normal",
        "group": "coder",
        "attempt": 1,
        "memory_bytes": 512 * MIB,
        "limit_bytes": 2 * GIB,
        "expected_bytes": 1 * GIB,
        "waits_for": None,
        "needs": (),
        "sentence": "running for 3 min",
        "submitted_at": NOW - 185.0,
        "since_at": NOW - 182.0,
    }
    return v.RunView(**usual | more)


def a_queued_view(name: str, place: int, reason: str) -> v.RunView:
    sentence = f"at place {place} in the queue: {reason}"
    more = {"waits_for": sentence, "sentence": sentence, "place": place, "memory_bytes": None}
    return a_run_view(name, state="queued", attempt=0, **more)


def an_ended_view(name: str, outcome: str, because: str, **more: Any) -> v.RunView:
    usual = {"state": "ended", "outcome": outcome, "because": because, "memory_bytes": None}
    return a_run_view(name, **usual | {"sentence": f"{outcome}: {because}"} | more)


def a_memory_view(run: v.RunView, **more: Any) -> v.MemoryView:
    usual: dict[str, Any] = {
        "id": run.id,
        "name": run.name,
        "group": run.group,
        "used_bytes": run.memory_bytes or 0,
        "expected_bytes": run.expected_bytes or 0,
        "limit_bytes": run.limit_bytes,
    }
    return v.MemoryView(**usual | more)


def a_status_view(**more: Any) -> v.StatusView:
    usual: dict[str, Any] = {
        "host": v.HostView(
            total_bytes=16 * GIB,
            available_bytes=10 * GIB,
            used_percent=37.5,
            ladder="calm",
            rungs=rungs_of(LadderPolicy(), 16 * GIB),
        ),
        "fleet": v.FleetView(
            limit_bytes=12 * GIB,
            expected_bytes=3 * GIB,
            used_bytes=2 * GIB,
            max_agents=5,
            max_agents_by="by the profile medium",
        ),
        "counts": {"running": 2, "queued": 2, "ended": 3},
        "queue": v.QueueView(waiting=0, depth=1000),
        "breakers": (),
        "driver": "local",
    }
    return v.StatusView(**usual | more)


def a_pressed_status_view() -> v.StatusView:
    """Everything at once that a head can have to say."""
    status = a_status_view()
    assert status.host is not None
    status.host.ladder, status.host.used_percent = "preempt", 87.0
    status.host.available_bytes = 2 * GIB
    status.host.because = "host memory at 87 % (step at 85 %)"
    first = v.Taken(id="q", name="tests", state="queued", place=1, waits_for="at place 1: full")
    status.queue = v.QueueView(waiting=2, depth=1000, first=(first,))
    status.breakers = (v.BreakerView(group="nightly", state="open", failures=3, retry_in_s=42.0),)
    status.notices = ("the disk is nearly full",)
    status.trouble = "the store cannot be written"
    status.heartbeats = (
        v.HeartbeatView(
            name="health", every_s=30.0, next_in_s=4.0, beats=2, skipped_pressure=1, skipped_busy=0
        ),
    )
    return status
