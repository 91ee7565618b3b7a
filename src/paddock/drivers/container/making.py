"""Making containers: a box of files, a container, its shim in it, and walls that stand.

What comes out waits for leave to go: until then no program of the agent has run.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import replace

from paddock.cgroups.files import put
from paddock.cgroups.group import Group
from paddock.cgroups.v2 import Group2
from paddock.drivers.attempts import walls_of
from paddock.drivers.container.cgroup import broken_wall
from paddock.drivers.container.engine import Engine, EngineTrouble, Order
from paddock.drivers.container.fleet_wall import FleetWall
from paddock.drivers.container.holder import launch
from paddock.drivers.container.life import Life
from paddock.drivers.container.naming import Names
from paddock.drivers.container.orders import order_of
from paddock.drivers.container.processes import Process, look_at
from paddock.drivers.container.settings import ContainerSettings
from paddock.ports import Launch

log = logging.getLogger("paddock.container")


class Making:
    def __init__(
        self,
        engine: Engine,
        settings: ContainerSettings,
        *,
        names: Names,
        epoch: int,
        wall: FleetWall | None = None,
    ) -> None:
        self._engine, self._settings, self._wall = engine, settings, wall
        self._names, self._epoch = names, epoch
        self._images: set[str] = set()  # those that were seen to be there
        # More at once only wait for each other in the engine: 24 containers took two cores 6.5 s
        # one by one, 3.7 s two at a time, 4.7 s four, 6.1 s eight.
        self._at_once = asyncio.Semaphore(settings.starts_at_once)

    async def make(self, life: Life, wanted: Launch, *, opened: Callable[[Life], None]) -> Process:
        """Its shim. `opened` is called when its FIFO is there. ValueError, OSError, EngineTrouble:
        why not; nothing of the agent has run then."""
        async with self._at_once:
            if life.stop is not None:
                raise OSError("it was killed before it was started")
            order = await self._order(life, wanted)
            life.box.make(held=self._engine.shares_kernel, owner=self._settings.owner)
            if self._engine.shares_kernel:
                await self.hold()
                opened(life)
            else:
                life.box.share_output(self._names.segment(life.attempt))
            await self._create(order)
            if not self._engine.shares_kernel:
                return NOBODY_HERE
            await self._engine.start(order.name)
            return await self._shim(life)

    async def hold(self) -> None:
        """See that there is a holder. In a thread: a new one takes 40 ms to come up."""
        await asyncio.to_thread(launch, self._names.live, self._names.output)

    async def begin_alone(self, life: Life) -> None:
        """In a virtual machine the shim cannot be made to wait, so it is started last."""
        await self._engine.start(life.container)

    @property
    def has_fleet_wall(self) -> bool:
        return self._wall is not None and self._engine.takes_cgroup_paths

    def finish_walls(self, life: Life, group: Group) -> None:
        """With the one that engines do not know of. OSError: the kernel has others than were asked
        for."""
        broken = broken_wall(group, life.asked)
        if broken is None and self._wall is not None and self.has_fleet_wall:
            outside = not self._wall.holds(group)
            broken = f"{group.path} is not within that of the fleet" if outside else None
        if broken is not None:
            raise OSError(f"a wall does not stand: {broken}")
        if isinstance(group, Group2) and life.asked.high_bytes is not None:
            # A throttle, and no promise: without root there is none.
            with contextlib.suppress(OSError):
                put(f"{group.path}/memory.high", life.asked.high_bytes)

    async def _order(self, life: Life, wanted: Launch) -> Order:
        problem = self._names.problem(life.attempt)
        if problem is not None:
            raise ValueError(problem)
        held = self._engine.shares_kernel
        order = order_of(wanted, self._names, self._settings, epoch=self._epoch, held=held)
        life.asked = replace(walls_of(wanted), pids=order.pids)
        if order.image not in self._images:
            await self._engine.check(order.image)
            self._images.add(order.image)
            self._say_if_unwalled()
        if self._wall is None or not self.has_fleet_wall:
            return order
        self._wall.prepare()
        return replace(order, cgroup_parent=self._wall.parent)

    def _say_if_unwalled(self) -> None:
        if self._wall is not None and not self.has_fleet_wall:
            log.warning(
                "containers have no wall around them all, only each its own: %s leaves cgroups to "
                "systemd; set it to cgroupfs, or use podman as root",
                self._engine.name,
            )

    async def _create(self, order: Order) -> None:
        try:
            await self._engine.create(order)
        except EngineTrouble as error:
            self._images.discard(order.image)
            if error.permanent:
                raise
            # Made by a request that was not answered: whoever has this name is ours.
            await self._engine.remove(order.name)
            await self._engine.create(order)

    async def _shim(self, life: Life) -> Process:
        seen = await self._engine.inspect(life.container)
        shim = look_at(seen.pid) if seen is not None and seen.pid else None
        if shim is None:
            raise OSError(f"its container ended at once: {life.box.shell_words()}")
        return shim


NOBODY_HERE = Process(0, 0, "?", 0)  # its processes are another kernel's
