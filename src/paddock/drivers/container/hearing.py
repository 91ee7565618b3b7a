"""Hearing of containers: what their shims wrote down, and how those without one ended."""

from __future__ import annotations

import asyncio
import logging
import signal
from dataclasses import replace
from typing import Final

from paddock.core.run import Exit
from paddock.drivers.container.deeds import Deeds, patiently
from paddock.drivers.container.engine import Engine, EngineTrouble
from paddock.drivers.container.life import Life, Phase
from paddock.drivers.container.looking import Looking
from paddock.drivers.container.processes import Process
from paddock.drivers.container.telling import Telling, exit_in
from paddock.drivers.container.tether import Tether
from paddock.drivers.watched import Toll

LOOK_ALONE_S: Final = 0.5  # at a container in a virtual machine

log = logging.getLogger("paddock.container")


class Hearing:
    """`deeds` is where the engine is asked."""

    def __init__(self, engine: Engine, telling: Telling, looking: Looking, deeds: Deeds) -> None:
        self._engine, self._deeds = engine, deeds
        self._telling, self._looking = telling, looking

    def tether(self, life: Life, shim: Process) -> Tether:
        return Tether(
            shim, life.box, rung=lambda: self.look(life), gone=lambda: self.shim_gone(life)
        )

    def look(self, life: Life, toll: Toll | None = None) -> None:
        """At what the shim wrote down: news, or the same again."""
        if life.phase is not Phase.BEGUN:
            return
        status = life.box.status()
        if status == "" and life.tether is not None:
            status = life.tether.last_word  # nothing could be written down
        if status == "missing":
            reason = "its program, in the image: not found"
            self._telling.failed(life, reason, permanent=True)
            return
        known = exit_in(status)
        if known is not None or status == "running":
            self._telling.started(life)
        if known is not None:
            toll = toll or self._looking.toll(life, failed=known.code != 0)
            self._telling.ended(life, known, toll)

    def shim_gone(self, life: Life) -> None:
        """Somebody killed all of it, or it could not begin. The counters are read at once: the
        engine is about to remove them."""
        toll = self._looking.toll(life, failed=True)
        life.untie()
        self.look(life, toll)
        if life.phase is Phase.BEGUN and life.exit is None:
            self._deeds.do(self._ask_how_it_ended, life, toll)

    async def _ask_how_it_ended(self, life: Life, toll: Toll) -> None:
        try:
            seen = await patiently(lambda: self._engine.inspect(life.container))
        except EngineTrouble as error:
            self._telling.lost(
                life, f"its container is gone, and how it ended is not known: {error}"
            )
            return
        if seen is not None and seen.oom and not toll.fleet_oom:
            toll = replace(toll, oom=True)
        killed = life.stop is not None or toll.oom or toll.fleet_oom
        if life.box.status() == "" and not killed:
            words = life.box.shell_words()
            self._telling.failed(life, f"its container ended at once: {words}", permanent=False)
        elif seen is None and not killed:
            self._telling.lost(life, "its container was removed by somebody else")
        else:  # the first process of a container dies of nothing but SIGKILL
            self._telling.started(life)
            self._telling.ended(life, Exit(signal=int(signal.SIGKILL)), toll)

    async def watch_alone(self, life: Life) -> None:
        """Where no FIFO reaches in: look now and then."""
        while life.phase is Phase.BEGUN and life.exit is None:
            try:
                seen = await self._engine.inspect(life.container)
                self.look(life)
                if seen is None or not seen.running:
                    self.shim_gone(life)
                    return
                life.asked_bytes = await self._engine.used_bytes(life.container) or 0
            except EngineTrouble as error:
                log.warning("%s cannot be looked at: %s", life.container, error)
            await asyncio.sleep(LOOK_ALONE_S)
