"""`paddock status`: host, ladder, fleet, queue and breakers at a glance. Must be quick."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from paddock.core.units import format_duration, format_size

from .connecting import connected
from .ends import SHORT
from .printing import coloured, counted, echo_json, paint, safe, terminal_width
from .runs_table import shortened
from .tables import cut, fold

if TYPE_CHECKING:
    from paddock.wire.views import BreakerView, HeartbeatView, HostView, StatusView

_STATES: Final = ("running", "starting", "stopping", "queued")
INDENT: Final = 12


@click.command("status")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(as_json: bool) -> None:
    """Show the host, the pressure ladder, the fleet, the queue and the breakers.

    \b
    Examples:
      paddock status
      paddock status --json | jq .host.used_percent
    """
    with connected() as client:
        status = client.status()
    if as_json:
        echo_json(status)
        return
    width, colour = terminal_width(), coloured(sys.stdout)
    for row in _rows(status):
        click.echo("\n".join(_lines(row, width=width, colour=colour)))


class Row(NamedTuple):
    name: str
    text: str
    colour: str | None = None
    whole: bool = True  # otherwise what does not fit into a line is cut off


def _lines(row: Row, *, width: int | None, colour: bool) -> Iterator[str]:
    room = None if width is None else max(20, width - INDENT)
    texts = fold(row.text, room) if row.whole or room is None else [cut(row.text, room)]
    for name, text in zip((row.name, *[""] * len(texts)), texts, strict=False):
        yield f"{name:>{INDENT - 2}}  {paint(text, row.colour, on=colour)}"


def _rows(status: StatusView) -> Iterator[Row]:
    yield _host(status.host)
    fleet = status.fleet
    used, expected = format_size(fleet.used_bytes), format_size(fleet.expected_bytes)
    agents = counted(fleet.max_agents, "agent") if fleet.max_agents else ""
    by = f" ({safe(fleet.max_agents_by)})" if fleet.max_agents_by else ""
    most = f"; {agents} at once at most{by}" if agents else ""
    limit = format_size(fleet.limit_bytes)
    yield Row("fleet", f"{used} in use, {expected} expected, of {limit}{most}")
    yield Row("runs", _counts(status.counts))
    yield Row("queue", f"{status.queue.waiting} waiting, of {status.queue.depth} at most")
    for run in status.queue.first:
        why = shortened(run.waits_for or run.state)
        yield Row("", safe(f"{run.name}: {why}"), whole=False)
    for breaker in status.breakers:
        yield Row("breaker", breaker_text(breaker), "yellow")
    for beat in status.heartbeats:
        yield Row("heartbeat", heartbeat_text(beat))
    if status.driver:
        yield Row("driver", safe(status.driver))
    for notice in status.notices:
        yield Row("notice", safe(notice), "yellow")
    if status.trouble:
        yield Row("trouble", safe(status.trouble), "red")


def _host(host: HostView | None) -> Row:
    if host is None:
        return Row("host", "not looked at yet")
    total = format_size(host.total_bytes)
    if host.available_bytes is None or host.used_percent is None:
        use = f"{total}, of which the use cannot be read"
    else:
        free, used = format_size(host.available_bytes), f"{host.used_percent:.0f} %"
        use = f"{free} of {total} available, {used} used"
    if host.ladder == "calm":
        return Row("host", f"{use}; calm")
    because = f": {safe(host.because)}" if host.because else ""
    return Row("host", f"{use}; {host.ladder}{because}", "yellow")


def _counts(counts: dict[str, int]) -> str:
    now = [f"{counts[state]} {state}" for state in _STATES if counts.get(state)]
    ended = [
        f"{number} {safe(SHORT.get(name, name))}"
        for name, number in counts.items()
        if number and name not in (*_STATES, "ended")
    ]
    shown = ", ".join(now) or "none"
    return f"{shown}; ended: {', '.join(ended)}" if ended else shown


def breaker_text(breaker: BreakerView) -> str:
    text = f"{safe(breaker.group)} is {breaker.state.replace('_', ' ')}"
    if breaker.failures:
        text += f" after {counted(breaker.failures, 'failure')}"
    if breaker.probe:
        return f"{text}; {safe(breaker.probe)} is its probe"
    return text if breaker.retry_in_s is None else f"{text}; {_in(breaker.retry_in_s)} one may try"


def heartbeat_text(beat: HeartbeatView) -> str:
    skipped = beat.skipped_pressure + beat.skipped_busy
    rest = f", {skipped} skipped" if skipped else ""
    every = format_duration(beat.every_s)
    beats = counted(beat.beats, "beat")
    return f"{safe(beat.name)} every {every}, next {_in(beat.next_in_s)} ({beats}{rest})"


def _in(seconds: float) -> str:
    return f"in {format_duration(seconds)}" if seconds > 0 else "now"
