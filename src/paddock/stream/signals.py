"""Signals as something to poll: their numbers come out of a pipe, in the order they came."""

# contextlib would cost 0.6 MB of memory.
# ruff: noqa: SIM105
from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal  # `signal` makes enums of all of them: 0.9 MB

ENDING = (_signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP)
CHECKPOINT = _signal.SIGUSR2


class Signals:
    __slots__ = ("descriptor",)

    def __init__(self) -> None:
        self.descriptor, write_end = os.pipe()
        for end in (self.descriptor, write_end):
            os.set_blocking(end, False)
        _signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        for number in (_signal.SIGCHLD, CHECKPOINT, *ENDING):
            # Whoever ignores Ctrl-C or a lost terminal for us means it.
            if number not in ENDING or _signal.getsignal(number) is not _signal.SIG_IGN:
                _signal.signal(number, _nothing)

    def take(self) -> bytes:
        try:
            return os.read(self.descriptor, 1024)
        except BlockingIOError:
            return b""


def _nothing(number: int, frame: object) -> None:
    """That it is handled at all lets its number come through the pipe."""


def end(pid: int) -> None:
    _send(pid, _signal.SIGTERM)


def kill(pid: int) -> None:
    _send(pid, _signal.SIGKILL)


def _send(pid: int, number: int) -> None:
    """To a step and what it started; it is not reaped yet, so the number is still its own."""
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        pass
