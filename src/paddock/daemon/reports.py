"""Capacity reports on a schedule: made by `paddock report` in a process of its own, behind others.

When the next is due is told by the newest file, so a daemon that was away makes up for it, once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from paddock.config import settings as s
from paddock.config.layers import load_settings
from paddock.config.mistakes import ConfigError
from paddock.config.places import STATE_VARIABLE, Places, plain_environment
from paddock.supervisor.steady import Steady

LOOK_S: Final = 60.0
FIRST_LOOK_S: Final = 10.0  # who has just started has other things to do
MAKING_S: Final = 600.0
AGAIN_S: Final = 3600.0  # after one that failed
PATTERN: Final = "report-*.html"
NOT_MADE: Final = "no capacity report"

log = logging.getLogger("paddock.reports")


class Plan(NamedTuple):
    every_s: float
    directory: Path
    keep: int


class Reports:
    def __init__(
        self,
        places: Places,
        *,
        command: Sequence[str] | None = None,
        look_s: float = LOOK_S,
        again_s: float = AGAIN_S,
    ) -> None:
        self._places = places
        self._command = command or (sys.executable, "-P", "-m", "paddock", "report")
        self._look_s, self._again_s = look_s, again_s
        self._not_before = 0.0
        self._steady = Steady(log)

    async def make(self) -> None:
        await asyncio.sleep(min(self._look_s, FIRST_LOOK_S))
        while True:
            await self._make_if_time()
            await asyncio.sleep(self._look_s)

    async def _make_if_time(self) -> None:
        if time.monotonic() < self._not_before:
            return
        self._not_before = time.monotonic() + self._again_s  # unless all goes well
        with self._steady.turn(NOT_MADE):
            await self._make_if_due()
            self._not_before = 0.0

    async def _make_if_due(self) -> None:
        plan = await asyncio.to_thread(self.plan)
        if plan is not None and await asyncio.to_thread(is_due, plan):
            await self.make_one(plan)
            await asyncio.to_thread(drop_old, plan)

    def plan(self) -> Plan | None:
        """As it is configured now; None: never, or there is a mistake that others tell of."""
        try:
            settings = load_settings(None)
        except ConfigError:
            return None
        every_s, directory = settings[s.REPORT_EVERY], settings[s.REPORT_DIRECTORY]
        if every_s is None:
            return None
        where = self._places.state / "reports" if directory is None else Path(directory)
        return Plan(every_s, where, settings[s.REPORT_KEEP])

    async def make_one(self, plan: Plan) -> None:
        plan.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        page = plan.directory / time.strftime("report-%Y-%m-%dT%H%M.html")
        part = page.with_suffix(".json.part")
        words = ("nice", "-n", "19", *self._command, "--html", os.fspath(page), "--json")
        with part.open("wb") as out:
            code, said = await _done(words, out.fileno(), self._environment())
        if code != 0:
            part.unlink(missing_ok=True)
            raise OSError(said or f"it ended with {code}")
        part.replace(page.with_suffix(".json"))
        log.info("a capacity report is in %s", page)

    def _environment(self) -> dict[str, str]:
        return plain_environment() | {STATE_VARIABLE: str(self._places.state)}


async def _done(words: Sequence[str], out: int, env: dict[str, str]) -> tuple[int | None, str]:
    """How it ended, and the last line it complained with."""
    asked = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=out,
        stderr=asyncio.subprocess.PIPE,
        env=env,
        cwd="/",
    )
    try:
        _, said = await asyncio.wait_for(asked.communicate(), MAKING_S)
    except TimeoutError:
        return None, f"it took longer than {MAKING_S:.0f} s"
    finally:
        if asked.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                asked.kill()
            await asked.wait()
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return asked.returncode, lines[-1] if lines else ""


def is_due(plan: Plan) -> bool:
    made = [path.stat().st_mtime for path in plan.directory.glob(PATTERN)]
    # A newest one in the future is of a clock that was set back: better one more than none.
    return not made or not 0 <= time.time() - max(made) < plan.every_s


def drop_old(plan: Plan) -> None:
    """Beyond so many the oldest go, each with its JSON; nothing else in there is touched."""
    for page in sorted(plan.directory.glob(PATTERN))[: -plan.keep]:
        page.unlink(missing_ok=True)
        page.with_suffix(".json").unlink(missing_ok=True)
