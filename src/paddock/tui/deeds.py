"""What can be done to an agent, each with the sentence that says what came of it."""

from __future__ import annotations

import os
from typing import Final

from paddock.client import AsyncClient
from paddock.client.faces import PriorityWord, safe
from paddock.client.faces import views as v

PRIORITIES: Final[tuple[PriorityWord, ...]] = ("low", "normal", "high", "critical")


async def kill(client: AsyncClient, run: v.RunView, *, force: bool) -> str:
    killed = await client.kill([run.id], force=force)
    name = safe(run.name)
    if not killed.runs:
        return f"{name} had ended already"
    return f"{name} is killed" if force else f"{name} is asked to stop"


async def set_priority(client: AsyncClient, run: v.RunView, word: PriorityWord) -> str:
    view = await client.priority(run.id, word)
    return f"{safe(view.name)} has priority {view.priority}"


async def freeze_or_thaw(client: AsyncClient, run: v.RunView) -> str:
    if run.frozen:
        return f"{safe((await client.thaw(run.id)).name)} goes on"
    view = await client.freeze(run.id)
    return f"{safe(view.name)} is frozen and keeps its memory; z lets it go on"


async def retry(client: AsyncClient, run: v.RunView) -> str:
    [taken] = (await client.retry(run.id, environment=os.environ)).runs
    return f"{safe(run.name)} runs once more, as {taken.id} ({taken.state})"


async def reset_breaker(client: AsyncClient, group: str) -> str:
    view = await client.reset_breaker(group)
    return f"the breaker of {safe(view.group)} is {view.state}"


def next_priority(word: str, by: int) -> PriorityWord | None:
    """None: it has the last one already."""
    at = PRIORITIES.index(word) + by if word in PRIORITIES else 1
    return PRIORITIES[at] if 0 <= at < len(PRIORITIES) else None
