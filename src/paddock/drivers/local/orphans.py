"""Attempts whose keeper is dead: found by their marks, watched by looking, ended by ourselves.

Nobody is told of their exits any more, so one that is gone is lost: its end is not invented. What
it left behind does not outlive its main process, as with a keeper.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Iterable
from typing import Final

from paddock.drivers.local.containment import Containment
from paddock.drivers.local.keeper.members import (
    DEAD_STATES,
    Process,
    harm_of,
    look_at,
    send,
    send_each,
)
from paddock.drivers.local.life import Life
from paddock.drivers.local.memory import Marks

LOOK_S: Final = 0.25
KILLING_LOOK_S: Final = 0.05
HURRY_S: Final = 5.0  # after a kill; who is not gone then cannot be killed, and is not raced for
# One look may come too early: between vfork and exec a new agent does not carry its mark yet.
LOOKS: Final = 2

REASON: Final = "its keeper was killed, so its exit is not known"

log = logging.getLogger("paddock.local")


class Orphans:
    """Looks at all of them at once, and only while there are any."""

    def __init__(
        self, marks: Marks, containment: Containment, *, gone: Callable[[Life], None]
    ) -> None:
        self._marks = marks
        self._containment = containment
        self._gone = gone
        self._lives: dict[str, Life] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._hurried_until = 0.0

    def take(self, life: Life) -> None:
        self._lives[life.mark] = life
        if not life.pid:
            self._look_soon(0.0)  # while its main process lives, that can still be found out
        elif self._timer is None:
            self._look_soon(LOOK_S)

    def drop(self, life: Life) -> None:
        self._lives.pop(life.mark, None)

    def signal(self, life: Life, number: int) -> int:
        return send_each(self._members().get(life.mark, []), number)

    def signal_main(self, life: Life, number: int) -> None:
        """A polite one: not where it would do harm."""
        main = look_at(life.pid) if life.pid else None
        if main is not None and main.start == life.start and harm_of(life.pid, number) is None:
            send(life.pid, life.start, number)

    def hurry(self) -> None:
        """Somebody is being killed."""
        self._hurried_until = asyncio.get_running_loop().time() + HURRY_S
        self._look_soon(0.0)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        self._lives.clear()

    def _look(self) -> None:
        """Nobody else would ever look again: whatever this one meets, the next one comes."""
        self._timer = None
        try:
            self._look_at_all()
        except OSError as error:  # no descriptor left: who cannot be seen is not gone
            log.warning("attempts without a keeper could not be looked at: %s", error)
        if self._lives and self._timer is None:
            hurries = asyncio.get_running_loop().time() < self._hurried_until
            self._look_soon(KILLING_LOOK_S if hurries else LOOK_S)

    def _look_at_all(self) -> None:
        members = self._members() if self._lives else {}
        for life in list(self._lives.values()):
            mine = members.get(life.mark, [])
            # Without its mark, too: then it is still in the cgroup.
            inside = self._containment.pids(life.attempt)
            _find_main(life, mine, inside)
            is_any = bool(mine or inside)
            life.missed = 0 if is_any else life.missed + 1
            if is_any and (life.stop is not None or _is_headless(life)):
                self._containment.kill(life.attempt)
                send_each(mine, signal.SIGKILL)
            elif life.missed >= LOOKS:
                self.drop(life)
                self._gone(life)

    def _look_soon(self, wait_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(wait_s, self._look)

    def _members(self) -> dict[str, list[Process]]:
        return self._marks.census(self._lives.values(), 0).members


def _find_main(life: Life, mine: list[Process], inside: Iterable[int]) -> None:
    """Of one that only the dead knew: its first process. All others came from that. It may have
    put its name where its mark was (setproctitle), and is known by its cgroup then."""
    if life.pid or not mine:
        return
    found = (*mine, *filter(None, map(look_at, inside)))
    main = min(found, key=lambda process: (process.start, process.pid))
    life.pid, life.start = main.pid, main.start


def _is_headless(life: Life) -> bool:
    """Its main process has ended, and nobody was told; where that was told, the loop decides."""
    if not life.pid or life.exit is not None:
        return False
    main = look_at(life.pid)
    return main is None or main.start != life.start or main.state in DEAD_STATES
