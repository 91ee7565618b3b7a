"""What something long is at: one line on stderr that is written over itself, on terminals only.

Elsewhere only what was found is said, a line each, as ever.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Final, Self

from paddock.core.units import format_duration

from .printing import note, safe, terminal_width
from .tables import cut

EVERY_S: Final = 1.0
_ERASED: Final = "\r\x1b[K"


class LiveLine:
    """Drawn once a second, with the time that has gone: whoever waits sees that it is not stuck."""

    def __init__(self, stream: IO[str] | None = None, *, every_s: float = EVERY_S) -> None:
        self._stream = stream or sys.stderr
        self._every_s = every_s
        self._began = time.monotonic()
        self._text = ""
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._draw, name="live line", daemon=True)

    def __enter__(self) -> Self:
        if self._stream.isatty() and os.environ.get("TERM") != "dumb":
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        self._erase()

    def now(self, text: str) -> None:
        """As often as one likes."""
        self._text = text

    def say(self, text: str) -> None:
        """A line that stays."""
        with self._lock:
            self._erase()
            note(text)
            self._text = text

    def _draw(self) -> None:
        while not self._over.wait(self._every_s):
            gone = format_duration(round(time.monotonic() - self._began))
            width = terminal_width(self._stream) or 80
            line = cut(f"{safe(self._text)} · {gone}" if self._text else gone, width - 1)
            with self._lock, suppress(OSError, ValueError):  # a terminal that was closed
                self._stream.write(f"{_ERASED}{line}")
                self._stream.flush()

    def _erase(self) -> None:
        if self._thread.ident is not None:
            with suppress(OSError, ValueError):
                self._stream.write(_ERASED)
                self._stream.flush()


@contextmanager
def meanwhile(text: str) -> Iterator[None]:
    """What is waited for, should it take longer than a second."""
    with LiveLine() as line:
        line.now(text)
        yield
