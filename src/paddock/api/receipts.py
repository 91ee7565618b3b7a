"""What is told of a submission that was taken: a line a run, and what was taken differently."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from paddock.wire.views import Submission, Submit, Taken

from .desk import Desk
from .ids import Found
from .views_of import SENTENCES, taken

AT_ONCE: Final = 500  # runs between two looks at what else is to be done


async def receipt(
    desk: Desk, body: Submit, found: Sequence[Found], notes: Sequence[str]
) -> Submission:
    fleet = desk.supervisor.fleet
    answers: list[Taken] = []
    for number, (request, (run_id, run)) in enumerate(zip(body.runs, found, strict=True)):
        answers.append(
            # Without a run it was so long ago that it was tidied away.
            Taken(id=run_id, name=request.name, state="ended")
            if run is None
            else taken(fleet, run, told=number < SENTENCES)
        )
        if number % AT_ONCE == AT_ONCE - 1:
            await asyncio.sleep(0)
    names = tuple(heartbeat.run.name for heartbeat in body.heartbeats)
    return Submission(runs=tuple(answers), heartbeats=names, notes=tuple(notes))


def receipt_of_one(desk: Desk, run_id: str, name: str, notes: Sequence[str] = ()) -> Submission:
    run = desk.supervisor.fleet.runs.get(run_id)
    one = (
        Taken(id=run_id, name=name, state="ended")
        if run is None
        else taken(desk.supervisor.fleet, run)
    )
    return Submission(runs=(one,), notes=tuple(notes))
