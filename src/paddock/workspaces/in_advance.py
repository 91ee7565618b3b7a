"""Empty directories that are made before anybody asks for them, while many are asked for.

An ext4 without a journal looks at everything that was removed in the last five seconds before it
has a place for a new one; a new name for one that is there needs no place. With two of them made by
a thread the loop used 1.10 ms for a short run, and 1.56 when it made them itself (decision 0008).
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final

PREFIX: Final = ".new-"
MOST: Final = 64
FEW: Final = MOST // 2
OFTEN_S: Final = 0.1  # between two that are asked for: then more are likely to follow
QUIET_S: Final = 5.0  # without one that is asked for: then those that were made go again
AMPLE_BYTES: Final = 64 * 1024 * 1024  # free on the disk; below it, room is worth more than time
ENDS_WITHIN_S: Final = 1.0


class InAdvance:
    """Those of one directory. `take` is for one thread only, and never waits for the disk longer
    than a rename does."""

    def __init__(self, top: Path) -> None:
        self._top = top
        self._spare: deque[str] = deque()
        self._numbers = count()
        self._asked_at = -OFTEN_S
        self._maker: threading.Thread | None = None
        self._wanted = threading.Event()
        self._is_closed = False

    def take(self, path: Path) -> bool:
        """Whether there is a new, empty directory of that name now. What is there is not touched,
        unless it is an empty directory itself."""
        self._want(time.monotonic())
        try:
            spare = self._spare.popleft()
        except IndexError:
            return False
        try:
            os.rename(spare, path)  # noqa: PTH104 - for every start
        except FileNotFoundError:
            return False  # somebody has removed it
        except OSError:
            self._spare.append(spare)
            return False
        return True

    def close(self) -> None:
        """Those that nobody took go, unless the disk hangs: then the next daemon removes them."""
        self._is_closed = True
        self._wanted.set()
        if self._maker is not None:
            self._maker.join(ENDS_WITHIN_S)

    def _want(self, now: float) -> None:
        is_often = now - self._asked_at < OFTEN_S
        self._asked_at = now
        if self._maker is not None and self._maker.is_alive():
            if len(self._spare) < FEW:
                self._wanted.set()
        elif is_often and not self._is_closed:
            self._maker = threading.Thread(target=self._make, name="in advance", daemon=True)
            self._maker.start()

    # -- in a thread ----------------------------------------------------------------------

    def _make(self) -> None:
        with suppress(OSError):  # then there are none: whoever makes one meets the same
            self._remove_old()
            while self._fill() and self._wait():
                pass
        while self._spare:
            with suppress(OSError, IndexError):
                os.rmdir(self._spare.popleft())  # noqa: PTH106 - likewise

    def _fill(self) -> bool:
        room = os.statvfs(self._top)
        if room.f_bavail * room.f_frsize < AMPLE_BYTES:
            return False
        while len(self._spare) < MOST and not self._is_closed:
            name = f"{self._top}/{PREFIX}{next(self._numbers)}"
            os.mkdir(name, 0o700)  # noqa: PTH102 - likewise
            self._spare.append(name)
        return not self._is_closed

    def _wait(self) -> bool:
        """Until more are wanted; False: it is quiet, or over."""
        self._wanted.clear()
        if self._is_closed:
            return False
        return len(self._spare) < FEW or self._wanted.wait(QUIET_S)

    def _remove_old(self) -> None:
        """What a daemon that was killed had made."""
        for each in self._top.glob(f"{PREFIX}*"):
            with suppress(OSError):
                each.rmdir()
