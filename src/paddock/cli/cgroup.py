"""`paddock cgroup`: walls by hand, without runs and without the daemon."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import click

from paddock.core.units import GIB, format_size

from .exits import CommandError, ExitCode
from .params import AGENT_SIZE, NumberType
from .printing import note, safe

if TYPE_CHECKING:
    from paddock.cgroups.group import Group
    from paddock.rescue.by_hand import ByHand

DEFAULT_BYTES = 4 * GIB
DEFAULT_PIDS = 512


@click.group("cgroup")
def command() -> None:
    """Make a walled cgroup by hand, and run commands in it. Needs no daemon.

    Below the wall of the fleet where a paddock runs, so that it cannot take the machine; else below
    the caller's own cgroup. Every subcommand that prints something takes --json.

    \b
    Examples:
      paddock cgroup create build --memory 2G
      paddock cgroup exec build -- make -j8
    """


@command.command("create")
@click.option("--memory", type=AGENT_SIZE, default=DEFAULT_BYTES, help="Hard wall.  [default: 4G]")
@click.option("--memory-high", type=AGENT_SIZE, help="Soft wall; cgroup v2 only.  [default: none]")
@click.option(
    "--pids", type=click.IntRange(1, 4_000_000), help="Processes and threads.  [default: 512]"
)
@click.option("--cpu", type=NumberType(0.01, 1024), help="Cores at most.  [default: all]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.argument("name")
def create(
    name: str,
    memory: int,
    memory_high: int | None,
    pids: int | None,
    cpu: float | None,
    as_json: bool,
) -> None:
    """Make a cgroup with walls and print its path. Swap is never allowed in it.

    \b
    Example:
      paddock cgroup create build --memory 4G --pids 512
    """
    from paddock.cgroups.group import Walls
    from paddock.rescue.by_hand import NotMade

    if memory_high is not None and memory_high > memory:
        raise CommandError("--memory-high is above --memory; say less than the hard wall")
    most = DEFAULT_PIDS if pids is None else pids
    walls = Walls(limit_bytes=memory, high_bytes=memory_high, pids=most, cpus=cpu)
    wanted = {"pids": pids, "cpu": cpu, "high": memory_high}
    try:
        group = _by_hand(name).create(name, walls, must_have=[k for k, v in wanted.items() if v])
    except FileExistsError:
        text = f"there is already a cgroup {safe(name)}; paddock cgroup rm {safe(name)} removes it"
        raise CommandError(text) from None
    except NotMade as error:
        raise CommandError(safe(str(error)), ExitCode.REFUSED) from None
    if as_json:
        click.echo(json.dumps(_object(name, group), indent=2))
        return
    click.echo(group.path)


@command.command("exec")
@click.argument("name")
@click.argument("words", metavar="-- CMD…", nargs=-1, required=True, type=click.UNPROCESSED)
def execute(name: str, words: tuple[str, ...]) -> None:
    """Join a cgroup and become CMD; the exit code is CMD's.

    \b
    Example:
      paddock cgroup exec build -- make -j8
    """
    from paddock.rescue.by_hand import become

    group = _found(_by_hand(name), name)
    try:
        become(group, words)
    except FileNotFoundError:
        text = f"there is no command {shlex.quote(safe(words[0]))}"
        raise CommandError(text, ExitCode.NO_SUCH_COMMAND) from None
    except OSError as error:
        text = f"{safe(words[0])} cannot be started in {group.path}: {error.strerror}"
        raise CommandError(text, ExitCode.NOT_EXECUTABLE) from None


@command.command("ls")
@click.option("--json", "as_json", is_flag=True, help="A JSON list on stdout.")
def listed(as_json: bool) -> None:
    """List the cgroups that were made by hand.

    \b
    Example:
      paddock cgroup ls
    """
    made = _by_hand().all()
    if as_json:
        click.echo(json.dumps([_object(one.name, one.group) for one in made], indent=2))
        return
    for one in made:
        said = _object(one.name, one.group)
        limit = said["limit_bytes"]
        of = "" if limit is None else f" of {format_size(limit)}"
        count = "1 process" if said["processes"] == 1 else f"{said['processes']} processes"
        click.echo(f"{safe(one.name)}  {format_size(said['used_bytes'])}{of}, {count}")
    if not made:
        note("no cgroup was made by hand here")


@command.command("rm", short_help="Remove a cgroup that was made by hand.")
@click.option("--kill", "by_force", is_flag=True, help="First kill whatever runs in it.")
@click.argument("name")
def remove(name: str, by_force: bool) -> None:
    """Remove a cgroup that was made by hand; with --kill even if something runs in it.

    \b
    Example:
      paddock cgroup rm --kill build
    """
    import time

    from paddock.rescue.by_hand import kill, processes

    by_hand = _by_hand(name)
    group = _found(by_hand, name)
    if by_force:
        kill(group)
    elif count := processes(group):
        text = f"{safe(name)} has {count} in it; --kill kills them first"
        raise CommandError(text, ExitCode.REFUSED)
    give_up_at = time.monotonic() + 5.0
    while not by_hand.remove(group):  # the kernel may still be counting what its last process had
        if time.monotonic() > give_up_at:
            raise CommandError(f"{group.path} is still in use", ExitCode.REFUSED)
        time.sleep(0.02)


def _by_hand(name: str | None = None) -> ByHand:
    """The name is looked at first: nothing is searched for one that cannot be."""
    from paddock.config.places import find_places
    from paddock.rescue.by_hand import BadName, ByHand, checked
    from paddock.rescue.records import NotOurs, own_records

    try:
        if name is not None:
            checked(name)
        return ByHand(own_records(str(find_places().state)))
    except BadName as error:
        raise CommandError(safe(str(error))) from None
    except NotOurs as error:
        raise CommandError(safe(str(error)), ExitCode.REFUSED) from None


def _found(by_hand: ByHand, name: str) -> Group:
    group = by_hand.find(name)
    if group is None:
        text = f"there is no cgroup {safe(name)} here; paddock cgroup create {safe(name)} makes it"
        raise CommandError(text, ExitCode.NOT_FOUND)
    return group


def _object(name: str, group: Group) -> dict[str, Any]:
    from paddock.rescue.by_hand import limit_bytes, processes

    return {
        "name": name,
        "path": group.path,
        "used_bytes": group.used_bytes(),
        "limit_bytes": limit_bytes(group),
        "processes": processes(group),
        "missing": list(group.missing()),
    }
