"""Bringing back a dead daemon: with the command it gave, after a while, ever less often."""

from __future__ import annotations

import os
import signal

from .children import ALL_SIGNALS
from .protocol import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .protocol import Message

LONGEST_GAP_S = 60.0
# A daemon that was there for less has not shown that it can live: its restarts go on slowing down.
STEADY_AFTER_S = 60.0
LONGEST_AFTER_S = 3600


class Revival:
    """Off until a daemon says how; off again when it leaves on purpose."""

    def __init__(self) -> None:
        self.tries = 0
        self._argv: list[str] = []
        self._env: dict[str, str] = {}
        self._after_s = 0.0
        self._came_at = 0.0
        self._due_at: float | None = None
        self._pid = 0

    def learn(self, how: Message | None, now: float, *, pid: int = 0) -> None:
        """From a hello: the daemon is there, so nothing is due."""
        self._came_at, self._due_at = now, None
        self._call_off(pid)
        if how is None:
            return
        argv, env, after_s = how.get("argv"), how.get("env", {}), how.get("after_s", 2.0)
        if not isinstance(argv, list) or not argv or not isinstance(env, dict):
            raise Refused("bad_request", "restart: a list argv and an object env are wanted")
        if not all(isinstance(text, str) for text in [*argv, *env, *env.values()]):
            raise Refused("bad_request", "restart: argv and env hold texts")
        if type(after_s) not in (int, float) or not 0 < after_s <= LONGEST_AFTER_S:
            raise Refused("bad_request", f"restart: after_s is above 0, up to {LONGEST_AFTER_S}")
        self._argv, self._env, self._after_s = argv, env, float(after_s)

    @property
    def is_on(self) -> bool:
        return bool(self._argv)

    def off(self) -> None:
        self._argv, self._due_at = [], None

    def _call_off(self, daemon: int) -> None:
        """One that we started and that is still on its way, while another has come: should that one
        be stopped in a moment, it would take its place."""
        if self._pid and daemon and daemon != self._pid:
            os.kill(self._pid, signal.SIGTERM)  # our child, not yet reaped: the number is its own

    def daemon_went(self, now: float) -> None:
        if now - self._came_at >= STEADY_AFTER_S:
            self.tries = 0
        self._due_at = now + self._gap_s() if self._argv else None

    def reaped(self, pid: int) -> None:
        if pid == self._pid:
            self._pid = 0

    def wait_s(self, now: float) -> float | None:
        return None if self._due_at is None else max(0.0, self._due_at - now)

    def act(self, now: float) -> None:
        """Not a second one while the first lives: it may be busy with its recovery."""
        if self._due_at is None or now < self._due_at:
            return
        if self._pid:
            self._due_at = now + self._gap_s()
            return
        self.tries += 1
        self._due_at = now + self._gap_s()
        null = [(os.POSIX_SPAWN_OPEN, n, "/dev/null", os.O_RDWR, 0) for n in range(3)]
        try:
            self._pid = os.posix_spawnp(
                *(self._argv[0], self._argv, self._env),
                file_actions=null,
                setsid=True,
                setsigmask=[],
                setsigdef=ALL_SIGNALS,
            )
        except (OSError, ValueError):
            self._pid = 0

    def _gap_s(self) -> float:
        return min(self._after_s * (1 << min(self.tries, 10)), max(LONGEST_GAP_S, self._after_s))
