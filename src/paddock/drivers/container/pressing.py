"""Making attempts do things: polite signals to the main process, the others to every process.

By signals and cgroup files, which need no engine and act at once; by the engine where we may not,
or where there is a virtual machine between. The shim is spared as long as it can be: it writes down
how the agent ended, and holds what it wrote.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from contextlib import suppress
from typing import Final

from paddock.cgroups.v2 import Group2
from paddock.drivers.attempts import heeds
from paddock.drivers.container.deeds import patiently
from paddock.drivers.container.engine import Engine, EngineTrouble
from paddock.drivers.container.life import Life
from paddock.drivers.container.processes import is_harmed_by, main_of, send
from paddock.drivers.container.tether import Tether

KILL_ROUNDS: Final = 50
KILL_AGAIN_S: Final = 0.02

log = logging.getLogger("paddock.container")


class Pressing:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def politely(self, life: Life, number: int) -> None:
        """Where it does no harm. In a virtual machine the sign file must do."""
        tether = life.tether
        if tether is None:
            return
        main = main_of(tether.members(), tether.shim.pid)
        if main is not None and not is_harmed_by(main.pid, number):
            send([main.pid], number, still_there=tether.pids)

    def heeds_checkpoints(self, life: Life) -> bool | None:
        """In a virtual machine nobody can look: then it may."""
        if life.tether is None:
            return True
        main = main_of(life.tether.members(), life.tether.shim.pid)
        return heeds(main.pid, signal.SIGUSR2) if main is not None else False

    async def terminate(self, life: Life) -> None:
        """Where we see no processes the shim hears it and tells the others."""
        tether = life.tether
        if tether is None:
            await self._engine.kill(life.container, "TERM")
        elif not send(tether.pids(), signal.SIGTERM, still_there=tether.pids):
            log.warning("%s: not all of it may be told to end; it is killed later", life.container)

    def kill_round(self, tether: Tether) -> bool:
        """All but the shim; False if it is not allowed. Frozen, nobody forks meanwhile; in v1 a
        killed process dies only when it is thawed."""
        tether.group.freeze()
        allowed = send(tether.pids(), signal.SIGKILL, still_there=tether.pids)
        tether.group.thaw()
        return allowed

    async def kill(self, life: Life) -> None:
        """Round after round, then the container as a whole."""
        for turn in range(KILL_ROUNDS):
            tether = life.tether
            if tether is None or not self.kill_round(tether):
                break
            if turn == 0:  # none is paused any more once it is to be killed
                with suppress(EngineTrouble):
                    await self._unpause(life)
            if not tether.members() and life.exit is not None:
                return
            await asyncio.sleep(KILL_AGAIN_S)
        if life.tether is None or life.exit is None or life.tether.members():
            await self.kill_whole(life)  # some cannot be reached, or the shim says nothing

    async def kill_whole(self, life: Life) -> None:
        tether = life.tether
        with suppress(EngineTrouble):
            await self._unpause(life)
        try:
            await self._engine.kill(life.container, "KILL")
        except EngineTrouble as error:
            log.error("%s is killed without its engine: %s", life.container, error)
            if tether is not None:  # with its first process a container ends
                send([tether.shim.pid], signal.SIGKILL, still_there=tether.group.pids)

    async def freeze(self, life: Life, *, reclaim: bool) -> None:
        async with life.turn:
            if life.stop is not None:
                return  # one that stands still could not die
            life.stands = True
            tether = life.tether
            group = tether.group if tether is not None and tether.group.freeze() else None
            if group is None:
                life.paused = True
                await self._engine.pause(life.container)
        if reclaim and isinstance(group, Group2) and life.watched is not None:
            # It takes as long as it takes, and holds up no thaw. v1 has nothing that could be
            # asked for it.
            await asyncio.to_thread(group.reclaim, max(life.watched.total_bytes, 1))

    async def thaw(self, life: Life) -> None:
        """One that an earlier daemon froze as well: both ways are tried."""
        async with life.turn:
            life.stands = False
            tether = life.tether
            if tether is None or not tether.group.thaw():
                life.paused = True
            with suppress(EngineTrouble):
                await self._unpause_now(life)
        await patiently(lambda: self._go_on(life))

    async def _go_on(self, life: Life) -> None:
        """Nobody thaws twice; but it may have been frozen anew while the engine was away."""
        async with life.turn:
            if not life.stands and not life.is_over:
                await self._unpause_now(life)

    async def _unpause(self, life: Life) -> None:
        async with life.turn:  # a pause that is under way would outlast it
            await self._unpause_now(life)

    async def _unpause_now(self, life: Life) -> None:
        if life.paused:
            await self._engine.unpause(life.container)
            life.paused = False
