"""Saves what `paddock top` shows of a real fleet as an SVG: `tools/screenshots-tui [FILE]`."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

from ground import Ground, a_ground

from paddock.client import AsyncClient
from paddock.tui.app import Top
from paddock.tui.cells import UNICODE
from paddock.wire.run_request import RunRequest

CONFIG = """\
performance:
  max_concurrent_agents: 6
performance_profile: high
"""
SIZE = (120, 34)
CURVE_S = 25.0  # until the curves show something
# Grows step by step to so many megabytes, computes for a share of each second, and talks.
AGENT = """\
import os, sys, time
megabytes, share, name = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
held, n = [], 0
while True:
    n += 1
    if len(held) < megabytes:
        held += [os.urandom(1 << 20) for _ in range(max(1, megabytes // 12))]
    busy_until = time.monotonic() + share
    while time.monotonic() < busy_until:
        pass
    path = f"src/{name}/module_{n * 7 % 23:02}.py"
    print(f"\\x1b[32mok\\x1b[0m {path}: {n * 13 % 40 + 3} tests passed", flush=True)
    time.sleep(1.0 - share)
"""


def fleet(home: Path) -> list[RunRequest]:
    script = home / "agent.py"
    script.write_text(AGENT, encoding="utf-8")

    def agent(name: str, megabytes: int, share: float, wall: int, **more: str) -> RunRequest:
        words = (sys.executable, "-S", str(script), str(megabytes), str(share), name)
        return RunRequest(name=name, command=words, memory_bytes=wall << 20, **more)  # type: ignore[arg-type]

    return [
        agent(
            "implement-retries", 190, 0.2, 256, priority="high", group="claude/shop/implementation"
        ),
        agent("review-payments", 110, 0.1, 128, group="claude/shop/quality"),
        agent("unit-tests", 60, 0.3, 384, group="pytest/shop/testing"),
        agent("update-docs", 45, 0.05, 192, priority="low", group="codex/shop/docs"),
        agent("mend-flaky-test", 80, 0.15, 256, group="claude/shop/implementation"),
        agent("lint", 12, 0.02, 64, group="ruff/shop/quality"),
        agent("e2e-tests", 60, 0.1, 512, group="pytest/shop/testing"),
        agent("translate", 60, 0.1, 256, priority="low", group="gemini/shop/docs"),
    ]


def endings() -> list[RunRequest]:
    small = 64 << 20
    hog = ("sh", "-c", "exec dd if=/dev/zero of=/dev/null bs=300M count=1")
    return [
        RunRequest(name="fetch", command=("true",), memory_bytes=small),
        RunRequest(name="build-index", command=hog, memory_bytes=small, group="indexer"),
        *(
            RunRequest(name=f"nightly-{n}", command=("false",), memory_bytes=small, group="nightly")
            for n in range(1, 4)
        ),
    ]


async def until(condition: Callable[[], bool], within_s: float = 60.0) -> None:
    give_up_at = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < give_up_at, "the fleet did not come to what it should"
        await asyncio.sleep(0.1)


async def taken(ground: Ground) -> str:
    app = Top(AsyncClient(ground.places), log_lines=2000, signs=UNICODE)
    async with app.run_test(size=SIZE) as pilot:
        picture = app.board.picture
        await until(lambda: sum(agent.section == 0 for agent in picture.agents) == 6)
        await until(lambda: all(len(one.curve) > CURVE_S for one in picture.agents[:6]))
        await pilot.pause(0.5)
        return app.export_screenshot(title="paddock top")


def without_fonts(svg: str) -> str:
    """As it comes it asks a host of others for a font; any of the reader's own will do."""
    svg = re.sub(r"@font-face\s*\{.*?\}", "", svg, flags=re.DOTALL)
    return re.sub(r"\n\s*\n+", "\n", svg).replace("Fira Code", "ui-monospace, Menlo, Consolas")


def main(file: Path) -> int:
    with a_ground(CONFIG) as ground, ground.client() as client:
        ids = [run.id for run in client.submit(ground.order(endings())).runs]
        client.wait(ids, timeout_s=60.0)
        client.submit(ground.order(fleet(ground.home)))
        svg = asyncio.run(taken(ground))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(without_fonts(svg), encoding="utf-8")
    print(f"{file} is made")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
