"""How tests look at the screen of top, and drive it."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from textual.pilot import Pilot

from paddock.client import AsyncClient, Record
from paddock.client.faces import Places
from paddock.tui.app import Top
from paddock.tui.cells import UNICODE
from paddock.wire import views as v
from tests.kit.desk import ServedDesk

SNAPSHOTS = Path(__file__).parent / "snapshots"
PATIENCE_S = 60.0
SETTLED_S = 20.0


class Stage:
    """The app on a screen that only the test sees."""

    def __init__(self, app: Top, pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot

    def text(self) -> str:
        strips = self.app.screen._compositor.render_strips()  # noqa: SLF001
        return "\n".join(strip.text.rstrip() for strip in strips)

    async def press(self, *keys: str) -> None:
        """Each is acted upon before the next. By itself the pilot goes on once the process has
        nothing to do, or after a second: a thousand agents in it are never done by then."""
        for key in keys:
            await self.pilot.press(key)
            await self.pilot.pause(0)

    async def shows(self, *texts: str) -> str:
        await self.until(lambda: all(text in self.text() for text in texts), texts)
        return self.text()

    async def hides(self, text: str) -> str:
        await self.until(lambda: text not in self.text(), text)
        return self.text()

    async def until(self, condition: Callable[[], bool], what: object = "") -> None:
        give_up_at = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < give_up_at, f"waited in vain for {what}\n{self.text()}"
            await self.pilot.pause(0.02)

    def chosen(self) -> str | None:
        agent = self.app.board.agents.chosen
        return None if agent is None else agent.run.name


@asynccontextmanager
async def staged(
    where: ServedDesk | Places | StillClient,
    *,
    size: tuple[int, int] = (80, 24),
    log_lines: int = 2000,
) -> AsyncIterator[Stage]:
    app = Top(_client_of(where), log_lines=log_lines, signs=UNICODE)
    async with app.run_test(size=size) as pilot:
        yield Stage(app, pilot)


def _client_of(where: ServedDesk | Places | StillClient) -> AsyncClient:
    if isinstance(where, StillClient):
        return cast(AsyncClient, where)
    return AsyncClient(where.places if isinstance(where, ServedDesk) else where)


def on_stage(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scenario())


class StillClient:
    """Tells the same for ever."""

    def __init__(
        self, status: v.StatusView, runs: list[v.RunView], ended: list[v.RunView], log: bytes = b""
    ) -> None:
        self.now, self.live, self.ended, self.written = status, runs, ended, log
        self.curves: dict[str, tuple[int, ...]] = {}

    async def status(self) -> v.StatusView:
        return self.now

    async def runs(self, **wanted: Any) -> list[v.RunView]:
        return self.ended if wanted.get("state") == "ended" else self.live

    async def memory(self, **_: Any) -> list[v.MemoryView]:
        from tests.kit.fleet_views import a_memory_view

        live = [run for run in self.live if run.state != "queued"]
        return [a_memory_view(run, recent_bytes=self.curves.get(run.id, ())) for run in live]

    async def log_records(self, *_: Any, **__: Any) -> AsyncIterator[Record]:
        yield Record(0, self.written)
        await asyncio.Event().wait()

    async def events(self) -> AsyncIterator[v.Happening]:
        await asyncio.Event().wait()
        yield  # type: ignore[misc]

    async def close(self) -> None:
        pass


async def same_as_kept(name: str, stage: Stage) -> None:
    """Written anew when its file is removed; then look at it before it is kept."""
    path = SNAPSHOTS / f"{name}.txt"
    if not path.exists():
        await stage.pilot.pause(2.0)
        path.parent.mkdir(exist_ok=True)
        path.write_text(_timeless(stage.text()), encoding="utf-8")
        raise AssertionError(f"{path} was not there and is written now: look at it, then run again")
    kept = path.read_text(encoding="utf-8")
    give_up_at = time.monotonic() + SETTLED_S
    while _timeless(stage.text()) != kept and time.monotonic() < give_up_at:
        await stage.pilot.pause(0.05)
    assert _timeless(stage.text()) == kept


def _timeless(text: str) -> str:
    return re.sub(r"\d\d:\d\d:\d\d", "12:34:56", text) + "\n"
