"""What a test of the dashboard does besides looking: submits, asks by hand, measures."""

from __future__ import annotations

import http.client
from collections.abc import Callable
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


# While there is a question, only what is in it counts.
_FOCUSED = """() => {
  const at = document.activeElement, asks = document.querySelector('.pd-dialog');
  return (!asks || asks.contains(at)) ? at.textContent.trim() : '';
}"""


def by_keys(page: Page, name: str, *, until_seen: Callable[[], bool]) -> None:
    """Tab to a button of that name, and Enter. Buttons are made anew when an agent changes, and the
    focus goes with them: then once more."""

    def done() -> bool:
        for _ in range(60):
            if page.evaluate(_FOCUSED) == name:
                page.keyboard.press("Enter")
                return _soon(page, until_seen)
            page.keyboard.press("Tab")
        return until_seen()

    until(done, within_s=60)


def _soon(page: Page, seen: Callable[[], bool]) -> bool:
    for _ in range(30):
        if seen():
            return True
        page.wait_for_timeout(100)
    return False


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
