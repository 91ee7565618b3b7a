"""Making containers: a box of files, a container, its shim in it, and walls that stand.

What comes out waits for leave to go: until then no program of the agent has run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from paddock.drivers.container.engine import Engine, EngineTrouble, Order
from paddock.drivers.container.holder import launch
from paddock.drivers.container.life import Life
from paddock.drivers.container.naming import Names
from paddock.drivers.container.orders import order_of
from paddock.drivers.container.processes import Process, look_at
from paddock.drivers.container.settings import ContainerSettings
from paddock.ports import Launch


class Making:
    def __init__(
        self, engine: Engine, settings: ContainerSettings, *, names: Names, epoch: int
    ) -> None:
        self._engine, self._settings = engine, settings
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

    def refuse_broken_walls(self, life: Life) -> None:
        """OSError: the kernel has others than were asked for."""
        if life.tether is None:
            return
        broken = life.tether.cgroup.broken_wall(
            limit_bytes=life.limit_bytes, pids=self._settings.pids
        )
        if broken is not None:
            raise OSError(f"a wall does not stand: {broken}")

    async def _order(self, life: Life, wanted: Launch) -> Order:
        problem = self._names.problem(life.attempt)
        if problem is not None:
            raise ValueError(problem)
        held = self._engine.shares_kernel
        order = order_of(wanted, self._names, self._settings, epoch=self._epoch, held=held)
        if order.image not in self._images:
            await self._engine.check(order.image)
            self._images.add(order.image)
        return order

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
