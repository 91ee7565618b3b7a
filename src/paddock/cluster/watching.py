"""A view of many objects that stays true: listed once, then watched; listed anew when it must be.

A watch ends when its time is over, when the line breaks or is dead, and with 410 Gone when the
server has forgotten what happened meanwhile. In the last case only a new list tells what is there.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from typing import Final

from paddock.cluster.client import Api, Kind, Object, Refused

FIRST_PAUSE_S: Final = 0.05
LONGEST_PAUSE_S: Final = 5.0

log = logging.getLogger("paddock.cluster")

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"
BOOKMARK = "BOOKMARK"  # nothing changed up to here: what is quiet is not forgotten
Hear = Callable[[str, Object], None]


class Watch:
    """`hear` is told of every change, in order; what a list found gone is told as DELETED."""

    def __init__(
        self, api: Api, kind: Kind, hear: Hear, *, labels: Mapping[str, str] | None = None
    ) -> None:
        self._api, self._kind, self._hear, self._labels = api, kind, hear, labels
        self.known: dict[str, Object] = {}  # by name, as last seen
        self._version: str | None = None
        self.is_broken = False  # nothing was heard since it broke off
        self._heard = False

    async def begin(self, *, patience_s: float | None = None) -> None:
        """Everything that is there now; told as ADDED."""
        found, version = await self._api.list(
            self._kind, labels=self._labels, patience_s=patience_s
        )
        fresh = {one["metadata"]["name"]: one for one in found}
        for name in [name for name in self.known if name not in fresh]:
            self._hear(DELETED, self.known.pop(name))
        for name, one in fresh.items():
            self._see(MODIFIED if name in self.known else ADDED, one)
        self._version = version
        self.is_broken = False

    async def follow(self) -> None:
        """For ever; whatever breaks is taken up again."""
        pause_s, loop = FIRST_PAUSE_S, asyncio.get_running_loop()
        while True:
            began_at, self._heard = loop.time(), False
            try:
                await self._once()
            except Exception as error:
                if isinstance(error, AssertionError):
                    raise
                self._broke(error)
            else:
                self.is_broken = False
            if self._heard or loop.time() - began_at > LONGEST_PAUSE_S:
                pause_s = FIRST_PAUSE_S  # longer and longer only where they fail at once
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _once(self) -> None:
        """One watch, until it ends."""
        if self._version is None:
            await self.begin()
        assert self._version is not None
        changes = self._api.watch(self._kind, version=self._version, labels=self._labels)
        async with contextlib.aclosing(changes):
            async for what, one in changes:
                self._heard, self.is_broken = True, False
                self._version = one["metadata"]["resourceVersion"]
                if what != BOOKMARK:
                    self._see(what, one)

    def _broke(self, error: Exception) -> None:
        self.is_broken = True
        if _is_gone(error):
            self._version = None
        log.info("the watch of %s broke off: %s", self._kind.plural, " ".join(str(error).split()))

    def _see(self, what: str, one: Object) -> None:
        name = one["metadata"]["name"]
        if what == DELETED:
            self.known.pop(name, None)
        else:
            before = self.known.get(name)
            if before is not None and before["metadata"] == one["metadata"]:
                return  # listed anew, and as it was
            self.known[name] = one
        self._hear(what, one)


def _is_gone(error: Exception) -> bool:
    """Said as an answer, or as an event of a watch that had begun."""
    if isinstance(error, Refused):
        return error.code == 410
    answer, status = getattr(error, "response", None), getattr(error, "status", None)
    return 410 in (getattr(answer, "status_code", 0), getattr(status, "code", 0))
