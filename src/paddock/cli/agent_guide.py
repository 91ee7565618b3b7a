"""`paddock agent-guide`: what an agent should know, with the limits in force. Needs no daemon."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

import click

from .connecting import door
from .exits import CommandError
from .here import settings_here
from .printing import echo_json

if TYPE_CHECKING:
    from paddock.cli.guide_text import Limits
    from paddock.config.policy import RunDefaults
    from paddock.config.settings import Settings
    from paddock.host.doctor.containment import Containment, Promises
    from paddock.wire.views import DaemonView

_CEILING_S: Final = 3600.0
_MEDIUM: Final = 2  # times as long as a simple run may take: what a run is when nothing is said


@click.command("agent-guide")
@click.option("--json", "as_json", is_flag=True, help="The text and the limits as one JSON object.")
def command(as_json: bool) -> None:
    """Print what an agent should know, to be put into its instructions.

    The limits are those of a run that says nothing of its own, submitted from this directory;
    inside a run, those of this run. Asks the daemon if one runs, and starts none.

    \b
    Examples:
      paddock agent-guide >> AGENTS.md
      paddock agent-guide --json | jq .limits
    """
    from paddock.cli.guide_text import guide

    limits = find_limits()
    if as_json:
        echo_json({"limits": asdict(limits), "text": guide(limits)})
    else:
        click.echo(guide(limits), nl=False)


def find_limits() -> Limits:
    from paddock.config.policy import run_defaults
    from paddock.host.memory import MemoryUnreadable, read_memory

    settings = settings_here()
    try:
        usual = run_defaults(settings, read_memory().total_bytes)
    except MemoryUnreadable as error:
        raise CommandError(f"cannot read this machine's memory: {error}") from None
    view, fleet_bytes = _daemon()
    return _limits(settings, usual, view, fleet_bytes=fleet_bytes)


def _daemon() -> tuple[DaemonView | None, int | None]:
    """The one that runs, and the fleet's wall; both None where none runs, or none answers."""
    from paddock.client.errors import ClientError

    try:
        with door()(start=False) as client:
            return client.daemon(), client.status().fleet.limit_bytes
    except ClientError:
        return None, None


def _limits(
    settings: Settings, usual: RunDefaults, view: DaemonView | None, *, fleet_bytes: int | None
) -> Limits:
    from paddock.cli.guide_text import Limits
    from paddock.config import settings as s

    walls, promises, in_containers = _walls(view, usual.driver)
    walled = promises.hard_memory_wall
    said = os.environ.get("PADDOCK_MEMORY_LIMIT", "") if "PADDOCK_RUN" in os.environ else ""
    if said.isascii() and said.isdigit():
        # Its other limits may have been said when it was submitted: they are not stated.
        no_swap = walled and promises.no_swap
        whose = "Of this run"
        return Limits(whose=whose, memory_bytes=int(said), walled=walled, no_swap=no_swap)
    limit = usual.limit_bytes if walled else usual.soft_limit_bytes
    limit = limit if fleet_bytes is None else min(limit, fleet_bytes)
    hard_s = min(float(settings[s.AGENT_TIMEOUT] * _MEDIUM), _CEILING_S)
    soft_s = hard_s / 2 if usual.soft_timeout_s is None else usual.soft_timeout_s
    throttled = walled and not in_containers and walls.word in ("cgroup2", "systemd")
    return Limits(
        whose="Of a run for which nothing else was said",
        memory_bytes=limit,
        walled=walled,
        no_swap=walled and promises.no_swap,
        high_bytes=usual.high_bytes(limit) if throttled else None,
        pids=usual.pids_limit if promises.pids_wall else None,
        cpus=usual.cpu_limit if walled and "cpu" not in walls.missing else None,
        soft_s=soft_s if soft_s < hard_s else None,
        hard_s=hard_s,
        tools=_tools(usual) if walled and not in_containers else (),
    )


def _walls(view: DaemonView | None, driver: str) -> tuple[Containment, Promises, bool]:
    from paddock.cli.doctor import examine
    from paddock.host.doctor.containment import of_containers

    examined = examine(view, None)
    walls = examined.containment
    if driver == "container":
        return walls, of_containers(examined.facts, walls), True
    return walls, walls.promises, False


def _tools(usual: RunDefaults) -> tuple[str, ...]:
    """Without those that only take turns."""
    walls = (wall for wall in usual.tool_walls if wall.memory_bytes or not wall.lease)
    return tuple(dict.fromkeys(wall.command for wall in walls))
