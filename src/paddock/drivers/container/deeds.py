"""What is under way in the event loop for the driver: asked of an engine, and not waited for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeVar

from paddock.drivers.container.engine import EngineTrouble

T = TypeVar("T")
Deed = Callable[..., Coroutine[Any, Any, None]]

AGAIN_S: Final = (0.2, 1.0, 5.0, 15.0, 30.0)

log = logging.getLogger("paddock.container")


class Deeds:
    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def do(self, deed: Deed, *given: object) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(_safely(deed, *given))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def settled(self) -> None:
        while self._tasks:
            await asyncio.wait(list(self._tasks))

    def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()


async def _safely(deed: Deed, *given: object) -> None:
    """What cannot be done now is said; what must be repeated is repeated by who asked for it."""
    try:
        await deed(*given)
    except EngineTrouble as error:
        log.warning("%s", error)
    except Exception:
        log.exception("a deed of the container driver failed")


async def patiently(ask: Callable[[], Awaitable[T]]) -> T:
    """An engine that is just being restarted is no reason to give up."""
    for pause_s in AGAIN_S:
        try:
            return await ask()
        except EngineTrouble:
            await asyncio.sleep(pause_s)
    return await ask()
