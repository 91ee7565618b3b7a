"""The configuration, read again when a file of it changes.

A mistake in it changes nothing, and is told until it is mended.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from paddock.config.layers import HOST_FILE, user_file

LOOK_S: Final = 2.0

log = logging.getLogger("paddock.daemon")


class Configuration:
    def __init__(self, take: Callable[[], None]) -> None:
        """`take` reads it and does what it says; it raises whatever is wrong with it."""
        self._take = take
        self._wrong: str | None = None

    async def watch(self) -> None:
        """A change of a file counts within seconds: errors may name the key to change."""
        seen = _looks()
        while True:
            await asyncio.sleep(LOOK_S)
            if (found := _looks()) != seen:
                seen = found
                self.read_again()

    def read_again(self) -> None:
        """Also at SIGHUP."""
        try:
            self._take()
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the daemon lives
            self._wrong = str(error)
            log.error("the configuration is as before: %s", error)
        else:
            self._wrong = None
            log.info("the configuration was read again")

    def notices(self) -> tuple[str, ...]:
        if self._wrong is None:
            return ()
        what = " ".join(self._wrong.split())
        return (f"the configuration is as before, because it has a mistake: {what}",)


def _looks() -> list[tuple[int, int] | None]:
    return [_look(file) for file in (HOST_FILE, user_file())]


def _look(file: Path) -> tuple[int, int] | None:
    try:
        facts = file.stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_ino
