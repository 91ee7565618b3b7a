"""Pictures of the dashboard for the documents, from a real fleet: `tools/screenshots-web`."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from paddock.wire.run_request import RunRequest
from tests.kit.browser import Dashboard, a_browser, a_dashboard
from tests.kit.house import House, a_house
from tests.kit.waiting import until

IMAGES = Path(__file__).parents[2] / "docs/images"
AGENT = Path(__file__).parents[1] / "kit/agents/busy.py"
LARGEST_BYTES = 300_000
MIB = 1 << 20
NAMES = (
    *("implement-retries", "review-auth", "fix-flaky-tests", "migrate-billing", "port-parser"),
    *("triage-issues", "docs-quickstart", "speed-up-ci", "tidy-imports", "explore-cache"),
    *("bump-deps", "shrink-image", "add-tracing", "rename-orders", "cover-edge-cases"),
)
PRIORITIES = ("normal", "high", "normal", "low", "normal")
CONFIG = """
performance_profile: host
performance: {max_concurrent_agents: 11}
"""
# Slowly enough that looks see it grow.
HUNGRY = """\
import os, time
held = []
while True:
    held.append(os.urandom(4 << 20))
    print(f"read {len(held) * 1000} commits of the whole history")
    time.sleep(0.5)
"""
PICTURES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("web-overview", "/", {"height": 908}),
    ("web-overview-dark", "/", {"height": 908, "dark": True}),
    ("web-agents", "/agents", {}),
    ("web-agent", "/agents/implement-retries", {"height": 1080}),
    ("web-black-box", "/agents/hungry", {"height": 1080}),
    ("web-phone", "/", {"width": 390, "height": 844}),
    ("web-phone-agents", "/agents", {"width": 390, "height": 844, "dark": True}),
    ("web-capacity", "/capacity", {"height": 640}),
)


def fleet(seconds: float) -> list[RunRequest]:
    """Agents of all sizes; some end soon, so that others may begin."""
    runs = []
    for number, name in enumerate(NAMES):
        most = 60 + 37 * (number * 5 % 11)
        lasts = seconds * (0.35 if number % 4 == 1 else 2)
        words = (sys.executable, str(AGENT), str(most), str(number), str(lasts))
        runs.append(
            RunRequest(
                name=name,
                command=words,
                memory_bytes=(most + 90) * MIB,
                priority=PRIORITIES[number % len(PRIORITIES)],  # type: ignore[arg-type]
                group="shop/" + ("review" if "review" in name else "implementation"),
            )
        )
    hungry = (sys.executable, "-S", "-u", "-c", HUNGRY)
    runs.insert(
        3, RunRequest(name="hungry", command=hungry, memory_bytes=96 * MIB, group="shop/big")
    )
    return runs


def look_at(page: Page, web: Dashboard, path: str, *, ids: dict[str, str]) -> None:
    name = path.removeprefix("/agents/")
    page.goto(web.address + (f"/agents/{ids[name]}" if name in ids else path))
    page.wait_for_selector(".pd-main h1")
    if path == "/capacity":
        done = page.locator(".pd-tile", has_text="All done after").locator(".pd-figure")
        until(lambda: done.inner_text() != "–", within_s=60)
    page.wait_for_timeout(2500)


def take(house: House, web: Dashboard, ids: dict[str, str], into: Path) -> list[Path]:
    del house
    taken = []
    with a_browser() as browser:
        context, page = web.let_in(browser)
        for name, path, look in PICTURES:
            width, height = look.get("width", 1280), look.get("height", 860)
            page.set_viewport_size({"width": width, "height": height})
            theme = "dark" if look.get("dark") else "light"
            cookie = {"name": "paddock_theme", "value": theme, "url": web.address}
            context.add_cookies([cookie])  # type: ignore[list-item]
            look_at(page, web, path, ids=ids)
            taken.append(into / f"{name}.png")
            page.screenshot(path=str(taken[-1]))
        context.close()
    return taken


def main() -> int:
    asking = argparse.ArgumentParser(prog="tools/screenshots-web", description=__doc__)
    asking.add_argument(
        "--seconds", type=float, default=100.0, help="how long the fleet runs first"
    )
    asking.add_argument("--into", type=Path, default=IMAGES)
    asked = asking.parse_args()
    asked.into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="paddock-web-") as directory:
        home = Path(directory)
        with a_house(home, config=CONFIG) as house, a_dashboard_later(house, home) as web:
            taken_in = house.submit(*fleet(asked.seconds))
            ids = {run.name: run.id for run in taken_in.runs}
            time.sleep(asked.seconds)
            taken = take(house, web, ids, asked.into)
    large = [path for path in taken if path.stat().st_size > LARGEST_BYTES]
    for path in taken:
        sys.stdout.write(f"{path} {path.stat().st_size // 1000} kB\n")
    return 1 if large else 0


def a_dashboard_later(house: House, home: Path) -> Any:
    house.start()
    return a_dashboard(house.env, home)


if __name__ == "__main__":
    sys.exit(main())
