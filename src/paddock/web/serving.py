"""The server: pages behind the guard, on a socket that is already bound."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from nicegui import app as faces_app
from nicegui import ui

from paddock.client import ClientError
from paddock.client.faces import Places

from .agent import AgentPage
from .agents import Agents
from .benchmarks import DIRECTORY, BenchmarkPage, Benchmarks, as_html
from .capacity import Capacity
from .feed import Feed
from .guard import Guard, Keys
from .overview import Overview
from .parts import heading, page, text
from .workspaces import Workspaces

STATIC: Final = Path(__file__).parent / "static"
LEAVING_S: Final = 2
# How long a browser may be silent and find everything as it was; then it loads the page anew. Its
# pings follow from this: with 5 s a machine under load 30 was taken for gone after two.
RECONNECT_S: Final = 20.0
MESSAGES_KEPT: Final = 400  # of which it has not said yet that they came
_FAVICON: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">'
    '<rect width="32" height="32" rx="8" fill="#2563eb"/>'
    '<path d="M6 13h20M6 20h20M9 8v17M16 8v17M23 8v17" stroke="#fff" stroke-width="2.4" '
    'stroke-linecap="round" fill="none"/></svg>'
)

_NOWHERE: Final = (
    "<!doctype html><html lang=en><meta charset=utf-8>"
    "<meta name=viewport content='width=device-width, initial-scale=1'>"
    "<meta name=color-scheme content='light dark'><title>No such page · paddock</title>"
    "<style>body{font:16px/1.6 system-ui,sans-serif;max-width:34rem;margin:18vh auto;"
    "padding:0 1.5rem}</style><h1>There is no such page</h1>"
    "<p><a href='{top}/'>Go to the overview</a>, or to <a href='{top}/agents'>all agents</a>."
    "</p></html>"
)


def serve(
    places: Places,
    bound: socket.socket,
    keys: Keys,
    *,
    host: str,
    told: Callable[..., None],
) -> None:
    """Until it is told to end. `told` is called when it listens, and with `used` whenever a link
    was used."""
    logging.getLogger("nicegui").setLevel(logging.ERROR)
    feed = Feed(places)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=_life(feed))
    _pages(feed)
    _report_pages(feed, Path.cwd() / DIRECTORY)
    ui.run_with(
        app,
        title="paddock",
        favicon=_FAVICON,
        dark=None,
        tailwind=False,
        binding_refresh_interval=None,
        reconnect_timeout=RECONNECT_S,
        message_history_length=MESSAGES_KEPT,
        show_welcome_message=False,
    )
    guarded = Guard(app, keys, host=host, used=partial(told, used=True))
    config = uvicorn.Config(
        guarded,
        log_level="error",
        access_log=False,
        server_header=False,
        lifespan="on",
        ws_max_size=1 << 20,
        # It hardly ever leaves the machine: packing costs more than it saves.
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=LEAVING_S,
    )
    server = _Server(config, on_ready=told)
    server.run(sockets=[bound])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, *, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_ready()
            _on_enter(self._on_ready)


def _on_enter(do: Callable[[], None]) -> None:
    """Whoever presses Enter in the terminal gets another link."""
    if not sys.stdin.isatty():
        return
    loop = asyncio.get_running_loop()

    def heard() -> None:
        if sys.stdin.readline():
            do()
        else:
            loop.remove_reader(sys.stdin)

    loop.add_reader(sys.stdin, heard)


def _life(feed: Feed) -> Callable[[FastAPI], Any]:
    @asynccontextmanager
    async def life(_: FastAPI) -> Any:
        feed.start()
        try:
            yield
        finally:
            await feed.stop()

    return life


def _pages(feed: Feed) -> None:
    faces_app.add_static_files("/assets", STATIC)

    @ui.page("/")
    def overview(request: Request) -> None:
        with page(feed, request, here="/", title="Overview"):
            Overview(feed)

    @ui.page("/agents")
    def agents(request: Request) -> None:
        with page(feed, request, here="/agents", title="Agents"):
            Agents(feed)

    @ui.page("/agents/{run}")
    async def agent(request: Request, run: str) -> None:
        with page(feed, request, here="/agents", title="Agent"):
            await _agent(feed, run)

    @ui.page("/workspaces")
    def workspaces(request: Request) -> None:
        with page(feed, request, here="/workspaces", title="Workspaces"):
            Workspaces(feed)

    @ui.page("/capacity")
    def capacity(request: Request) -> None:
        with page(feed, request, here="/capacity", title="Capacity"):
            Capacity(feed)

    @faces_app.exception_handler(404)
    async def nowhere(request: Request, _error: Exception) -> Response:
        return HTMLResponse(_NOWHERE.replace("{top}", request.scope["root_path"]), 404)


def _report_pages(feed: Feed, reports: Path) -> None:
    @ui.page("/benchmarks")
    def benchmarks(request: Request) -> None:
        with page(feed, request, here="/benchmarks", title="Benchmarks"):
            Benchmarks(reports)

    @ui.page("/benchmarks/{name}")
    def benchmark(request: Request, name: str) -> None:
        with page(feed, request, here="/benchmarks", title="Benchmark"):
            BenchmarkPage(reports, name)

    @faces_app.get("/report/{name}")
    def report(name: str) -> Response:
        return as_html(reports, name)


async def _agent(feed: Feed, run: str) -> None:
    try:
        found = feed.run_of(run) or await feed.client.run(run)
    except (ClientError, OSError) as error:
        heading("Agent")
        text(str(error), "pd-empty")
        return
    ui.page_title(f"{found.name} · paddock")
    AgentPage(feed, found)
