"""Keeps the picture up to date: a look a second, and at once when something happens.

A daemon that goes away, stopped or restarted, is waited for; the picture says so meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from paddock.client import AsyncClient, ClientError
from paddock.client.faces import views as v

from .picture import Picture

EVERY_S: Final = 1.0
# However much happens: a look at a thousand runs takes daemon and top 20 ms each.
SOONEST_S: Final = 0.2
AGAIN_S: Final = 0.5
ENDED: Final = 200  # so many of the ended are listed, the newest
# A daemon that is stopped in the middle of an answer never gives it.
ANSWER_S: Final = 15.0


class Feed:
    def __init__(self, client: AsyncClient, picture: Picture, changed: Callable[[], None]) -> None:
        self._client = client
        self._picture = picture
        self._changed = changed
        self._woken = asyncio.Event()
        self._ended: list[v.RunView] = []
        self._ended_count: int | None = None
        self._curves_known = False

    def wake(self) -> None:
        """Something was done, or happened: look now."""
        self._woken.set()

    async def watch(self) -> None:
        while True:
            self._woken.clear()
            try:
                async with asyncio.timeout(ANSWER_S):
                    await self._look()
            except (ClientError, OSError) as error:
                self._lost(error)
                await asyncio.sleep(AGAIN_S)
                continue
            self._changed()
            await asyncio.sleep(SOONEST_S)
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY_S - SOONEST_S):
                    await self._woken.wait()

    async def listen(self) -> None:
        """What happens is only a reason to look: the picture is never pieced together from it."""
        while True:
            with suppress(ClientError, OSError):
                async for _ in self._client.events():
                    self.wake()
            await asyncio.sleep(AGAIN_S)

    async def _look(self) -> None:
        client = self._client
        status, runs, memory = await asyncio.gather(
            client.status(), client.runs(), client.memory(recent=not self._curves_known)
        )
        count = status.counts.get("ended", 0)
        if count != self._ended_count:
            self._ended = await client.runs(state="ended", limit=ENDED)
            self._ended_count = count
        self._curves_known = True
        self._picture.take(status, runs, self._ended, memory)

    def _lost(self, error: Exception) -> None:
        """Whoever comes next knows other curves, and may have forgotten some that ended."""
        self._curves_known, self._ended_count = False, None
        said = str(error) or "the daemon does not answer"
        if self._picture.gone != said:
            self._picture.gone = said
            self._changed()
