"""What top shows of a fleet that lives: it comes, goes, writes, and is lost and found again."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rich.cells import cell_len

from paddock.client.faces import Places
from paddock.core.events import Sampled
from paddock.core.run import Attempt
from tests.kit.desk import ServedDesk, a_desk, an_agent
from tests.kit.factories import a_host, a_policy
from tests.tui.stage import on_stage, staged

GIB = 1 << 30


def test_an_empty_fleet_says_how_to_begin_and_shows_what_comes(desk: ServedDesk) -> None:
    async def scenario() -> None:
        async with staged(desk) as stage:
            await stage.shows("No agents. Start one:", "[calm]", "nobody waits")
            assert stage.chosen() is None
            await stage.press("x", "r", "z", "p", "f7", "enter", "d")  # nothing to do it to
            await stage.shows("no agent is chosen")
            await asyncio.to_thread(desk.submit, an_agent("first", "print=hello", "sleep=60"))
            await stage.shows("first", "running", "hello")

    on_stage(scenario)


def test_memory_is_shown_against_the_wall_and_the_last_minute(desk: ServedDesk) -> None:
    async def scenario() -> None:
        work = an_agent("eats", "sleep=60", memory_bytes=2 * GIB)
        [run] = (await asyncio.to_thread(desk.submit, work)).runs
        attempt = Attempt(run.id, 1)
        desk.recent_bytes[attempt] = tuple(n * GIB // 30 for n in range(60))
        async with staged(desk, size=(160, 30)) as stage:
            await stage.shows("eats", "running")
            desk.now(lambda: desk.supervisor.post(Sampled(0.0, a_host(), {attempt: GIB})))
            text = await stage.shows("1G/2G")
            assert "▁▁▁▂▂▂" in text or "▇" in text, text

    on_stage(scenario)


def test_who_waits_says_why_and_who_ended_says_how(tmp_path: Path) -> None:
    async def scenario(desk: ServedDesk) -> None:
        runs = [an_agent("works", "sleep=60"), an_agent("waits", "sleep=60")]
        await asyncio.to_thread(desk.submit, *runs)
        async with staged(desk) as stage:
            await stage.shows("1 waiting", "first is waits: ", "#1 ")
            await stage.press("G", "x", "y")
            await stage.shows("cancelled while it waited")

    with a_desk(tmp_path, policy=a_policy(max_agents=1)) as desk:
        on_stage(lambda: scenario(desk))


def test_an_agent_that_ends_while_it_is_chosen_stays_chosen(desk: ServedDesk) -> None:
    async def scenario() -> None:
        await asyncio.to_thread(
            desk.submit,
            an_agent("a", "sleep=60"),
            an_agent("b", "print=the last word", "sleep=1", "exit=3"),
            an_agent("c", "sleep=60"),
        )
        async with staged(desk) as stage:
            await stage.shows("a ", "b ", "c ")
            await stage.press("j")
            assert stage.chosen() == "b"
            await stage.shows("ended with exit code 3", "the last word")
            assert stage.chosen() == "b"

    on_stage(scenario)


def test_a_daemon_that_goes_is_missed_and_one_that_comes_is_found(tmp_path: Path) -> None:
    first, second = ServedDesk(tmp_path), ServedDesk(tmp_path)

    async def scenario() -> None:
        await asyncio.to_thread(first.start)
        await asyncio.to_thread(first.submit, an_agent("before", "sleep=60"))
        async with staged(first) as stage:
            await stage.shows("before", "running")
            await asyncio.to_thread(first.stop)
            text = await stage.shows("No daemon.")
            assert "before" in text, "what was known still shows"
            await stage.press("x", "y")
            await stage.shows("no daemon answers")
            await asyncio.to_thread(second.start)
            await asyncio.to_thread(second.submit, an_agent("after", "print=again", "sleep=60"))
            await stage.hides("No daemon.")
            await stage.shows("after", "again")
        await asyncio.to_thread(second.stop)

    on_stage(scenario)


def test_without_any_daemon_it_waits_for_one(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with staged(Places(tmp_path)) as stage:
            await stage.shows("No daemon.")

    on_stage(scenario)


def test_a_thousand_agents_can_be_walked_through(desk: ServedDesk) -> None:
    async def scenario() -> None:
        many = [an_agent(f"agent-{n:04}", "sleep=60", memory_bytes=16 << 20) for n in range(1000)]
        await asyncio.to_thread(desk.submit, *many)
        async with staged(desk) as stage:
            await stage.until(lambda: stage.app.board.agents.count == 1000)
            first = stage.chosen()
            await stage.press("G")
            await stage.until(lambda: stage.chosen() != first)
            await stage.until(lambda: (stage.chosen() or "nobody") in stage.text())
            await stage.press("g", "pagedown", "k")
            await stage.press("slash", *"0777", "enter")
            await stage.until(lambda: stage.app.board.agents.count == 1)
            assert stage.chosen() == "agent-0777"
            await stage.press("escape")
            await stage.until(lambda: stage.app.board.agents.count == 1000)

    on_stage(scenario)


def test_long_names_and_hostile_groups_break_nothing(desk: ServedDesk) -> None:
    groups = ["日" * 60, "[bold]no[/bold]", "e\N{COMBINING ACUTE ACCENT}" * 20]

    async def scenario() -> None:
        runs = [an_agent(f"{n}{'x' * 63}", "sleep=60", group=one) for n, one in enumerate(groups)]
        await asyncio.to_thread(desk.submit, *runs)
        async with staged(desk) as stage:
            await stage.until(lambda: stage.app.board.agents.count == len(groups))
            text = await stage.shows("0xxx", "日日", "[bold]no[/b")
            assert all(cell_len(line) <= 80 for line in text.splitlines())

    on_stage(scenario)
