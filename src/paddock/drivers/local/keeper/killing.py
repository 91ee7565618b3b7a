"""Killing attempts: rounds over all their processes until none is left, or time is up."""

# contextlib would cost 0.6 MB of memory.
# ruff: noqa: SIM105
from __future__ import annotations

import os
import signal
import time

from .members import DEAD_STATES, look_at, send, send_each

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .children import Attempt, Children
    from .connection import Connection
    from .members import Process

ROUND_S = 0.02
# A large process dies for long, and needs a core for it: who looks at all processes all the while
# takes that away. On two emulated cores 170 MB were gone after 0.2 to 0.4 s, before 0.2 to 1.9 s.
LONGEST_ROUND_S = 0.32
AT_MOST_S = 5.0
# A process that forks and leaves, again and again, is gone before a round comes to it. Who is left
# after a round is chased: without a pause, this long, or until nobody new has come for a while.
CHASE_S = 0.1
CHASE_QUIET_S = 0.01


class Killing:
    """One `kill_all` under way: asked by a client, answered when nothing is left or time is up.

    `also`: processes that the daemon knows to be of this attempt, whatever mark they wear now.
    `due_at`: when its next round is. The first may be later: the daemon has struck its cgroup.
    """

    __slots__ = (
        *("also", "attempt", "connection", "due_at", "request", "round_s", "rounds", "struck"),
        "until",
    )

    def __init__(
        self, attempt: str, connection: Connection, request: object, *, after_s: float = 0.0
    ) -> None:
        self.attempt, self.connection, self.request = attempt, connection, request
        self.also: list[tuple[int, int]] = []
        self.rounds = 0
        self.round_s = ROUND_S
        self.struck: set[tuple[int, int]] = set()
        self.due_at = time.monotonic() + after_s
        self.until = self.due_at + AT_MOST_S

    def note(self, left: list[Process]) -> None:
        """While all that is left was struck before it only dies: rounds are fewer then."""
        fresh = {(one.pid, one.start) for one in left} - self.struck
        self.struck |= fresh
        self.rounds += 1
        only_dies = left and not fresh
        self.round_s = min(2 * self.round_s, LONGEST_ROUND_S) if only_dies else ROUND_S


class Killings:
    def __init__(self, children: Children) -> None:
        self._children = children
        self._killings: list[Killing] = []

    def add(self, killing: Killing) -> None:
        self._killings.append(killing)

    def wait_s(self, now: float) -> float | None:
        soonest = min((killing.due_at for killing in self._killings), default=None)
        return None if soonest is None else max(0.0, soonest - now)

    def go_on(self, now: float) -> None:
        """One round for all that are being killed: a look at all processes costs milliseconds."""
        due = [killing for killing in self._killings if killing.rounds or killing.due_at <= now]
        if not any(killing.due_at <= now for killing in due):
            return
        members = self._children.census().members
        going: list[Killing] = []
        for killing in due:
            left = members.get(killing.attempt, [])
            send_each(left, signal.SIGKILL)
            left += _still_there(killing, {one.pid for one in left})
            attempt = self._children.attempts.get(killing.attempt)
            self._strike_main(attempt)
            # A look at all processes may miss who hops; what the reaping found does not.
            gone = attempt is None or (not attempt.is_alive and attempt.empty)
            if (left or not gone) and now < killing.until:
                going.append(killing)
                killing.note(left)
                continue
            pids = [[one.pid, one.start] for one in left]
            killing.connection.send({"id": killing.request, "ok": not pids, "left": pids})
        self._killings = [one for one in self._killings if one not in due] + going
        survivors = {killing.attempt for killing in going if killing.rounds > 1}
        if survivors and self._chase(survivors):
            for killing in going:
                killing.round_s = ROUND_S
        pause_s = min((killing.round_s for killing in going), default=ROUND_S)
        for killing in going:
            killing.due_at = time.monotonic() + pause_s

    def _strike_main(self, attempt: Attempt | None) -> None:
        """Whatever the look at all processes said of it. It is not reaped, so its pid is its own;
        to its group, a signal is one step, and no fork in between escapes it."""
        if attempt is not None and attempt.is_alive and attempt.pid:
            send(attempt.pid, attempt.start, signal.SIGKILL)
            _strike_group(attempt.pid)

    def _chase(self, names: set[str]) -> bool:
        """What hops from fork to fork comes to us, the subreaper, once its parent has left. Whether
        anybody came."""
        struck: set[int] = set()
        now = time.monotonic()
        until, quiet_until = now + CHASE_S, now + CHASE_QUIET_S
        while now < min(until, quiet_until):
            fresh = [one for one in self._children.strays_of(names) if one.pid not in struck]
            groups = {one.group for one in fresh if one.session != os.getsid(0)}
            for group in groups:
                _strike_group(group)
            for one in fresh:
                if one.state not in DEAD_STATES:
                    _strike(one.pid)
            struck.update(one.pid for one in fresh)
            now = time.monotonic()
            if fresh:
                quiet_until = now + CHASE_QUIET_S
        return bool(struck)


def _still_there(killing: Killing, known: set[int]) -> list[Process]:
    found = []
    for pid, start in killing.also:
        if pid not in known and send(pid, start, signal.SIGKILL):
            process = look_at(pid)
            if process is not None and process.state not in DEAD_STATES:
                found.append(process)
    return found


def _strike(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass


def _strike_group(group: int) -> None:
    try:
        if group > 1:
            os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
