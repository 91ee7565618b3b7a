"""What paddock asks of an agent: to wrap up (soft timeout), and to keep a checkpoint.

Both come as a signal and as a file that appears. A signal may come before its handler is there, so
the file is looked at too; where no handler can be set (any thread but the main one) it is watched.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from .keeping import checkpoint, say_written

if TYPE_CHECKING:
    from collections.abc import Callable

SOFT_TIMEOUT = "PADDOCK_SOFT_TIMEOUT"
CHECKPOINT_REQUEST = "PADDOCK_CHECKPOINT_REQUEST"
LOOK_S = 0.25
LONGEST_REST_S = 60.0


def soft_timeout_passed() -> bool:
    """Whether half the time is over, or what was set instead: time to wrap up."""
    return _is_there(SOFT_TIMEOUT)


def checkpoint_asked() -> bool:
    """Whether this agent is to make room. To be asked between two units of work, by those who
    would rather not be interrupted; `checkpoint(...)` is the answer."""
    return _is_there(CHECKPOINT_REQUEST)


def on_soft_timeout(callback: Callable[[], object]) -> None:
    """Call it once when the soft timeout comes; at once, if it has come already.

    From the main thread it is called as a signal handler is: between two instructions of whatever
    the program does then.
    """
    _listen("SIGUSR1", SOFT_TIMEOUT, _once(callback))


def on_checkpoint(callback: Callable[[], object]) -> None:
    """Call it when this agent has to make room. What it returns is kept, as by `checkpoint`; if
    that is None, it has kept what it needs by itself.

    After it the program waits for its end, which is near: whatever it did now would be done a
    second time by the attempt that goes on from the checkpoint.
    """

    def asked() -> None:
        kept = callback()
        if kept is not None:
            checkpoint(kept)
        if say_written():
            _rest()

    _listen("SIGUSR2", CHECKPOINT_REQUEST, _once(asked))


def _listen(name: str, variable: str, act: Callable[[], None]) -> None:
    # Here and not above: together they are most of what importing this room would cost.
    import signal
    import threading

    try:
        signal.signal(signal.Signals[name], lambda _, __: act())
    except ValueError:  # not the main thread
        watch = threading.Thread(target=_watch, args=(variable, act), daemon=True)
        watch.start()
    else:
        if _is_there(variable):
            act()


def _watch(variable: str, act: Callable[[], None]) -> None:
    while os.environ.get(variable):
        if _is_there(variable):
            act()
            return
        time.sleep(LOOK_S)


def _once(act: Callable[[], object]) -> Callable[[], None]:
    """The signal and the file are one question."""
    done = False

    def once() -> None:
        nonlocal done
        if not done:
            done = True
            act()

    return once


def _rest() -> None:
    until = time.monotonic() + LONGEST_REST_S
    while time.monotonic() < until:
        time.sleep(LOOK_S)


def _is_there(variable: str) -> bool:
    path = os.environ.get(variable)
    return bool(path) and os.access(str(path), os.F_OK)
