"""Clearing away: containers with their files, those that no file tells of, and empty cgroups."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from typing import Final

from paddock.core.run import Attempt
from paddock.drivers.container.deeds import patiently
from paddock.drivers.container.engine import Engine, EngineTrouble
from paddock.drivers.container.fleet_wall import FleetWall
from paddock.drivers.container.naming import Box, Names

TIDY_LOOKS: Final = 100  # a machine may be busy
TIDY_AGAIN_S: Final = 0.1

log = logging.getLogger("paddock.container")


class Clearing:
    """`lives`: whoever is there, as the driver knows them at the moment."""

    def __init__(
        self,
        engine: Engine,
        names: Names,
        *,
        lives: Collection[Attempt],
        wall: FleetWall | None = None,
    ) -> None:
        self._engine, self._names, self._lives, self._wall = engine, names, lives, wall

    async def discard(self, attempt: Attempt, box: Box) -> None:
        """The container first: what no file tells of any more is found only by the next sweep."""
        try:
            await patiently(lambda: self._engine.remove(self._names.container(attempt)))
        except EngineTrouble as error:
            log.error("%s is left for the next daemon: %s", box.home, error)
            return
        box.remove()
        await self._tidy()

    async def sweep(self) -> None:
        """Containers of ours that no file tells of: of an earlier boot, or cleared away by half."""
        known = {self._names.container(attempt) for attempt in self._names.boxes()}
        try:
            for seen in await self._engine.with_label(self._names.label):
                attempts = {self._names.container(attempt) for attempt in self._lives}
                if seen.name not in known | attempts:
                    await self._engine.remove(seen.name)
        except EngineTrouble as error:
            log.info("no containers were looked for: %s", error)
            return
        await self._tidy()

    async def _tidy(self) -> None:
        """Its monitor leaves its cgroup a moment after a container is gone."""
        for _ in range(TIDY_LOOKS):
            if self._wall is None or self._lives or self._wall.tidy():
                return
            await asyncio.sleep(TIDY_AGAIN_S)
