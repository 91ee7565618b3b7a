"""The screen, as it was looked at and found good: small and large, calm and pressed, empty."""

from __future__ import annotations

import time

import pytest

from paddock.wire import views as v
from tests.kit.fleet_views import (
    MIB,
    NOW,
    a_pressed_status_view,
    a_queued_view,
    a_run_view,
    a_status_view,
    an_ended_view,
)
from tests.tui.stage import StillClient, on_stage, same_as_kept, staged

SIZES = {"80x24": (80, 24), "200x50": (200, 50), "40x12": (40, 12)}
LOG = (
    b"\x1b[32mok\x1b[0m reading \xe6\x97\xa5\xe6\x9c\xac\n\tindented\n"
    + b"a long line " * 20
    + b"\nlast\n"
)


def a_fleet() -> tuple[list[v.RunView], list[v.RunView]]:
    """Times count from now: ages must not depend on the day the test runs."""
    live = [
        a_run_view("implement", priority="high", memory_bytes=1900 * MIB),
        a_run_view("review-the-payments-service-and-all-of-its-tests", memory_bytes=1600 * MIB),
        a_run_view("日本語のなまえ", frozen="user", sentence="frozen on request"),
        a_run_view("leaves\x1b[2J", state="stopping", sentence="stopping (told): over its wall"),
        a_queued_view("tests", 1, "1.2 GiB short, behind implement"),
        a_queued_view("docs", 2, "all 5 agents allowed at once are at work"),
    ]
    ended = [
        an_ended_view("lint", "succeeded", "exit code 0", peak_bytes=80 * MIB),
        an_ended_view("hog", "memory_limit_exceeded", "went over its memory limit of 64 MiB"),
        an_ended_view("slow", "timeout_exceeded", "ran into its timeout of 15 min"),
    ]
    for run in [*live, *ended]:
        run.submitted_at = time.time() - (NOW - (run.submitted_at or 0.0))
        run.since_at = time.time() - (NOW - (run.since_at or 0.0))
    return live, ended


def snapshot(name: str, size: tuple[int, int], still: StillClient, *keys: str) -> None:
    async def scenario() -> None:
        async with staged(still, size=size) as stage:
            await stage.until(lambda: stage.app.board.picture.status is not None)
            await stage.press(*keys)
            await same_as_kept(name, stage)

    on_stage(scenario)


@pytest.fixture
def still() -> StillClient:
    live, ended = a_fleet()
    client = StillClient(a_status_view(), live, ended, LOG)
    for run in live:  # told anew at every look, so that they stay
        client.curves[run.id] = (run.memory_bytes or 0,)
    client.curves[live[0].id] = tuple(n * 30 * MIB for n in range(60))
    return client


@pytest.mark.parametrize("size", SIZES)
def test_a_calm_fleet(size: str, still: StillClient) -> None:
    snapshot(f"calm-{size}", SIZES[size], still)


@pytest.mark.parametrize("size", ["80x24", "200x50"])
def test_a_pressed_host(size: str, still: StillClient) -> None:
    still.now = a_pressed_status_view()
    snapshot(f"pressed-{size}", SIZES[size], still)


def test_nobody_at_all() -> None:
    nobody = StillClient(a_status_view(counts={}), [], [])
    snapshot("empty-80x24", SIZES["80x24"], nobody)


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("help", ["question_mark"]),
        ("kill", ["f9"]),
        ("sort", ["f6"]),
        ("priority", ["p"]),
        ("filter", ["slash", "t", "e", "s"]),
        ("log-alone", ["enter", "w"]),
    ],
)
def test_what_keys_open(name: str, keys: list[str], still: StillClient) -> None:
    snapshot(f"{name}-80x24", SIZES["80x24"], still, *keys)
