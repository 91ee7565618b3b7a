"""`paddock kill` without the daemon: for when it is dead, or hangs, or all must go in any case."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from .exits import CommandError, ExitCode
from .printing import note, safe

if TYPE_CHECKING:
    from paddock.rescue.agents import Agent, Yard

BY_DAEMON_WITHIN_S: Final = 2.0
LOOK_S: Final = 0.05
WHY: Final = {"silent": "the daemon does not answer", "absent": "there is no daemon"}


def directly(runs: tuple[str, ...], *, force: bool, as_json: bool) -> int | None:
    """None: the daemon answers, or there is none and nobody of these lives; then it is for the
    daemon, which also knows who only waits. No runs: all of them, and for nobody none is started.
    """
    from paddock.config.places import find_places
    from paddock.rescue.reaching import ANSWERS, SILENT, daemon_is

    places = find_places()
    state = daemon_is(str(places.socket))
    if state == ANSWERS:
        return None
    from paddock.rescue.agents import Yard
    from paddock.rescue.records import NotOurs, own_records
    from paddock.rescue.waiting import anybody_waits

    try:
        yard = Yard(own_records(str(places.state)))
    except NotOurs as error:
        raise CommandError(safe(str(error)), ExitCode.REFUSED) from None
    agents, unknown = _meant(yard, runs)
    if not agents and state != SILENT and (runs or anybody_waits(str(places.store))):
        return None
    if unknown:
        names = ", ".join(map(safe, unknown))
        text = f"{WHY[state]}, and no agent of these lives: {names}; nobody was killed"
        raise CommandError(text, ExitCode.NOT_FOUND)
    return _kill(yard, agents, why=WHY[state], force=force, as_json=as_json)


def _meant(yard: Yard, runs: tuple[str, ...]) -> tuple[list[Agent], list[str]]:
    from paddock.rescue.agents import chosen

    agents = yard.agents()
    if not runs:
        return agents, []
    try:
        return chosen(agents, runs)
    except ValueError as error:
        raise CommandError(safe(str(error))) from None


def _kill(yard: Yard, agents: list[Agent], *, why: str, force: bool, as_json: bool) -> int:
    from paddock.rescue.killing import kill_now, stop_politely
    from paddock.rescue.machine import CANCELLED, keep_in_memory, tell_daemon

    keep_in_memory()
    if agents:
        note(f"{why}: killing without it" + ("" if force else ", within 10 s"))
    for agent in agents:  # before: a daemon that wakes up sees them die
        tell_daemon(yard, agent, outcome=CANCELLED, because=f"killed by `paddock kill`; {why}")
    left = kill_now(yard, agents) if force else stop_politely(yard, agents)
    ids = list(dict.fromkeys(agent.facts.run for agent in agents))
    if as_json:
        click.echo(json.dumps({"runs": ids, "heartbeats": []}, indent=2))
    else:
        for run in ids:
            click.echo(safe(run))
    if not agents:
        note(f"{why}; nothing to kill")
    return _still_there(left)


def make_sure() -> int:
    """After the daemon was told to kill all: given a moment, then whatever is left dies anyway."""
    from paddock.config.places import find_places
    from paddock.rescue.agents import Yard
    from paddock.rescue.killing import kill_now
    from paddock.rescue.records import NotOurs, own_records

    try:
        yard = Yard(own_records(str(find_places().state)))
    except NotOurs:
        return ExitCode.DONE  # that user's daemon was told, and is all that we believe
    give_up_at = time.monotonic() + BY_DAEMON_WITHIN_S
    while (agents := yard.agents()) and time.monotonic() < give_up_at:
        time.sleep(LOOK_S)
    return _still_there(kill_now(yard, agents)) if agents else ExitCode.DONE


def _still_there(left: Sequence[str]) -> int:
    if not left:
        return ExitCode.DONE
    names = ", ".join(map(safe, left))
    note(f"still there 5 s after SIGKILL, held up in the kernel or another user's: {names}")
    return ExitCode.ENDED_OTHERWISE
