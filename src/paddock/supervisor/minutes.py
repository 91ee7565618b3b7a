"""The last minute of each attempt: the most it used in each second of it, and its last looks.

Not the last sixty looks: near the last step there are twenty a second, and a minute is wanted then
above all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Final

from paddock.core.run import Attempt

SECONDS: Final = 60
LOOKS: Final = 12  # as they were: how it went at the very end

Sample = tuple[float, int]  # when, and how much


class _Minute:
    __slots__ = ("looks", "seconds")

    def __init__(self) -> None:
        self.seconds: deque[Sample] = deque(maxlen=SECONDS)
        self.looks: deque[Sample] = deque(maxlen=LOOKS)

    def add(self, now: float, used_bytes: int) -> None:
        self.looks.append((now, used_bytes))
        if self.seconds and int(self.seconds[-1][0]) == int(now):
            self.seconds[-1] = (now, max(self.seconds[-1][1], used_bytes))
        else:
            self.seconds.append((now, used_bytes))

    def whole(self) -> list[Sample]:
        """The seconds up to the last looks, and these."""
        since = self.looks[0][0]
        return [*(one for one in self.seconds if one[0] < since), *self.looks]


class Minutes:
    def __init__(self) -> None:
        self._of: dict[Attempt, _Minute] = {}

    def seen(self, used: Mapping[Attempt, int], now: float) -> None:
        """One look of the eyes."""
        for attempt, used_bytes in used.items():
            if attempt not in self._of:
                self._of[attempt] = _Minute()
            self._of[attempt].add(now, used_bytes)

    def recent_bytes(self, attempt: Attempt, now: float) -> tuple[int, ...]:
        """Oldest first, as far as somebody looked."""
        if (minute := self._of.get(attempt)) is None:
            return ()
        since = int(now) - SECONDS
        return tuple(used for at, used in minute.seconds if int(at) > since)

    def let_go(self, attempt: Attempt) -> list[Sample]:
        minute = self._of.pop(attempt, None)
        return minute.whole() if minute is not None else []
