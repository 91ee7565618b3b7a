"""Bodies of requests while they come: how much of them is held in all, and where."""

from __future__ import annotations

import mmap
from contextlib import suppress
from typing import Final, Self

from .problems import Declined, trouble

MIB: Final = 1024 * 1024
MOST: Final = 128 * MIB  # held of all bodies together
# So much of each is not counted: who wants to kill something is heard however full it is.
FREE: Final = 64 * 1024
FIRST: Final = 256 * 1024  # room at first; doubled when it is full


def busy() -> Declined:
    return trouble("busy with other large requests, try again")


class Bodies:
    """What all requests hold together. Beyond the most, a body that grows is declined."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.held = 0


class Share:
    """What one request holds of it; given back at its end, whatever that is."""

    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies
        self._held = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.hold(0)

    def hold(self, size: int) -> None:
        """So much from now on, in place of what it was."""
        size = max(size - FREE, 0)
        more = size - self._held
        if more > 0 and self._bodies.held + more > self._bodies.most:
            raise busy()
        self._bodies.held += more
        self._held = size


class Body(Share):
    """A body that comes in pieces. It lies in pages of its own, which go back to the system when
    it is done; the heap would keep them."""

    def __init__(self, bodies: Bodies) -> None:
        super().__init__(bodies)
        self.size = 0
        self._pages: mmap.mmap | None = None

    def __exit__(self, *_: object) -> None:
        if self._pages is not None:
            self._pages.close()
        super().__exit__()

    def add(self, piece: bytes) -> None:
        size = self.size + len(piece)
        self.hold(size)
        pages = self._with_room_for(size)
        pages[self.size : size] = piece
        self.size = size

    def view(self) -> memoryview:
        """To be released before the end."""
        return memoryview(self._with_room_for(self.size))

    def _with_room_for(self, size: int) -> mmap.mmap:
        room = FIRST
        while room < size:
            room *= 2
        with suppress(OSError):
            if self._pages is None:
                self._pages = mmap.mmap(-1, room, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            elif room > len(self._pages):
                self._pages.resize(room)
            return self._pages
        raise busy()
