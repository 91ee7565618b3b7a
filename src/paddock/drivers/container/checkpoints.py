"""Waiting for checkpoints: an agent is asked by a file and SIGUSR2, and answers with a file."""

from __future__ import annotations

import asyncio
import os
from typing import Final

from paddock.core.events import CheckpointWritten
from paddock.core.run import Attempt
from paddock.drivers.container.life import Life
from paddock.drivers.container.signs import make_sign, remove_sign

LOOK_S: Final = 0.05


class Checkpoints:
    """No timer runs while nobody is asked."""

    def __init__(self) -> None:
        self._asked: dict[Attempt, Life] = {}
        self._timer: asyncio.TimerHandle | None = None

    def ask(self, life: Life) -> bool:
        """False if it was asked already. An older file is no answer."""
        if life.attempt in self._asked:
            return False
        remove_sign(life.box.file("checkpoint-written"))
        make_sign(life.box.file("checkpoint-request"))
        self._asked[life.attempt] = life
        self._watch()
        return True

    def drop(self, life: Life) -> None:
        self._asked.pop(life.attempt, None)

    def close(self) -> None:
        self._asked.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _watch(self) -> None:
        if self._timer is None and self._asked:
            self._timer = asyncio.get_running_loop().call_later(LOOK_S, self._look)

    def _look(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for life in list(self._asked.values()):
            if os.access(life.box.file("checkpoint-written"), os.F_OK):
                self.drop(life)
                remove_sign(life.box.file("checkpoint-request"))
                if not life.forgotten:
                    life.tell(CheckpointWritten(now, life.attempt))
        self._watch()
