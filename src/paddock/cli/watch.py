"""`paddock watch`: the host's memory and its agents, again and again. Needs no daemon."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import click

from paddock.core.units import format_duration, format_size

from .exits import CommandError
from .params import DURATION
from .printing import clock_time, coloured, counted, paint, safe, terminal_width
from .relieve import agent_object, as_object, kill_line, now_at, summary, this_machine, who

if TYPE_CHECKING:
    from paddock.rescue.agents import Agent
    from paddock.rescue.relief import Relief, Tick

SHORTEST_S: Final = 0.05
LONGEST_S: Final = 3600.0
TOP: Final = 10  # in a block; a line has room for fewer
TOP_OF_LINE: Final = 3
COLOURS: Final = {"skip_low": "yellow", "queue": "yellow", "preempt": "red", "emergency": "red"}


@click.command("watch")
@click.option("--auto-kill", is_flag=True, help="At the emergency step, kill to the relief target.")
@click.option("--interval", type=DURATION, default="1s", show_default=True, help="Between ticks.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def command(auto_kill: bool, interval: float, as_json: bool) -> None:
    """Show memory in use, the ladder's step and the agents that use most, until Ctrl-C.

    On a terminal one block that is drawn again; into a pipe one line a tick. With --auto-kill, at
    the emergency step (95 %, or hardly any memory free), agents are killed down to the relief
    target, as the daemon would: for when there is none, or it hangs. Memory is then looked at more
    often than it is shown.

    \b
    Examples:
      paddock watch --auto-kill
      paddock watch --interval 5s --json
    """
    from paddock.rescue.ladder import read_ladder
    from paddock.rescue.memory import Unreadable
    from paddock.rescue.relief import watch

    if not SHORTEST_S <= interval <= LONGEST_S:
        raise CommandError("--interval: from 50ms to 1h")
    try:
        machine = this_machine(thorough=not auto_kill)
    except Unreadable as error:
        raise CommandError(f"cannot read this machine's memory: {error}") from None
    if auto_kill:
        machine.prepare()
    ladder = read_ladder(machine.yard.records.ladder)
    seen = watch(machine, ladder, interval_s=interval, auto_kill=auto_kill)
    show(seen, as_json=as_json, interval_s=interval)


def show(seen: Iterable[Tick | Relief], *, as_json: bool, interval_s: float) -> None:
    width = terminal_width()
    shown: Iterable[str]
    if as_json:
        shown = map(json_line, seen)
    elif width is None or not coloured(sys.stdout):
        shown = ("\n".join(lines(one)) for one in seen)
    else:
        shown = blocks(seen, width=width, every=format_duration(interval_s))
    for text in shown:
        click.echo(text)


# -- into a pipe --------------------------------------------------------------------------------


def json_line(one: Tick | Relief) -> str:
    return json.dumps({"at": round(time.time(), 3)} | _object(one))


def _object(one: Tick | Relief) -> dict[str, Any]:
    from paddock.rescue.relief import Relief

    if isinstance(one, Relief):
        return {"kind": "relief"} | as_object(one)
    return {
        "kind": "look",
        "total_bytes": one.reading.total_bytes,
        "available_bytes": one.reading.available_bytes,
        "used_percent": one.reading.used_percent,
        "ladder": one.step,
        "because": one.because,
        "agents": len(one.agents),
        "agents_bytes": _sum_bytes(one),
        "top": [agent_object(agent) for agent in top(one, TOP)],
    }


def lines(one: Tick | Relief) -> Iterator[str]:
    from paddock.rescue.relief import Relief

    at = clock_time(time.time())
    if isinstance(one, Relief):
        for kill in one.kills:
            yield f"{at} {kill_line(kill)}"
        yield f"{at} {summary(one)}"
        return
    most = ", ".join(
        f"{safe(a.facts.name)} {format_size(a.used_bytes)}" for a in top(one, TOP_OF_LINE)
    )
    yield f"{at} {now_at(one.reading)}; {_step(one)}; {_agents(one)}{': ' if most else ''}{most}"


def _step(tick: Tick) -> str:
    return f"{tick.step} ({tick.because})" if tick.because else tick.step


def _agents(tick: Tick) -> str:
    count = counted(len(tick.agents), "agent")
    return f"{count}, {format_size(_sum_bytes(tick))}" if tick.agents else "no agents"


def _sum_bytes(tick: Tick) -> int:
    return sum(agent.used_bytes for agent in tick.agents)


def top(tick: Tick, most: int) -> list[Agent]:
    return sorted(tick.agents, key=lambda agent: -agent.used_bytes)[:most]


# -- on a terminal ------------------------------------------------------------------------------


def blocks(seen: Iterable[Tick | Relief], *, width: int, every: str) -> Iterator[str]:
    """Each one drawn over the last; what was killed stays above them, to be read."""
    from paddock.rescue.relief import Relief

    drawn = 0
    for one in seen:
        over = f"\x1b[{drawn}A\x1b[J" if drawn else ""
        if isinstance(one, Relief):
            yield over + "\n".join(lines(one))
            drawn = 0
            continue
        rows = [cut(row, width) for row in block(one, every=every)]
        colour = COLOURS.get(one.step) if coloured(sys.stdout) else None
        rows[2] = paint(rows[2], colour, on=colour is not None)
        yield over + "\n".join(rows)
        drawn = len(rows)


def block(tick: Tick, *, every: str) -> list[str]:
    from paddock.rescue.victims import word_of

    rows = [f"paddock watch, {clock_time(time.time())}, every {every}; Ctrl-C ends"]
    rows += [f"  {now_at(tick.reading)}", f"  {_step(tick)}", f"  {_agents(tick)}"]
    for agent in top(tick, TOP):
        rows.append(f"{format_size(agent.used_bytes):>12}  {who(agent)}, {word_of(agent)}")
    if len(tick.agents) > TOP:
        rows.append(f"{'':>12}  and {len(tick.agents) - TOP} more")
    return rows


def cut(row: str, width: int) -> str:
    return row if len(row) < width else f"{row[: max(1, width - 2)]}…"
