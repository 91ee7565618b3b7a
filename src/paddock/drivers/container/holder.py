"""The holder: a small process that keeps every attempt's FIFO open, and empties it with no daemon.

Without it, what an agent wrote and nobody had read would go with its container, and an agent that
writes more than a pipe holds would stand still until the next daemon. It speaks with nobody: it
looks at the directory of attempts, and at who holds the mover's lock. Standard library only.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Final

from paddock.drivers.container.moving import Lock, move, open_fifo

MOVER_LOCK: Final = "mover.lock"
HOLDER_LOCK: Final = "holder.lock"
LOOK_S: Final = 0.25
BUSY_LOOK_S: Final = 0.01  # between turns the lock is free: a new daemon gets it in this time


class Holder:
    def __init__(self, live: str, output: str) -> None:
        self._live, self._output = live, output
        self._mover = Lock(f"{live}/{MOVER_LOCK}")
        self._held: dict[str, int] = {}

    def live(self) -> None:
        """Until no daemon is there and no attempt. Decided with the lock in hand, so that a daemon
        that comes just then finds either this one or none."""
        while True:
            self._hold()
            moved = 0
            if self._mover.take():
                if not self._held:
                    return
                moved = self._move()
                self._mover.leave()
            time.sleep(BUSY_LOOK_S if moved else LOOK_S)

    def _hold(self) -> None:
        """Those that have come since, and no longer those that went."""
        there = _fifos(self._live)
        for name in self._held.keys() - there.keys():
            os.close(self._held.pop(name))
        for name in there.keys() - self._held.keys():
            try:
                self._held[name] = open_fifo(there[name])
            except OSError:
                continue  # just being made, or no FIFO: looked at again

    def _move(self) -> int:
        moved = 0
        for name, fifo_fd in self._held.items():
            run, _, number = name.rpartition(".")
            try:
                moved += move(fifo_fd, f"{self._output}/{run}/{number}.log").moved_bytes
            except OSError:
                continue  # a full disk: the pipe keeps it, and the agent waits
        return moved


def _fifos(live: str) -> dict[str, str]:
    """By `RUN.NUMBER`."""
    with os.scandir(live) as entries:
        names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    return {name: f"{live}/{name}/in/out" for name in names}


def launch(live: Path, output: Path) -> None:
    """Unless one is there. It is nobody's child: a daemon that ends leaves it behind."""
    lock = Lock(str(live / HOLDER_LOCK))
    try:
        if not lock.take():
            return
    finally:
        lock.close()
    source = str(Path(__file__).parents[3])
    code = f"import sys; sys.path.insert(0, {source!r}); import {__name__} as h; h.main()"
    null = [(os.POSIX_SPAWN_OPEN, n, "/dev/null", os.O_RDWR, 0) for n in (0, 1, 2)]
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, "-I", "-S", "-E", "-c", code, str(live), str(output)],
        {"PATH": os.defpath},
        file_actions=null,
        setsid=True,
    )
    os.waitpid(pid, 0)


def main() -> None:
    if os.fork():
        os._exit(0)
    live, output = sys.argv[1:]
    own = Lock(f"{live}/{HOLDER_LOCK}")
    if own.take():
        Holder(live, output).live()
