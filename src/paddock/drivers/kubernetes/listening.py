"""An agent's output from the cluster: lines with their time, taken up again where a line broke.

The entry of a container speaks in the same stream: what lies between its marks is for the driver.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import lru_cache
from typing import Final

from paddock.cluster.client import Api, ClusterTrouble, Refused
from paddock.cluster.labels import CONTAINER

SEPARATOR: Final = b"\x1e"
_TIME: Final = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d+))?(?:Z|[+-]\d\d:\d\d)) ")
SECONDS: Final = len("2026-11-17T02:00:01")
MOST_NEWEST: Final = 1000  # times that are later: only where a clock was set back
LONGEST_TIME: Final = 40
LONGEST_WORD: Final = 32
PAUSE_S: Final = 0.2
LONGEST_PAUSE_S: Final = 5.0


class Marks:
    """Takes what the entry says out of a stream that comes in pieces."""

    def __init__(self, mark: str) -> None:
        self._begin = SEPARATOR + mark.encode() + b":"
        self._held = b""

    def split(self, data: bytes) -> tuple[bytes, list[str]]:
        """Each byte is looked at once: an agent may write nothing but separators."""
        data, self._held = self._held + data, b""
        kept: list[bytes] = []
        words: list[str] = []
        done, at = 0, data.find(SEPARATOR)
        while at >= 0:
            word_at = at + len(self._begin)
            end = -1
            if self._begin.startswith(data[at:word_at]):
                end = data.find(SEPARATOR, word_at, word_at + LONGEST_WORD + 1)
                if end < 0 and len(data) <= word_at + LONGEST_WORD:
                    self._held = data[at:]
                    return b"".join((*kept, data[done:at])), words
            if end >= 0:
                words.append(data[word_at:end].decode("ascii", "replace"))
                kept.append(data[done:at])
                done = end + 1
            at = data.find(SEPARATOR, max(done, at + 1))  # one without a word is the agent's own
        return b"".join((*kept, data[done:])), words

    def rest(self) -> bytes:
        held, self._held = self._held, b""
        return held


class Times:
    """Takes the times off lines. After `begin_anew` it leaves out what was there before: as many
    lines of the last time as were taken, because many may have the same, and a node's clock may be
    set back."""

    def __init__(self) -> None:
        self.last = b""  # of the line that was taken last
        self._newest: Counter[int] = Counter()  # lines taken of its time, and of later ones
        self._again: Counter[int] = Counter()  # so many of each are still to be left out
        self._open = False  # within a line whose time was taken
        self._skip: int | None = 0  # bytes of it that were taken before; None: all
        self._cut: int | None = None  # bytes taken of the last one, while it has no end
        self._held = b""

    def begin_anew(self) -> None:
        self._again = Counter(self._newest)
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
                    self._begin_line(found)
                    data = data[found.end() :]
                self._open = True
            line, newline, data = data.partition(b"\n")
            if self._skip is not None:
                yield from self._new_of(line + newline)
                self._cut = None if newline else self._cut
            self._open = not newline

    def _begin_line(self, found: re.Match[bytes]) -> None:
        time_ns = _utc_ns(found[1], found[2] or b"")
        if self._again and time_ns < min(self._again):
            self._skip = None  # asked for from a time on, some give a little more
        elif self._again[time_ns] > 0:
            self._again[time_ns] -= 1
            self._again += Counter()  # without those of which none is left
            self._skip = None if self._again else self._cut  # the rest of the last one is new
        else:
            self._again.clear()
            self._skip = self._cut = 0
            self.last = found[1]
            self._note(time_ns)

    def _note(self, time_ns: int) -> None:
        if time_ns not in self._newest:
            later = [one for one in self._newest.items() if one[0] > time_ns]
            self._newest = Counter(dict(later[-MOST_NEWEST:]))
        self._newest[time_ns] += 1

    def _new_of(self, part: bytes) -> Iterator[bytes]:
        assert self._skip is not None
        left_out = min(self._skip, len(part))
        self._skip -= left_out
        if part := part[left_out:]:
            self._cut = (self._cut or 0) + len(part)
            yield part


def _utc_ns(text: bytes, fraction: bytes) -> int:
    """Of a time as a kubelet writes it, wherever that is."""
    zone = b"Z" if text.endswith(b"Z") else text[-6:]
    return _utc_s(text[:SECONDS] + zone) * 10**9 + int(fraction.ljust(9, b"0")[:9] or b"0")


@lru_cache(16)
def _utc_s(text: bytes) -> int:
    try:
        return int(datetime.fromisoformat(text.decode().replace("Z", "+00:00")).timestamp())
    except ValueError:  # no time at all: it is compared with itself alone
        return 0


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
