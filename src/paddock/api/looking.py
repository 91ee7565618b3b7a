"""Requests that change nothing: status, runs, stories, reasons, memory, metrics, and waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final, get_args

from paddock.core.explain import sentence
from paddock.core.run import Ended, Outcome, Queued, Run, StepDone
from paddock.observe.page import MEDIA_TYPE
from paddock.ports import Store, Wanted
from paddock.supervisor.keepsakes import AFTER_LABEL
from paddock.wire.views import (
    Await,
    BreakerView,
    DaemonView,
    LearnedView,
    MemoryView,
    MoveView,
    RunView,
    StateWord,
    StatusView,
    StepView,
    WhyView,
)

from . import fleets, views_of
from .answering import Plain
from .asking import Asked
from .bodies import MIB
from .desk import Desk
from .problems import bad_request, not_found

MOST_LISTED: Final = 100_000
ENDED_LISTED: Final = 1000  # unless a limit asks for more
AT_ONCE: Final = 500
LONGEST_WAIT_S: Final = 3600.0
MOST_AWAITED: Final = 10_000
STATES: Final[tuple[str, ...]] = get_args(StateWord)


async def status(desk: Desk, _asked: Asked) -> StatusView:
    status = views_of.status_view(desk.supervisor)
    status.notices = desk.facts.notices()
    return status


async def daemon(desk: Desk, _asked: Asked) -> DaemonView:
    return desk.facts.view()


async def run(desk: Desk, asked: Asked) -> RunView:
    return views_of.run_view(desk.supervisor, await desk.find(asked.path["run"]))


async def story(desk: Desk, asked: Asked) -> tuple[MoveView, ...]:
    found = await desk.find(asked.path["run"])
    moves = await desk.supervisor.look(lambda store: store.story(found.id))
    return views_of.move_views(desk.supervisor.clock, moves)


async def steps(desk: Desk, asked: Asked) -> tuple[StepView, ...]:
    found = await desk.find(asked.path["run"])
    done = await desk.supervisor.look(lambda store: _steps_done(store, found))
    return views_of.step_views(desk.supervisor.clock, done, of=found.id)


def _steps_done(store: Store, run: Run) -> list[StepDone]:
    """Also those that it need not do, as the run it goes on with has done them."""
    done = list(store.steps_done(run.id))
    while (first := run.spec.first_step) and (recipe := store.recipe(run.id)) is not None:
        before = store.run(recipe.labels.get(AFTER_LABEL, ""))
        if before is None:
            break  # forgotten meanwhile
        done[:0] = [one for one in store.steps_done(before.id) if one.step < first]
        run = before
    return done


async def why(desk: Desk, asked: Asked) -> WhyView:
    found = await desk.find(asked.path["run"])
    box = await desk.aside(lambda: desk.facts.black_box(found.id))
    if box is not None and not _has_failed(found):
        box.pop("next", None)  # of an attempt that it has outlived: the sentence says what is now
    told = sentence(desk.supervisor.fleet, found) + views_of.unheard(desk.supervisor, found)
    return WhyView(sentence=told, black_box=box)


def _has_failed(run: Run) -> bool:
    return isinstance(run.state, Ended) and run.state.outcome is not Outcome.SUCCEEDED


async def metrics(desk: Desk, _asked: Asked) -> Plain:
    if desk.facts.metrics is None:
        raise not_found("this daemon has no metrics")
    return Plain(await desk.facts.metrics(), MEDIA_TYPE)


async def memory(desk: Desk, asked: Asked) -> tuple[MemoryView, ...]:
    """CPU time and processes are read here and not at every look: only dashboards ask for them."""
    hands = desk.supervisor.hands
    recent = desk.facts.recent_bytes if asked.flag("recent") else None
    return views_of.memory_views(
        desk.supervisor.fleet,
        cpu_s=hands.cpu_s(),
        processes=hands.processes(),
        recent_bytes=recent,
    )


async def learned(desk: Desk, _asked: Asked) -> tuple[LearnedView, ...]:
    return views_of.learned_views(desk.supervisor.fleet)


async def breakers(desk: Desk, _asked: Asked) -> tuple[BreakerView, ...]:
    return tuple(views_of.breakers(desk.supervisor.fleet, all_of_them=True))


async def runs(desk: Desk, asked: Asked) -> list[RunView]:
    """Those that have not ended; with `all`, or when ended ones are asked for, those too."""
    state = asked.text("state")
    if state is not None and state not in STATES:
        raise bad_request(f"state: found {state[:20]!r}; allowed: {', '.join(STATES)}")
    limit = asked.whole("limit", most=MOST_LISTED)
    unremembered = desk.supervisor.unremembered()
    found = [] if state == "ended" else _unended(desk, asked, state)
    if (fleet := asked.text("fleet")) is not None:
        found = await fleets.unended_of(desk, fleet, found)
    if state in (None, "ended") and (asked.flag("all") or state == "ended"):
        left = ENDED_LISTED if limit is None else max(0, limit - len(found))
        await desk.supervisor.remembered(unremembered)
        listed = {run.id for run in found}  # some of them may have ended since
        found += [run for run in await _ended(desk, asked, left) if run.id not in listed]
    return await _views(desk, found if limit is None else found[:limit])


def _unended(desk: Desk, asked: Asked, state: str | None) -> list[Run]:
    name, group = asked.text("name"), asked.text("group")
    return [
        run
        for run in views_of.in_order(desk.supervisor.fleet)
        if state in (None, views_of.state_word(run.state))
        and name in (None, run.spec.name)
        and group in (None, run.spec.group)
    ]


async def _ended(desk: Desk, asked: Asked, limit: int) -> Iterable[Run]:
    if (fleet := asked.text("fleet")) is not None:
        return await fleets.ended_of(desk, fleet, most=limit)
    wanted = Wanted(name=asked.text("name"), group=asked.text("group"))
    return await desk.supervisor.look(lambda store: store.ended(wanted, limit=limit))


async def _views(desk: Desk, found: list[Run]) -> list[RunView]:
    """A long list is made in turn with whatever else there is to do."""
    views: list[RunView] = []
    sentences = views_of.SENTENCES
    for number, run in enumerate(found, start=1):
        waits = isinstance(run.state, Queued)
        sentences -= waits
        views.append(views_of.run_view(desk.supervisor, run, told=not waits or sentences >= 0))
        if number % AT_ONCE == 0:
            await asyncio.sleep(0)
    return views


async def wait(desk: Desk, asked: Asked) -> list[RunView]:
    """Answers when all of them have ended or the time is over, with what they are then."""
    body = await asked.body(Await, most=MIB)
    if bool(body.runs) == (body.fleet is not None) or len(body.runs) > MOST_AWAITED:
        raise bad_request(f"runs: allowed: 1 to {MOST_AWAITED:,} of them, or a fleet instead")
    if not 0 <= body.timeout_s <= LONGEST_WAIT_S:
        raise bad_request(f"timeout_s: allowed: 0 to {LONGEST_WAIT_S:g}")
    if body.fleet is not None:
        found = await fleets.newest_of(desk, body.fleet)
    else:
        found = [await desk.find(text) for text in body.runs]
    # Also those that have ended: an end counts when it is remembered.
    await _until_ended(desk, asked, {run.id for run in found}, within_s=body.timeout_s)
    known = desk.supervisor.fleet.runs
    missing = [run.id for run in found if run.id not in known]
    stored = await desk.supervisor.look(lambda store: {run: store.run(run) for run in missing})
    return await _views(desk, [known.get(run.id) or stored.get(run.id) or run for run in found])


async def _until_ended(desk: Desk, asked: Asked, ids: set[str], *, within_s: float) -> None:
    """Also ends when whoever waits has left, and when the daemon stops."""
    ended = asyncio.ensure_future(desk.supervisor.ended(ids, within_s=within_s))
    left = asyncio.ensure_future(asked.receive())
    closing = asyncio.ensure_future(desk.closing.wait())
    try:
        await asyncio.wait((ended, left, closing), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (ended, left, closing):
            task.cancel()
        await asyncio.gather(ended, left, closing, return_exceptions=True)
