"""A local driver of a test's own, with its keeper; leaves nothing behind, or the test fails."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from paddock.core.run import Attempt
from paddock.core.units import GIB
from paddock.drivers.local.driver import LocalDriver
from paddock.drivers.local.keeper.members import look_at
from paddock.logs.output import OutputStore
from tests.kit import leaks
from tests.kit.grounds import CANCELLED, Grounds, scenarios_on

__all__ = ["CANCELLED", "Stable", "in_a_stable"]


class Stable(Grounds):
    driver: LocalDriver

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.usual = {"environment": {"PATH": os.environ["PATH"]}, "limit_bytes": GIB}
        self.output = OutputStore(self.state / "output")
        self.connect()

    def connect(self, **more: Any) -> frozenset[Attempt]:
        """A newer daemon's driver; what it adopted."""
        self._epoch += 1
        self.driver = LocalDriver(
            self.state / "keeper", self.state / "output", epoch=self._epoch, **more
        )
        self.driver.connect()
        found = self.driver.adopt(self.heard.append)
        self.instance = (self.state / "instance").read_text(encoding="ascii").strip()
        self.known |= found
        return found

    async def go_home(self) -> None:
        """And the keeper retires."""
        driver = self.driver
        await self.until(lambda: leaks.is_alive(driver.keeper_pid))
        keeper = driver.keeper_pid
        found = look_at(keeper)
        self.end_all()
        left: dict[int, int] = {}
        try:
            await self.until(lambda: not driver.used_bytes())
            driver.leave(retire=True)
            await self.until(lambda: not keeper or not leaks.is_alive(keeper))
        finally:
            left = self.processes()
            leaks.end(left | ({keeper: found.start} if found else {}))
        assert left == {}, "processes of ours are left"
        fifos = [path.name for path in self.state.rglob("*") if path.is_fifo()]
        assert fifos == [], "FIFOs are left"
        assert list((self.state / "keeper").glob("*.journal")) == []
        assert (self.state / "keeper.log").read_text(encoding="utf-8") == ""
        self.check_descriptors()


in_a_stable = scenarios_on(Stable)
