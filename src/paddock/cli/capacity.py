"""`paddock capacity`: the sum, the safe and the recommended number, the decision matrix."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import click

from paddock.cli.exits import CommandError
from paddock.cli.params import AGENT_SIZE, HOST_SIZE, SIZE
from paddock.cli.printing import terminal_width
from paddock.cli.tables import fold
from paddock.core.capacity import (
    DEFAULT_AGENT_BYTES,
    Capacity,
    capacity,
    default_limit,
    host_reserve,
    matrix,
    nominal_total,
)
from paddock.core.policy import Policy
from paddock.core.units import GIB, TIB, format_size
from paddock.host.memory import MemoryUnreadable, read_memory


@click.command("capacity")
@click.option(
    "--ram", "ram_bytes", type=HOST_SIZE, help="Memory of the host [default: this machine's]."
)
@click.option(
    "--per-agent",
    "agent_bytes",
    type=AGENT_SIZE,
    help="Memory of one agent [default: sandbox.memory_limit here, 4G with --ram].",
)
@click.option(
    "--reserve",
    "reserve_bytes",
    type=SIZE,
    help="Kept for the host [default: configured, by size].",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(
    ram_bytes: int | None, agent_bytes: int | None, reserve_bytes: int | None, as_json: bool
) -> None:
    """Say how many agents a host can safely hold, and show the sum.

    Sizes are written 512M, 4G, 4GiB or 1.5T (powers of 1024).

    \b
    Examples:
      paddock capacity
      paddock capacity --ram 1536G --per-agent 4G
      paddock capacity --ram 16G --reserve 6G --json
    """
    host, measured = this_machine() if ram_bytes is None else ("The host", ram_bytes)
    here = _configured(measured) if ram_bytes is None else None
    if here is not None and reserve_bytes is None:
        reserve_bytes = here.policy.reserve_bytes
    wanted = DEFAULT_AGENT_BYTES if here is None else here.agent_bytes
    try:
        each = agent_bytes or _default_agent(measured, reserve_bytes, wanted)
        cap = capacity(measured, per_agent_bytes=each, reserve_bytes=reserve_bytes)
    except ValueError as error:
        raise CommandError(str(error)) from error
    rows = matrix(each)
    policy = None if here is None else here.policy
    warnings = list(_warnings(cap, wanted=agent_bytes or wanted))
    if as_json:
        allowed = None if policy is None else policy.max_agents
        click.echo(json.dumps(_as_json(cap, rows) | {"allowed_agents": allowed}, indent=2))
    else:
        width = terminal_width()
        said = [line for text in _in_words(cap, host, policy) for line in fold(text, width)]
        click.echo("\n".join([*said, "", *_table(rows)]))
    for warning in warnings:
        click.echo(f"paddock: {warning}", err=True)


def this_machine(root: Path = Path("/")) -> tuple[str, int]:
    """What to call the machine this runs on, and its effective memory."""
    try:
        memory = read_memory(root)
    except MemoryUnreadable as error:
        raise CommandError(
            f"cannot read this machine's memory ({error}); describe it with --ram, as in --ram 16G"
        ) from error
    if memory.limited_by is None:
        return "This machine", memory.total_bytes
    return f"This machine, limited by {memory.limited_by},", memory.total_bytes


class _Here(NamedTuple):
    policy: Policy
    agent_bytes: int


def _configured(measured_bytes: int) -> _Here | None:
    """What is configured for this machine; what is wrong in it is for `config check` to say."""
    from paddock.config.layers import load_settings
    from paddock.config.mistakes import ConfigError
    from paddock.config.policy import to_policy
    from paddock.config.settings import MEMORY_LIMIT

    try:
        settings = load_settings(None)
        return _Here(to_policy(settings, measured_bytes), settings[MEMORY_LIMIT])
    except ConfigError:
        return None


def _default_agent(measured_bytes: int, reserve_bytes: int | None, wanted_bytes: int) -> int:
    total = nominal_total(measured_bytes)
    reserve = host_reserve(total) if reserve_bytes is None else reserve_bytes
    return default_limit(total, reserve_bytes=reserve, wanted_bytes=wanted_bytes)


def _warnings(cap: Capacity, *, wanted: int) -> Iterable[str]:
    if not cap.fits:
        yield (
            f"an agent of {format_size(cap.per_agent_bytes)} cannot fit the "
            f"{format_size(cap.fleet_bytes)} left for agents: such a run would be refused; "
            f"give it less memory, or reserve less"
        )
    elif cap.per_agent_bytes < wanted:
        yield (
            f"counted with {format_size(cap.per_agent_bytes)} for an agent: the usual "
            f"{format_size(wanted)} would not fit this host"
        )


def _in_words(cap: Capacity, host: str, policy: Policy | None) -> Iterable[str]:
    yield from _sum_in_words(cap, host)
    if policy is not None and cap.fits:
        yield _allowed(cap, policy)


def _allowed(cap: Capacity, policy: Policy) -> str:
    """The sum is for full sizes, the configured number for all: both are true at once."""
    by, more = policy.max_agents_by, policy.more_agents_by
    known = f"{by}; {more}" if more else by
    if policy.max_agents is not None and policy.max_agents <= cap.max_agents:
        return f"At once are allowed here: {policy.max_agents} ({known})."
    most = "as many as fit"
    if policy.max_agents is not None:
        most = f"{policy.max_agents} at once at most ({known})"
    return f"Agents known to need less than {_exact(cap.per_agent_bytes)} may be more: {most}."


def _sum_in_words(cap: Capacity, host: str) -> Iterable[str]:
    total, reserve = _exact(cap.total_bytes), _exact(cap.host_reserve_bytes)
    counted = ""
    if cap.measured_bytes != cap.total_bytes:
        counted = f" (measured {_exact(cap.measured_bytes)}, counted as the size it was sold as)"
    yield f"{host} has {total} of memory{counted}."
    yield f"It keeps {reserve} for itself; {_exact(cap.fleet_bytes)} are left for agents."
    each = _exact(cap.per_agent_bytes)
    yield f"({total} - {reserve}) / {each} each = {_numbers(cap)}."


def _numbers(cap: Capacity) -> str:
    if not cap.fits:
        return "1 agent at most by the rule's floor, but not even one fits"
    agents = "agent" if cap.max_agents == 1 else "agents"
    return f"{cap.max_agents} {agents} at most, {cap.recommended_agents} recommended"


def _table(rows: Iterable[Capacity]) -> Iterable[str]:
    head = ("host", "kept for it", "for agents", "each", "at most", "recommended")
    lines = [head, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        yield "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))


def _cells(row: Capacity) -> tuple[str, ...]:
    sizes = (row.total_bytes, row.host_reserve_bytes, row.fleet_bytes, row.per_agent_bytes)
    numbers = (row.max_agents, row.recommended_agents)
    return (*map(_exact, sizes), *(str(n) if row.fits else "none fits" for n in numbers))


def _as_json(cap: Capacity, rows: Iterable[Capacity]) -> dict[str, Any]:
    return {
        **_facts(cap),
        "measured_bytes": cap.measured_bytes,
        "matrix": [_facts(row) for row in rows],
    }


def _exact(size_bytes: int) -> str:
    """In GiB also above a TiB: 1.3 TiB would not make the sum come out."""
    if size_bytes >= TIB and size_bytes % GIB == 0:
        return f"{size_bytes // GIB} GiB"
    return format_size(size_bytes)


def _facts(cap: Capacity) -> dict[str, Any]:
    return {
        "max_agents": cap.max_agents,
        "recommended_agents": cap.recommended_agents,
        "host_reserve_bytes": cap.host_reserve_bytes,
        "per_agent_bytes": cap.per_agent_bytes,
        "total_bytes": cap.total_bytes,
        "fits": cap.fits,
    }
