"""What keys do to agents: the daemon is asked, and the screen says what came of it."""

from __future__ import annotations

import asyncio

from textual.events import MouseScrollUp
from textual.widget import Widget

from paddock.client import Client
from tests.kit.desk import ServedDesk, an_agent
from tests.tui.stage import Stage, on_stage, staged


async def view(desk: ServedDesk, name: str) -> tuple[str, str | None, str, str | None]:
    def ask() -> tuple[str, str | None, str, str | None]:
        with Client(desk.places) as client:
            run = client.run(name)
        return run.state, run.outcome, run.priority, run.frozen

    return await asyncio.to_thread(ask)


async def one_agent(desk: ServedDesk, stage: Stage, *words: str) -> None:
    await asyncio.to_thread(desk.submit, an_agent("worker", *words))
    await stage.shows("worker")


def test_a_kill_asks_and_no_is_no(desk: ServedDesk) -> None:
    async def scenario() -> None:
        async with staged(desk) as stage:
            await one_agent(desk, stage, "sleep=60")
            for leave in ("n", "escape", "enter", "q"):
                await stage.press("f9")
                await stage.shows("Kill worker (")
                await stage.press(leave)
                await stage.hides("Kill worker (")
            assert (await view(desk, "worker"))[0] == "running"
            await stage.press("x")
            await stage.shows("Kill worker (")
            await stage.press("y")
            await stage.shows("worker is asked to stop")
            await stage.shows("cancelled")

    on_stage(scenario)


def test_a_deaf_agent_is_killed_by_force(desk: ServedDesk) -> None:
    async def scenario() -> None:
        async with staged(desk) as stage:
            await one_agent(desk, stage, "deaf", "sleep=60")
            await stage.press("ctrl+k")
            await stage.shows("by force: at once")
            await stage.press("y")
            await stage.shows("worker is killed")
            await stage.shows("cancelled")
            await stage.press("f9")
            await stage.shows("there is nothing to kill; r runs it again")

    on_stage(scenario)


def test_priorities_go_up_and_down_and_can_be_chosen(desk: ServedDesk) -> None:
    async def scenario() -> None:
        async with staged(desk) as stage:
            await one_agent(desk, stage, "sleep=60")
            await stage.press("f7")
            await stage.shows("worker has priority high", " high ")
            await stage.press("p")
            await stage.shows("Priority of worker")
            await stage.press("l")
            await stage.shows("worker has priority low", " low ")
            await stage.press("f8")
            await stage.shows("worker is low already")
            assert (await view(desk, "worker"))[2] == "low"

    on_stage(scenario)


def test_freezing_and_thawing_is_one_key(desk: ServedDesk) -> None:
    async def scenario() -> None:
        async with staged(desk) as stage:
            await one_agent(desk, stage, "sleep=60")
            await stage.shows("running")
            await stage.press("z")
            await stage.shows("worker is frozen", "frozen    norm")
            assert (await view(desk, "worker"))[3] == "user"
            await stage.press("z")
            await stage.shows("worker goes on", "running   norm")

    on_stage(scenario)


def test_one_that_ended_runs_once_more_and_one_that_has_not_says_so(desk: ServedDesk) -> None:
    async def scenario() -> None:
        async with staged(desk) as stage:
            await one_agent(desk, stage, "exit=3")
            await stage.shows("ended with exit code 3")
            await stage.press("r")
            await stage.shows("worker runs once more, as ")
            await stage.until(lambda: stage.app.board.agents.count == 2)
            await asyncio.to_thread(desk.submit, an_agent("other", "sleep=60"))
            await stage.shows("other")
            await stage.press("g", "r")
            await stage.shows("it has not ended")

    on_stage(scenario)


def test_a_breaker_is_shown_and_reset(desk: ServedDesk) -> None:
    async def scenario() -> None:
        async with staged(desk) as stage:
            await stage.shows("No agents")
            await stage.press("b")
            await stage.shows("no breaker is open")
            runs = [an_agent(f"bad-{n}", "exit=1", group="nightly") for n in range(3)]
            await asyncio.to_thread(desk.submit, *runs)
            await stage.shows("nightly is open after 3 failures")
            await stage.press("b")
            await stage.shows("Breakers: reset one", "nightly is open after 3 failures")
            await stage.press("enter")
            await stage.shows("the breaker of nightly is closed")
            await stage.hides("nightly is open")

    on_stage(scenario)


def test_sorting_filtering_and_hiding(desk: ServedDesk) -> None:
    async def scenario() -> None:
        async with staged(desk) as stage:
            await asyncio.to_thread(
                desk.submit,
                an_agent("beta", "sleep=60"),
                an_agent("alpha", "sleep=60"),
                an_agent("gone"),
            )
            await stage.shows("beta", "alpha", "succeeded")
            await stage.press("s", "7")
            await stage.shows("NAME▼")
            assert stage.text().index("alpha") < stage.text().index("beta")
            await stage.press("I")
            await stage.shows("NAME▲")
            await stage.press("e")
            await stage.shows("those that have ended are hidden")
            assert stage.app.board.agents.count == 2
            await stage.press("slash", *"alp")
            await stage.until(lambda: stage.app.board.agents.count == 1)
            await stage.press("enter")
            await stage.until(lambda: stage.chosen() == "alpha")
            await stage.press("slash", *"zzz", "enter")
            await stage.shows("Nobody fits the filter")
            await stage.press("escape")
            await stage.until(lambda: stage.app.board.agents.count == 2)

    on_stage(scenario)


def test_the_log_is_followed_searched_and_left(desk: ServedDesk) -> None:
    lines = [f"print=line {n} {'needle' if n == 30 else 'hay'}" for n in range(300)]

    async def scenario() -> None:
        async with staged(desk, log_lines=100) as stage:
            await one_agent(desk, stage, *lines, "sleep=60")
            await stage.shows("line 299 hay", "following")
            await stage.press("f3", *"needle", "enter")
            await stage.shows("'needle' is not in the log's last lines")
            await stage.press("f3", *["backspace"] * 6, *"line 250", "enter")
            await stage.shows("line 250 hay", "F follows")
            await stage.press("escape")
            await stage.shows("line 299 hay", "following")
            await stage.press("enter", "g")
            await stage.shows("line 200 hay", "line 1 of 100")
            assert "line 199" not in stage.text()
            await stage.press("slash", *"line 25", "enter")
            # What stands before it shows, too; the newest is the first that is found.
            await stage.shows("line 60 of 100, F follows", "line 255 hay", "line 259 hay")
            await stage.press("n")
            await stage.shows("line 51 of 100", "the search went on at the top; N goes the other")
            await stage.press("n")
            await stage.shows("line 52 of 100")
            await stage.press("N", "N")
            await stage.shows("line 60 of 100", "the search went on at the end; n goes the other")
            await stage.press("slash", *["backspace"] * 7, *"29", "enter", "N")
            await stage.shows("F follows", "/29")
            await stage.press("G", "escape", "escape")
            await stage.shows("NAME", "following")

    on_stage(scenario)


def test_the_wheel_moves_log_and_list(desk: ServedDesk) -> None:
    def up(widget: Widget) -> None:
        widget.post_message(
            MouseScrollUp(widget, 1, 1, 0, -1, 0, shift=False, meta=False, ctrl=False)
        )

    async def scenario() -> None:
        async with staged(desk, log_lines=100) as stage:
            await one_agent(desk, stage, *[f"print=line {n}" for n in range(300)], "sleep=60")
            await stage.shows("line 299", "following")
            up(stage.app.board.log_view)
            await stage.shows("F follows")
            await asyncio.to_thread(desk.submit, an_agent("second", "sleep=60"))
            await stage.shows("second")
            await stage.press("down")
            await stage.until(lambda: stage.chosen() == "second")
            up(stage.app.board.agents)
            await stage.until(lambda: stage.chosen() == "worker")

    on_stage(scenario)


def test_the_last_line_has_the_keys_of_what_is_shown(desk: ServedDesk) -> None:
    async def scenario() -> None:
        async with staged(desk) as stage:
            await one_agent(desk, stage, "print=here", "sleep=60")
            await stage.shows("F6Sort")
            await stage.press("enter")
            await stage.shows("EscBack", "n/NNext/Previous")
            assert "F6Sort" not in stage.text()
            await stage.press("escape")
            await stage.shows("F6Sort")

    on_stage(scenario)


def test_details_tell_the_story_and_help_the_keys(desk: ServedDesk) -> None:
    async def scenario() -> None:
        async with staged(desk) as stage:
            await one_agent(desk, stage, "exit=7")
            await stage.shows("ended with exit code 7")
            await stage.press("d")
            await stage.shows("Story", "queued: submitted", "failed: ended with exit code 7")
            await stage.press("q")
            await stage.press("f1")
            await stage.shows("paddock top: keys", "kill the chosen one")
            await stage.press("x")  # no key of the board works here
            await stage.press("G", "escape")
            await stage.shows("NAME")

    on_stage(scenario)
