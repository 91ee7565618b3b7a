"""What a test of the dashboard does besides looking: submits, asks by hand, measures."""

from __future__ import annotations

import http.client
from typing import Any

from playwright.sync_api import Page

from tests.kit.house import is_running, shell
from tests.kit.waiting import until
from tests.web.conftest import Sight


def submitted(sight: Sight, name: str, text: str, **more: Any) -> str:
    return sight.house.submit(shell(name, text, **more)).runs[0].id


def running(sight: Sight, name: str, text: str, **more: Any) -> str:
    run = submitted(sight, name, text, **more)
    until(lambda: is_running(sight.house, run), within_s=60)
    return run


def view_of(sight: Sight, run: str) -> Any:
    with sight.house.client() as client:
        return client.run(run)


def no_scroll_sideways(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


def asked(sight: Sight, path: str, *, method: str = "GET", **headers: str) -> tuple[int, bytes]:
    line = http.client.HTTPConnection("127.0.0.1", sight.web.port, timeout=30)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        line.request(method, path, headers=named)
        answer = line.getresponse()
        return answer.status, answer.read()
    finally:
        line.close()


def cookie_of(sight: Sight) -> str:
    return "; ".join(f"{c['name']}={c['value']}" for c in sight.context.cookies())
