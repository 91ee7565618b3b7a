"""A real Chromium, driven by Playwright, in front of a real `paddock web`."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.kit.house import PADDOCK
from tests.kit.waiting import until

# Nothing but what is asked for: no look-ups of its maker's hosts, no first-run page, no updates.
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--disable-dev-shm-usage",
)
PATIENCE_MS = 30_000


def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    assert found, "chromium is not installed: tools/needs chromium:chromium"
    return found


@contextmanager
def a_browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


class Dashboard:
    """`paddock web` as a process; `link` is the newest that it printed."""

    def __init__(self, process: subprocess.Popen[str], said: Path) -> None:
        self.process = process
        self._said = said

    def links(self) -> list[dict[str, Any]]:
        lines = self._said.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    @property
    def link(self) -> str:
        return str(until(self.links, within_s=60)[-1]["url"])

    @property
    def address(self) -> str:
        return self.link.partition("/?")[0]

    @property
    def top(self) -> str:
        """The path below which everything lies."""
        return urlsplit(self.address).path

    @property
    def port(self) -> int:
        return int(self.links()[-1]["port"])

    def let_in(self, browser: Browser, **options: Any) -> tuple[BrowserContext, Page]:
        """A browser of its own, with the cookie."""
        context = browser.new_context(**{"viewport": {"width": 1360, "height": 900}} | options)
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        before = len(self.links())
        page.goto(self.link)
        page.wait_for_url(f"{self.address}/")
        until(lambda: len(self.links()) > before, within_s=30)
        return context, page


@contextmanager
def a_dashboard(env: dict[str, str], directory: Path, *words: str) -> Iterator[Dashboard]:
    """In that directory; ended by a signal, as its owner would."""
    said = directory / "web.out"
    with said.open("w", encoding="utf-8") as out:
        process = subprocess.Popen(
            [*PADDOCK, "web", "--port", "0", "--json", *words],
            env=env,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
        )
        dashboard = Dashboard(process, said)
        try:
            until(lambda: dashboard.links() or process.poll() is not None, within_s=90)
            assert process.poll() is None, process.stderr and process.stderr.read()
            yield dashboard
        finally:
            if process.poll() is None:
                os.kill(process.pid, signal.SIGTERM)
            process.wait(30)
            if process.stderr:
                process.stderr.close()
