"""`paddock status`: host, ladder, fleet, queue and breakers at a glance. Must be quick."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from paddock.core.units import format_duration, format_size

from .connecting import connected
from .printing import coloured, echo_json, paint, safe

if TYPE_CHECKING:
    from paddock.wire.views import BreakerView, HeartbeatView, HostView, StatusView

_STATES = ("running", "starting", "stopping", "queued")


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
    colour = coloured(sys.stdout)
    for name, text in _rows(status, colour=colour):
        click.echo(f"{name:>10}  {text}")


def _rows(status: StatusView, *, colour: bool) -> Iterator[tuple[str, str]]:
    yield "host", _host(status.host, colour=colour)
    fleet = status.fleet
    used, expected = format_size(fleet.used_bytes), format_size(fleet.expected_bytes)
    most = f"; {fleet.max_agents} agents at once at most" if fleet.max_agents else ""
    yield "fleet", f"{used} in use, {expected} expected, of {format_size(fleet.limit_bytes)}{most}"
    yield "runs", _counts(status.counts)
    yield "queue", f"{status.queue.waiting} waiting, of {status.queue.depth} at most"
    for run in status.queue.first:
        yield "", safe(f"{run.name}: {run.waits_for or run.state}")
    for breaker in status.breakers:
        yield "breaker", paint(breaker_text(breaker), "yellow", on=colour)
    for beat in status.heartbeats:
        yield "heartbeat", heartbeat_text(beat)
    if status.driver:
        yield "driver", safe(status.driver)
    if status.trouble:
        yield "trouble", paint(safe(status.trouble), "red", on=colour)


def _host(host: HostView | None, *, colour: bool) -> str:
    if host is None:
        return "not looked at yet"
    total = format_size(host.total_bytes)
    if host.available_bytes is None or host.used_percent is None:
        use = f"{total}, of which the use cannot be read"
    else:
        use = f"{format_size(host.available_bytes)} of {total} available, {host.used_percent:.0f} %"
    rung = paint(host.ladder, None if host.ladder == "calm" else "yellow", on=colour)
    because = f": {safe(host.because)}" if host.because and host.ladder != "calm" else ""
    return f"{use} used; {rung}{because}"


def _counts(counts: dict[str, int]) -> str:
    now = [f"{counts[state]} {state}" for state in _STATES if counts.get(state)]
    ended = [
        f"{number} {safe(name)}"
        for name, number in counts.items()
        if number and name not in (*_STATES, "ended")
    ]
    shown = ", ".join(now) or "none"
    return f"{shown}; ended: {', '.join(ended)}" if ended else shown


def breaker_text(breaker: BreakerView) -> str:
    text = f"{safe(breaker.group)} is {breaker.state.replace('_', ' ')}"
    if breaker.failures:
        text += f" after {breaker.failures} failures"
    if breaker.probe:
        return f"{text}; {safe(breaker.probe)} is its probe"
    return text if breaker.retry_in_s is None else f"{text}; {_in(breaker.retry_in_s)} one may try"


def heartbeat_text(beat: HeartbeatView) -> str:
    skipped = beat.skipped_pressure + beat.skipped_busy
    rest = f", {skipped} skipped" if skipped else ""
    every = format_duration(beat.every_s)
    return f"{safe(beat.name)} every {every}, next {_in(beat.next_in_s)} ({beat.beats} beats{rest})"


def _in(seconds: float) -> str:
    return f"in {format_duration(seconds)}" if seconds > 0 else "now"
