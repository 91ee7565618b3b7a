"""A file that is given up when the disk is full: room for a daemon to start, and so to kill.

Without it a full disk and a dead daemon would leave agents that nobody can stop in good order.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

BYTES: Final = 512 * 1024


class Ballast:
    def __init__(self, state: Path) -> None:
        self._path = state / "ballast"

    def take_aboard(self) -> None:
        """Written, not only sized: a file of holes holds no room. Not worth failing for."""
        with contextlib.suppress(OSError):
            if self._path.exists() and self._path.stat().st_size == BYTES:
                return
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
            flags |= os.O_NONBLOCK  # a pipe in its place is no ballast, and nobody waits in it
            file = os.open(self._path, flags, 0o600)
            try:
                os.posix_fallocate(file, 0, BYTES)
            except OSError:
                self._path.unlink(missing_ok=True)
            finally:
                os.close(file)

    def throw(self) -> bool:
        """Whether there was any."""
        try:
            self._path.unlink()
        except OSError:
            return False
        return True
