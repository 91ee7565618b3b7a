"""What the end of an agent's output says: tried again later, or its session is lost.

Looked at between the exit of an attempt and its telling, in a thread, and only where the program
failed: one that did its work may well have written about rate limits. A daemon that dies meanwhile
hears of the exit again, and the next one looks once more. A matched line goes nowhere: it may hold
a secret.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from paddock.config.patterns import BadPattern, compiled
from paddock.config.preset import Sign
from paddock.core.events import OF_AN_END, AttemptLost, Event, Exited
from paddock.core.fleet import Fleet
from paddock.core.run import Attempt, Exit, Run, Stopping
from paddock.ports import Recipe
from paddock.storage.errors import StoreError
from paddock.supervisor.held_ends import HeldEnds
from paddock.supervisor.looks import Looks
from paddock.supervisor.sessions import Agent, Sessions, Written, lines_of
from paddock.supervisor.stated_times import wait_s
from paddock.supervisor.stepping import agent_at, resumes

if TYPE_CHECKING:
    from paddock.supervisor.loop import Supervisor

TAIL_BYTES: Final = 8 << 10
PATIENCE_S: Final = 60.0  # a disk that hangs must not keep an end from being told
UNSTATED: Final = -1.0  # later, by the usual pause

log = logging.getLogger("paddock.signs")


@dataclass(frozen=True, slots=True)
class Seen:
    retry_after_s: float | None = None
    session_lost: bool = False


class Signs:
    def __init__(
        self,
        fleet: Fleet,
        tell: Callable[[Event], None],
        sessions: Sessions,
        written: Written,
        *,
        recipe: Callable[[str], Awaitable[Recipe | None]],
    ) -> None:
        self._tell = tell
        self._recipe = recipe
        self._written = written
        self._sessions = sessions
        self._held = HeldEnds(fleet)
        self._tasks: set[asyncio.Task[None]] = set()
        self._looks = Looks("signs")

    def takes(self, event: Event) -> bool:
        """Whether it is told later, with what was seen."""
        if self._held.waits_behind(event):
            return True
        if not isinstance(event, OF_AN_END) or (run := self._held.run_of(event)) is None:
            return False
        if not run.spec.agent or not _is_cut(run, event):
            return False
        self._held.hold(event)
        task = asyncio.get_running_loop().create_task(self._look(run, event))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def _look(self, run: Run, event: Event) -> None:
        seen = Seen()
        try:
            seen = await self._seen(run, event)
        except (OSError, StoreError, BadPattern) as error:
            log.warning("what %s wrote last is not known: %s", run.id, error)
        except Exception:
            log.exception("looking at what %s wrote last", run.id)
        # Not when cancelled: the daemon ends, and the next one hears of it again and looks itself.
        self._pass_on(run.attempt, seen)

    async def _seen(self, run: Run, event: Event) -> Seen:
        async with asyncio.timeout(PATIENCE_S):
            recipe = await self._recipe(run.id)
        agent = None if recipe is None else agent_at(recipe.labels, run.steps_done)
        if recipe is None or agent is None:
            return Seen()
        look = partial(self._see, run.attempt, agent, event, resumed=resumes(run, recipe))
        return await self._looks.seen(look, patience_s=PATIENCE_S)

    def _pass_on(self, attempt: Attempt, seen: Seen) -> None:
        for event in self._held.let_go(attempt):
            if isinstance(event, Exited) and seen != Seen():
                ended = replace(event.exit, session_lost=seen.session_lost)
                if ended.retry_after_s is None:  # who said it by itself knows better
                    ended = replace(ended, retry_after_s=seen.retry_after_s)
                event = replace(event, exit=ended)
            self._tell(event)

    # -- in a thread ----------------------------------------------------------------------

    def _see(self, attempt: Attempt, agent: Agent, event: Event, *, resumed: bool) -> Seen:
        self._sessions.find(attempt, agent)
        if not isinstance(event, Exited):
            return Seen()
        ended, tail = event.exit, lines_of(self._written.last(attempt, TAIL_BYTES))
        if resumed and _found(agent.lost, ended, tail) is not None:
            return Seen(session_lost=True)
        said = _found(agent.later, ended, tail)
        return Seen() if said is None else Seen(_stated_s(said))

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._looks.close()


def signs_for(supervisor: Supervisor, sessions: Sessions, written: Written) -> Signs:
    """In their places: sessions are given at each start, signs are looked for at each end."""
    hands = supervisor.hands
    signs = Signs(
        *(supervisor.fleet, hands.post, sessions, written),
        recipe=lambda run: supervisor.look(lambda store: store.recipe(run)),
    )
    hands.sessions, hands.signs = sessions, signs
    supervisor.on_parting.append(sessions.part)
    return signs


def _is_cut(run: Run, event: Event) -> bool:
    """Whether there is something to go on with, or to be understood."""
    if isinstance(event, AttemptLost):
        return True
    return isinstance(event, Exited) and (event.exit.code != 0 or isinstance(run.state, Stopping))


def _found(signs: Sequence[Sign], ended: Exit, tail: Iterable[str]) -> tuple[str, str] | None:
    """What the first sign that holds says about the time: a kind and a text, both empty if nothing.

    Only of a program that failed by itself: one that was killed has not said its last word.
    """
    if not ended.code:
        return None
    lines = [line for line in tail if line]
    for sign in signs:
        if sign.exit and ended.code not in sign.exit:
            continue
        if not sign.pattern:
            return "", ""
        for line in reversed(lines):
            groups = compiled(sign.pattern).search(line)
            if groups is not None:
                return next(iter(groups.items()), ("", ""))
    return None


def _stated_s(said: tuple[str, str]) -> float:
    kind, text = said
    stated = wait_s(kind, text, datetime.now().astimezone()) if kind else None
    return UNSTATED if stated is None else stated
