"""One daemon, one dashboard and one browser for all tests of a file."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.kit.browser import Dashboard, a_browser, a_dashboard
from tests.kit.house import House, a_house

CONFIG = "performance_profile: host\n"


@dataclasses.dataclass
class Sight:
    """What a user has in front of them."""

    house: House
    web: Dashboard
    browser: Browser
    context: BrowserContext
    page: Page
    asked: list[str]  # every address that the browser went for

    def open(self, path: str) -> Page:
        self.page.goto(f"{self.web.address}{path}")
        self.page.wait_for_selector(".pd-main h1")
        return self.page


@pytest.fixture(scope="module")
def sight(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sight]:
    home = tmp_path_factory.mktemp("web")
    # Not for a whole session: while Playwright is there, this thread has a running event loop, and
    # the tests of other files want one of their own.
    with (
        a_house(home, config=CONFIG) as house,
        a_browser() as browser,
        a_dashboard(house.env, home) as web,
    ):
        asked: list[str] = []
        context, page = web.let_in(browser)
        context.on("request", lambda request: asked.append(request.url))
        yield Sight(house, web, browser, context, page, asked)
        context.close()
