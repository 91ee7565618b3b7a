"""A `ports.Capture` for drivers that stand alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from paddock.core.run import Attempt
from paddock.ports import Fate, Launch

NO_CAP_BYTES: Final = 1 << 50


class KeepAll:
    """One file an attempt, however large; on a full disk the agent waits."""

    def expect(self, launch: Launch) -> int:  # noqa: ARG002
        return NO_CAP_BYTES

    def fate(self, attempt: Attempt) -> Fate:  # noqa: ARG002
        return Fate.KEEP

    def when_free(self, attempt: Attempt, then: Callable[[], None]) -> None: ...

    def moved(self, attempt: Attempt, size_bytes: int) -> None: ...

    def discard(self, attempt: Attempt, fifo_fd: int, count: int) -> bool:  # noqa: ARG002
        return False

    def refused(self, attempt: Attempt) -> None: ...

    def closed(self, attempt: Attempt) -> None: ...


KEEP_ALL: Final = KeepAll()
