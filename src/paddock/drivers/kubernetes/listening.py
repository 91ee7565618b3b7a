"""An agent's output from the cluster: lines with their time, taken up again where a line broke.

The entry of a container speaks in the same stream: what lies between its marks is for the driver.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from typing import Final

from paddock.cluster.client import Api, ClusterTrouble, Refused
from paddock.cluster.labels import CONTAINER

SEPARATOR: Final = b"\x1e"
_TIME: Final = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) ")
LONGEST_TIME: Final = 40
PAUSE_S: Final = 0.2
LONGEST_PAUSE_S: Final = 5.0


class Marks:
    """Takes what the entry says out of a stream that comes in pieces."""

    def __init__(self, mark: str) -> None:
        self._begin = SEPARATOR + mark.encode() + b":"
        self._held = b""

    def split(self, data: bytes) -> tuple[bytes, list[str]]:
        data, self._held = self._held + data, b""
        kept: bytes = b""
        words: list[str] = []
        while (at := data.find(SEPARATOR)) >= 0:
            head = data[at : at + len(self._begin)]
            if not self._begin.startswith(head[: len(self._begin)]):
                kept, data = kept + data[: at + 1], data[at + 1 :]  # the agent's own
                continue
            end = data.find(SEPARATOR, at + 1) if len(head) == len(self._begin) else -1
            if end < 0:
                self._held = data[at:]
                return kept + data[:at], words
            words.append(data[at + len(self._begin) : end].decode("ascii", "replace"))
            kept, data = kept + data[:at], data[end + 1 :]
        return kept + data, words

    def rest(self) -> bytes:
        held, self._held = self._held, b""
        return held


class Times:
    """Takes the times off lines, and leaves out lines that were there before."""

    def __init__(self) -> None:
        self.last = b""  # of the newest line that was taken
        self._open = False  # within a line whose time was taken
        self._drop = False
        self._held = b""

    def begin_anew(self) -> None:
        self._open, self._held = False, b""

    def strip(self, data: bytes) -> Iterator[bytes]:
        data, self._held = self._held + data, b""
        while data:
            if not self._open:
                found = _TIME.match(data)
                if found is None and len(data) < LONGEST_TIME and b"\n" not in data:
                    self._held = data
                    return
                if found is not None:
                    self._drop = found[1] <= self.last
                    self.last = max(self.last, found[1])
                    data = data[found.end() :]
                self._open = True
            line, newline, data = data.partition(b"\n")
            if not self._drop:
                yield line + newline
            self._open = not newline


class Listener:
    """One attempt's log, until its container has ended. `skip`: bytes that were kept before."""

    def __init__(  # noqa: PLR0913 - each by name
        self,
        api: Api,
        pod: str,
        *,
        mark: str,
        write: Callable[[bytes], None],
        hear: Callable[[str], None],
        skip: int = 0,
    ) -> None:
        self._api, self._pod, self._write, self._hear = api, pod, write, hear
        self._marks, self._times, self._skip = Marks(mark), Times(), skip
        self.over = False  # its container has ended: what comes now is the rest

    async def listen(self) -> None:
        pause_s = PAUSE_S
        while True:
            before = self._times.last
            try:
                await self._once()
                if self.over:
                    break
            except (Refused, ClusterTrouble) as error:
                gone = isinstance(error, Refused) and error.code == 404
                if gone or (self.over and pause_s >= LONGEST_PAUSE_S):
                    break
            pause_s = PAUSE_S if self._times.last != before else min(2 * pause_s, LONGEST_PAUSE_S)
            await asyncio.sleep(pause_s)
        self._keep(self._marks.rest())

    async def _once(self) -> None:
        self._times.begin_anew()
        since = self._times.last.decode() or None
        async with self._api.log(self._pod, container=CONTAINER, since=since) as pieces:
            async for piece in pieces:
                for part in self._times.strip(piece):
                    self._take(part)

    def _take(self, data: bytes) -> None:
        kept, words = self._marks.split(data)
        self._keep(kept)
        for word in words:
            self._hear(word)

    def _keep(self, data: bytes) -> None:
        left_out = min(self._skip, len(data))
        self._skip -= left_out
        if data := data[left_out:]:
            self._write(data)
