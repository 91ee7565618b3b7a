"""From the agent's pen to the browser: its output followed, cleaned, sent on in small pieces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from paddock.client import AsyncClient, ClientError, Failed, NotFound, Record
from paddock.client.faces import Cleaner, format_size

# As often as a screen is worth it; a quiet agent's line goes at once.
GATHER_S: Final = 0.05
# An agent that writes faster than anybody reads: only the end of each piece is shown.
MOST_AT_ONCE: Final = 128 * 1024
AGAIN_S: Final = 1.0


class Tail:
    """`show` gets text, `note` a word of ours about it."""

    def __init__(
        self,
        client: AsyncClient,
        run: str,
        *,
        lines: int,
        show: Callable[[str], None],
        note: Callable[[str], None],
    ) -> None:
        self._client = client
        self._run = run
        self._lines = lines
        self._show = show
        self._note = note
        self._cleaner = Cleaner(colours=True)
        self._held = bytearray()
        self._skipped = 0
        self._wake = asyncio.Event()
        self._at: int | None = None

    async def follow(self) -> None:
        """Until the run has ended and all is shown. A daemon that went away is waited for."""
        sending = asyncio.create_task(self._send())
        try:
            while not await self._read():
                await asyncio.sleep(AGAIN_S)
            while self._held:
                await asyncio.sleep(GATHER_S)
            if self._at is None:
                self._note("There is no output.")
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def _read(self) -> bool:
        """Whether it came to the end."""
        lines = self._lines if self._at is None else None
        records = self._client.log_records(
            self._run, from_byte=self._at or 0, lines=lines, follow=True
        )
        try:
            async for record in records:
                self._take(record)
        except NotFound:
            return True
        except Failed as error:
            if error.code != "lost":
                self._note(str(error))
            return False
        except (ClientError, OSError):
            return False
        return True

    def _take(self, record: Record) -> None:
        if record.missing_bytes and self._at is not None:
            self._skipped += record.missing_bytes
        self._at = record.end
        self._held += record.data
        if len(self._held) > MOST_AT_ONCE:
            over = len(self._held) - MOST_AT_ONCE // 2
            self._skipped += over
            del self._held[:over]
        self._wake.set()

    async def _send(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            if self._skipped:
                self._note(f"… {format_size(self._skipped)} not shown: it came too fast …")
                self._skipped = 0
            piece = bytes(self._held)
            self._held.clear()
            if clean := self._cleaner.text(piece):
                self._show(clean)
            await asyncio.sleep(GATHER_S)
