"""Standing still and going on: in the order they were asked for, however slow an engine is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from paddock.core.run import Attempt, Outcome
from paddock.drivers.container.deeds import Deed, Deeds
from paddock.drivers.container.engine import EngineTrouble
from paddock.drivers.container.life import Life
from paddock.drivers.container.naming import Box
from paddock.drivers.container.pressing import Pressing
from paddock.ports import Stop


class SlowEngine:
    """As much of an engine as pressing asks: a pause takes until it is let through."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.paused = False
        self.away = 0  # so often it does not answer
        self.let_through = asyncio.Event()

    async def pause(self, name: str) -> None:  # noqa: ARG002
        await self.let_through.wait()
        self.paused = True
        self.done.append("pause")

    async def unpause(self, name: str) -> None:  # noqa: ARG002
        if self.away:
            self.away -= 1
            self.done.append("no answer")
            raise EngineTrouble("it is being restarted")
        self.paused = False
        self.done.append("unpause")

    async def kill(self, name: str, signal: str) -> None:  # noqa: ARG002
        self.done.append(f"kill {signal}")


def pressed(
    scenario: Callable[[Pressing, SlowEngine, Life, Deeds], Awaitable[None]],
) -> SlowEngine:
    async def whole() -> SlowEngine:
        engine = SlowEngine()
        pressing = Pressing(engine)  # type: ignore[arg-type]
        life = Life(Attempt("a", 1), "pd-a-1", Box(Path("/nowhere")), lambda _: None)
        deeds = Deeds()
        await scenario(pressing, engine, life, deeds)
        await asyncio.wait_for(deeds.settled(), 20)
        return engine

    return asyncio.run(whole())


async def _turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_a_thaw_does_not_overtake_the_freeze_before_it() -> None:
    async def scenario(pressing: Pressing, engine: SlowEngine, life: Life, deeds: Deeds) -> None:
        deeds.do(_frozen(pressing), life)
        deeds.do(pressing.thaw, life)
        await _turns()
        assert engine.done == []
        engine.let_through.set()

    engine = pressed(scenario)
    assert engine.done == ["pause", "unpause"] and not engine.paused


def test_the_last_that_was_asked_for_is_how_it_stands() -> None:
    async def scenario(pressing: Pressing, engine: SlowEngine, life: Life, deeds: Deeds) -> None:
        for deed in (_frozen(pressing), pressing.thaw, _frozen(pressing)):
            deeds.do(deed, life)
        await _turns()
        engine.let_through.set()

    engine = pressed(scenario)
    assert engine.done == ["pause", "unpause", "pause"] and engine.paused


def test_a_kill_waits_for_a_pause_that_is_under_way_and_no_other_follows() -> None:
    """Paused after its kill, it would hold its memory and never die."""

    async def scenario(pressing: Pressing, engine: SlowEngine, life: Life, deeds: Deeds) -> None:
        deeds.do(_frozen(pressing), life)
        await _turns()
        life.stop = Stop(Outcome.PREEMPTED, "the host's memory")
        deeds.do(pressing.kill, life)
        deeds.do(_frozen(pressing), life)
        await _turns()
        assert engine.done == []
        engine.let_through.set()

    engine = pressed(scenario)
    assert engine.done == ["pause", "unpause", "kill KILL"] and not engine.paused


def test_a_thaw_is_asked_for_again_when_the_engine_was_away() -> None:
    """Nobody else would: the run would stand still for ever, and hold its memory."""

    async def scenario(pressing: Pressing, engine: SlowEngine, life: Life, deeds: Deeds) -> None:
        engine.let_through.set()
        engine.away = 2
        deeds.do(_frozen(pressing), life)
        deeds.do(pressing.thaw, life)

    engine = pressed(scenario)
    assert engine.done == ["pause", "no answer", "no answer", "unpause"] and not engine.paused


def test_a_thaw_that_comes_late_does_not_undo_the_freeze_after_it() -> None:
    async def scenario(pressing: Pressing, engine: SlowEngine, life: Life, deeds: Deeds) -> None:
        engine.let_through.set()
        engine.away = 2
        for deed in (_frozen(pressing), pressing.thaw, _frozen(pressing)):
            deeds.do(deed, life)

    engine = pressed(scenario)
    assert engine.done[-1] == "pause" and engine.paused


def test_a_kill_does_not_fail_for_an_engine_that_does_not_thaw() -> None:
    async def scenario(pressing: Pressing, engine: SlowEngine, life: Life, deeds: Deeds) -> None:
        engine.let_through.set()
        await pressing.freeze(life, reclaim=False)
        engine.away = 1
        life.stop = Stop(Outcome.PREEMPTED, "the host's memory")
        deeds.do(pressing.kill, life)

    engine = pressed(scenario)
    assert engine.done == ["pause", "no answer", "kill KILL"]


def _frozen(pressing: Pressing) -> Deed:
    return lambda life: pressing.freeze(life, reclaim=False)
