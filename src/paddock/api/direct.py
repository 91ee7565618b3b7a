"""A way to a client for the one thread that is not the loop's.

A transport may be used by the loop alone, and it may close its socket at any moment: a number that
is written to then could be somebody else's already. So this has a number of its own, which stays
open as long as anybody holds this object, and is closed with the last who does.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress


class Direct:
    __slots__ = ("_number",)

    def __init__(self, peer: socket.socket) -> None:
        self._number = -1
        self._number = os.dup(peer.fileno())

    def send(self, data: bytes) -> int:
        """How much of it is on its way. Never waits: the other end may not be reading."""
        try:
            return os.write(self._number, data)
        except OSError:
            return 0  # the loop will meet the same, and knows what to do

    def __del__(self) -> None:
        if self._number >= 0:
            with suppress(OSError):
                os.close(self._number)
