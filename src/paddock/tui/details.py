"""All about one agent: how it stands, why, its black box, its steps and its story."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from typing import Final

from paddock.client import AsyncClient
from paddock.client.faces import format_size, safe, story_of
from paddock.client.faces import views as v

from .cells import Line, fit

_ROOM: Final = 14


async def details(client: AsyncClient, run: str) -> Sequence[Line]:
    view, why, story, steps = await asyncio.gather(
        client.run(run), client.why(run), client.story(run), client.steps(run)
    )
    return [
        *_facts(view, why),
        *_section(
            "Black box", (_named(name, text) for name, text in (why.black_box or {}).items())
        ),
        *_section("Steps done", (_step(step) for step in steps)),
        *_section("Story", map(_move, story, story_of(story, view.outcome))),
    ]


def _facts(run: v.RunView, why: v.WhyView) -> Iterator[Line]:
    yield _named("why", why.sentence)
    yield _named("id", run.id)
    yield _named("state", run.outcome or run.state)
    yield _named("priority", run.priority)
    yield _named("group", run.group)
    yield _named("tries", str(run.tries or run.attempt))
    if run.needs:
        yield _named("needs", ", ".join(run.needs))
    if run.steps:
        yield _named("step", f"{run.steps_done} of {run.steps} done; next {run.step or 'none'}")
    sizes = {
        "wall": run.limit_bytes,
        "expected": run.expected_bytes,
        "in use": run.memory_bytes,
        "peak": run.peak_bytes,
    }
    known = [f"{name} {format_size(size)}" for name, size in sizes.items() if size is not None]
    yield _named("memory", ", ".join(known))


def _section(title: str, lines: Iterator[Line]) -> Iterator[Line]:
    found = list(lines)
    if found:
        yield [("", "plain")]
        yield [(title, "head")]
        yield from found


def _named(name: str, text: str) -> Line:
    return [(fit(safe(name), _ROOM), "bold"), (safe(text), "plain")]


def _step(step: v.StepView) -> Line:
    code = "" if step.exit_code is None else f" (exit code {step.exit_code})"
    where = f"in the run {step.run}, " if step.run else ""
    told = f"{_clock(step.at)}, {where}attempt {step.attempt}{code}"
    return _named(f"{step.step}. {step.name}", told)


def _move(move: v.MoveView, because: str) -> Line:
    return _named(_clock(move.at), f"{move.state}: {because}")


def _clock(at: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at))
