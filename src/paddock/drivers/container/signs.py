"""Files by which agent and driver speak beside signals: that one is there is all it says."""

from __future__ import annotations

import contextlib
import logging
import os

log = logging.getLogger("paddock.container")


def make_sign(path: str) -> None:
    """In a directory that the agent may write to: a link or a FIFO of its own is not followed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        os.close(os.open(path, flags, 0o644))
    except OSError as error:
        log.warning("an agent is told by signal only: %s", error)


def remove_sign(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)  # noqa: PTH108
