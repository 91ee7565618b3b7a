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


def focused(page: Page) -> str:
    """The words of whatever has the focus; none where it is on the page itself."""
    return str(
        page.evaluate(
            "() => document.activeElement === document.body ? ''"
            " : document.activeElement.textContent.trim()"
        )
    )


def tab_to(page: Page, name: str) -> None:
    """From where the focus is, as somebody without a mouse goes there."""
    for _ in range(60):
        if focused(page) == name:
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab never came to {name!r}")


# Whatever can be pressed, written into or scrolled, as far as it is to be seen. Of tabs the chosen
# one: arrows lead to the others.
_USABLE = """() => {
  const asked = "a[href], button, input, select, textarea, iframe";
  const scrolls = (one) => /auto|scroll/.test(getComputedStyle(one).overflowY)
    && one.scrollHeight > one.clientHeight + 1;
  const seen = (one) => one.checkVisibility({ visibilityProperty: true });
  return [...document.querySelectorAll("body *")].filter((one) => seen(one)
    && (one.matches(asked) || scrolls(one)) && !one.matches('[role=tab][aria-selected=false]'));
}"""


def not_reached(page: Page) -> list[str]:
    """What nobody gets to who only has Tab."""
    page.evaluate("() => { window.reached = new Set(); document.activeElement.blur(); }")
    page.evaluate("document.addEventListener('focusin', (e) => window.reached.add(e.target))")
    for _ in range(int(page.evaluate(f"({_USABLE})().length")) + 10):
        page.keyboard.press("Tab")
    left = f"({_USABLE})().filter((one) => !window.reached.has(one)).map((one) => one.outerHTML)"
    return [str(one)[:200] for one in page.evaluate(left)]


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
