"""How output is kept: by the daemon's settings, and by those of runs that were there before it."""

from __future__ import annotations

import asyncio

from paddock.config import settings as s
from paddock.config.settings import Settings
from paddock.core.units import MIB
from paddock.logs.keeping import Keeping
from paddock.logs.output import OutputStore
from paddock.ports import Store
from paddock.supervisor.loop import Supervisor


def usual_keeping(settings: Settings) -> Keeping:
    return Keeping(
        buffer_bytes=settings[s.LOG_BUFFER] * MIB,
        total_bytes=settings[s.LOG_ROTATION] * MIB,
        files=settings[s.LOG_FILES],
        full=settings[s.FULL_LOG],
    )


async def take_up(output: OutputStore, supervisor: Supervisor, settings: Settings) -> None:
    """Before the first byte is moved: how its run is to be kept is known again. Then what a killed
    daemon had rotated is packed, aside."""
    output.intake.usual = usual = usual_keeping(settings)
    runs = [supervisor.fleet.runs[run] for run in supervisor.fleet.live]

    def labels(store: Store) -> list[dict[str, str]]:
        recipes = [store.recipe(run.id) for run in runs]
        return [{} if recipe is None else dict(recipe.labels) for recipe in recipes]

    for run, known in zip(runs, await supervisor.look(labels), strict=True):
        output.intake.about(run.id, run.spec.name, Keeping.of(known, usual))
    await asyncio.to_thread(output.take_up)
