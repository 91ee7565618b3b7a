"""Follows what one agent writes, into a buffer. Who writes too fast is sampled, not waited for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Final, cast

from paddock.client import AsyncClient, ClientError, NotFound, Record
from paddock.client.faces import format_size

from .log_buffer import LogBuffer

AGAIN_S: Final = 0.5
# More than this within a window is more than anybody reads, and than top could show: then the last
# lines are asked for anew, once a window.
WINDOW_S: Final = 0.1
MOST_A_WINDOW: Final = 512 * 1024


class LogFeed:
    def __init__(self, client: AsyncClient, buffer: LogBuffer, changed: Callable[[], None]) -> None:
        self._client = client
        self.buffer = buffer
        self._changed = changed
        self._at: int | None = None  # how far it was read; None: begin with the last lines
        self._fresh = True

    async def follow(self, run: str) -> None:
        """Until it has ended and all was told."""
        self._at, self._fresh = None, True
        while True:
            try:
                if await self._read(run):
                    return
            except NotFound:
                return
            except (ClientError, OSError):
                await asyncio.sleep(AGAIN_S)

    async def _read(self, run: str) -> bool:
        """False: there is more of it than can be read, or somebody broke off."""
        before, window_at, taken = self._at, time.monotonic(), 0
        begin = {"lines": self.buffer.most_lines} if before is None else {"from_byte": before}
        records = self._client.log_records(run, follow=True, **begin)
        async with aclosing(cast(AsyncGenerator[Record, None], records)) as following:
            async for record in following:
                self._take(record)
                taken += len(record.data)
                now = time.monotonic()
                if now - window_at > WINDOW_S:
                    window_at, taken = now, 0
                elif taken > MOST_A_WINDOW:
                    self._at = None
                    break
        if self._at is None and taken:
            await asyncio.sleep(WINDOW_S)
            return False
        if self._fresh:  # it has written nothing at all
            self.buffer.clear()
            self._changed()
        # A daemon that leaves may end the stream in good order before the run has ended.
        return self._at == before and (await self._client.run(run)).state == "ended"

    def _take(self, record: Record) -> None:
        if self._at is None:
            self.buffer.clear()  # only now: until then the old lines are better than none
        elif record.missing_bytes:
            self.buffer.note(f"[{format_size(record.missing_bytes)} are not kept any more]")
        self._at, self._fresh = record.end, False
        self.buffer.feed(record.data)
        self._changed()
