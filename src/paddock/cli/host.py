"""`paddock host`: the machine as paddock sees it, and `setup`. Needs no daemon."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from paddock.core.units import format_size

from .exits import CommandError
from .lazy import Entry, LazyGroup
from .printing import coloured, echo_json, paint, safe, terminal_width
from .tables import fold

if TYPE_CHECKING:
    from paddock.core.pressure import Ladder
    from paddock.host.memory import Memory, Readings
    from paddock.host.pressure import Paging, Stall
    from paddock.host.probe import Probe

# Page-outs are a rate, so it takes two looks. Long enough to count some, too short to notice.
BETWEEN_LOOKS_S: Final = 0.2
INDENT: Final = 11
UNKNOWN: Final = "cannot be read here"
TABLE: Final = {
    "setup": Entry("paddock.cli.host_setup", "Prepare it for many agents, once, as root."),
    "show": Entry("paddock.cli.host", "Memory, limits, pressure, load.", "show"),
}


@click.group("host", cls=LazyGroup, table=TABLE)
def command() -> None:
    """Look at the machine that agents share, and prepare it for many of them.

    Every subcommand that prints something takes --json.

    \b
    Examples:
      paddock host show
      paddock host setup --dry-run
    """


@click.command("show")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def show(as_json: bool) -> None:
    """Show this machine's memory, what limits it, swap, stalls, load, and the ladder's step.

    The step is that of the built-in thresholds; `paddock status` has the daemon's.

    \b
    Examples:
      paddock host show
      paddock host show --json | jq .available_bytes
    """
    readings = two_looks(_probe())
    ladder = by_default_policy(readings)
    if as_json:
        echo_json(as_object(readings, ladder))
        return
    for line in lines(readings, ladder, width=terminal_width(), colour=coloured(sys.stdout)):
        click.echo(line)


def _probe() -> Probe:
    from paddock.host.memory import MemoryUnreadable
    from paddock.host.probe import probe_for_this_machine

    try:
        return probe_for_this_machine()
    except MemoryUnreadable as error:
        raise CommandError(f"cannot read this machine's memory: {error}") from error


def two_looks(probe: Probe) -> Readings:
    probe.read()
    time.sleep(BETWEEN_LOOKS_S)
    return probe.read()


def by_default_policy(readings: Readings) -> Ladder:
    from paddock.core.policy import LadderPolicy
    from paddock.core.pressure import Ladder, climb

    return climb(Ladder(), readings.host(), LadderPolicy(), at=0.0)


def as_object(readings: Readings, ladder: Ladder) -> dict[str, Any]:
    memory, paging = readings.memory, readings.paging
    stall, cpu = readings.memory_stall, readings.cpu_stall
    return {
        "total_bytes": memory.total_bytes,
        "available_bytes": memory.available_bytes,
        "used_percent": memory.used_percent,
        "physical_bytes": memory.physical_bytes,
        "limited_by": None if memory.limited_by is None else str(memory.limited_by),
        "swap_total_bytes": memory.swap_total_bytes,
        "swap_used_bytes": memory.swap_used_bytes,
        "pageout_bytes_per_s": paging.out_bytes_per_s,
        "swapin_bytes_per_s": paging.in_bytes_per_s,
        "memory_some_percent": stall.some_percent if stall else None,
        "memory_full_percent": stall.full_percent if stall else None,
        "cpu_some_percent": cpu.some_percent if cpu else None,
        "load": readings.load,
        "cpus": readings.cpus,
        "ladder": ladder.rung.name.lower(),
        "because": ladder.because,
    }


class Row(NamedTuple):
    name: str
    text: str
    colour: str | None = None


def lines(readings: Readings, ladder: Ladder, *, width: int | None, colour: bool) -> Iterator[str]:
    room = None if width is None else max(20, width - INDENT)
    for row in _rows(readings, ladder):
        texts = fold(safe(row.text), room)
        for name, text in zip((row.name, *[""] * len(texts)), texts, strict=False):
            yield f"{name:>{INDENT - 2}}  {paint(text, row.colour, on=colour)}"


def _rows(readings: Readings, ladder: Ladder) -> Iterator[Row]:
    yield Row("memory", _use(readings.memory))
    yield Row("limit", _limit(readings.memory))
    yield Row("swap", _swap(readings.memory))
    yield Row("paging", _paging(readings.paging))
    yield Row("stalls", _stalls(readings.memory_stall, readings.cpu_stall))
    yield Row("load", _load(readings.load))
    yield Row("cpus", UNKNOWN if readings.cpus is None else f"{readings.cpus:g}")
    step = ladder.rung.name.lower()
    because = f": {ladder.because}" if ladder.because else ""
    yield Row("ladder", f"{step}{because}", "yellow" if ladder.because else None)


def _use(memory: Memory) -> str:
    total = format_size(memory.total_bytes)
    if memory.available_bytes is None or memory.used_percent is None:
        return f"{total}, of which the use {UNKNOWN}"
    available = format_size(memory.available_bytes)
    return f"{available} of {total} available, {memory.used_percent:.0f} % used"


def _limit(memory: Memory) -> str:
    if memory.limited_by is None:
        return "none: all of the machine's memory counts"
    return f"{memory.limited_by}, of the machine's {format_size(memory.physical_bytes)}"


def _swap(memory: Memory) -> str:
    total, used = memory.swap_total_bytes, memory.swap_used_bytes
    if total is None or used is None:
        return UNKNOWN
    if total == 0:
        return "none"
    return f"{format_size(used)} of {format_size(total)} used, {memory.swap_percent:.0f} %"


def _paging(paging: Paging) -> str:
    if paging.out_bytes_per_s is None or paging.in_bytes_per_s is None:
        return UNKNOWN
    out, back = format_size(round(paging.out_bytes_per_s)), round(paging.in_bytes_per_s)
    return f"{out}/s out, {format_size(back)}/s in"


def _stalls(memory: Stall | None, cpu: Stall | None) -> str:
    """PSI over 10 s."""
    parts = []
    if memory is not None:
        full = "" if memory.full_percent is None else f", all tasks {memory.full_percent:g} %"
        parts.append(f"on memory some tasks {memory.some_percent:g} % of the time{full}")
    if cpu is not None:
        parts.append(f"on CPU some tasks {cpu.some_percent:g} %")
    return "; ".join(parts) or UNKNOWN


def _load(load: tuple[float, float, float] | None) -> str:
    if load is None:
        return UNKNOWN
    one, five, fifteen = load
    return f"{one:.2f} over 1 min, {five:.2f} over 5, {fifteen:.2f} over 15"
