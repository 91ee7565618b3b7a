"""What the keeper has to say, in a log that stays small: it lives for months, and so may a bug."""

# pathlib would cost 1.4 MB and contextlib 0.6 MB of memory.
# ruff: noqa: PTH104
from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

MOST_BYTES = 1 << 20  # then it is set aside, in the place of the one before it
AGAIN_S = 60.0  # one that comes back at every turn is told this often
# Not waiting: somebody may have laid a pipe there, and its agents need a keeper more than that
# needs a log.
FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK


class Log:
    """stdout and stderr. Without a path of its own they are somebody else's, and not bounded."""

    def __init__(self) -> None:
        self._path = ""
        self._bug: tuple[object, ...] = ()
        self._told_at = 0.0

    def begin(self, path: str) -> None:
        self._path = path
        try:
            if os.lstat(path).st_size > MOST_BYTES:
                os.rename(path, f"{path}.1")
        except OSError:
            pass
        try:
            out = os.open(path, FLAGS, 0o600)
        except OSError:
            out = os.open("/dev/null", os.O_RDWR)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.close(out)

    def say(self, text: str) -> None:
        self._stay_small()
        try:
            sys.stderr.write(f"paddock keeper: {text}\n")
            sys.stderr.flush()
        except OSError:  # on a full disk agents are kept all the same
            pass

    def bug(self, error: Exception) -> None:
        bug, now = (type(error), *_place(error.__traceback__)), time.monotonic()
        if bug == self._bug and now - self._told_at < AGAIN_S:
            return
        self._bug, self._told_at = bug, now
        self._stay_small()
        sys.excepthook(type(error), error, error.__traceback__)

    def _stay_small(self) -> None:
        if self._path and os.fstat(2).st_size > MOST_BYTES:
            self.begin(self._path)


def _place(trace: TracebackType | None) -> tuple[str, int]:
    """Where it was raised."""
    if trace is None:
        return "", 0
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_filename, trace.tb_lineno


log = Log()
