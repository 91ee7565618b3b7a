"""Whether the daemon still does anything: one that is stopped, or hangs, holds up every agent.

It says something every few seconds. Silence is counted in looks of our own, not in time: after a
suspended machine or a paused container, and after we ourselves stood still, both begin anew.
"""

from __future__ import annotations

import os
import signal

from .members import look_at, read_proc, send
from .telling import log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .connection import Connection

LOOKS = 6


class Liveness:
    """Watches those that have said how long they may be silent (`ping`)."""

    __slots__ = ("_looks", "_next_at")

    def __init__(self) -> None:
        self._looks: dict[Connection, tuple[int, int]] = {}  # how much it had said, silent looks
        self._next_at = 0.0

    def wait_s(self, now: float, daemons: list[Connection]) -> float | None:
        watched = any(daemon.silent_at_most_s for daemon in daemons)
        return max(0.0, self._next_at - now) if watched else None

    def look(self, now: float, daemons: list[Connection]) -> None:
        watched = [daemon for daemon in daemons if daemon.silent_at_most_s]
        if not watched or now < self._next_at:
            return
        self._next_at = now + min(daemon.silent_at_most_s for daemon in watched) / LOOKS
        looks = {}
        for daemon in watched:
            said, silent = self._looks.get(daemon, (-1, 0))
            silent = silent + 1 if said == daemon.said else 0
            looks[daemon] = (daemon.said, silent)
            if silent >= LOOKS:
                looks[daemon] = (daemon.said, 0)
                end_silent(daemon)
        self._looks = looks


def end_silent(daemon: Connection) -> None:
    """SIGKILL: what is stopped hears nothing else. Not to one that a debugger holds."""
    pid, start = daemon.peer
    process = look_at(pid) if pid > 1 else None
    if process is None or process.start != start or not is_ours(pid) or is_traced(pid):
        return
    silent_s = daemon.silent_at_most_s
    log.say(f"the daemon (pid {pid}) has said nothing for {silent_s:g} s: killed")
    send(pid, start, signal.SIGKILL)


def is_ours(pid: int) -> bool:
    try:
        return os.stat(f"/proc/{pid}").st_uid == os.geteuid()  # noqa: PTH116  costs 1.4 MB
    except OSError:
        return False


def is_traced(pid: int) -> bool:
    return b"\nTracerPid:\t0\n" not in read_proc(pid, "status")
