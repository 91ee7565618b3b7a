"""An agent as a line of the table: columns by the room there is, reasons where there is no use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from paddock.client.faces import safe

from .cells import (
    Glyphs,
    Line,
    Look,
    bar,
    fit,
    share_look,
    short_size,
    short_time,
    sparkline,
    width,
)
from .head import without_place
from .ordering import Wish
from .picture import Agent

STATE, PRIORITY, AGE, CPU, USED = 9, 4, 4, 5, 11
LONGEST_NAME: Final = 40
SHORT_STATES: Final = {
    "timeout_exceeded": "timeout",
    "memory_limit_exceeded": "memory",
    "spawn_failed": "spawn",
}
SHORT_PRIORITIES: Final = {"critical": "crit", "normal": "norm"}
_LOOKS: Final[dict[str, Look]] = {
    "running": "good",
    "starting": "busy",
    "stopping": "warn",
    "frozen": "warn",
    "queued": "dim",
    "succeeded": "good",
    "cancelled": "warn",
    "skipped": "warn",
}


@dataclass(frozen=True, slots=True)
class Columns:
    """Cells of those whose width depends on the room; 0: left out."""

    name: int
    bar: int
    trend: int
    expected: int
    group: int

    @property
    def rest(self) -> int:
        """What a reason has, in place of figures."""
        shown = [CPU, self.bar, USED, self.expected, self.trend, self.group]
        return sum(room + 1 for room in shown if room) - 1


def columns(room: int) -> Columns:
    trend = 30 if room >= 160 else 12 if room >= 105 else 0
    expected = 6 if room >= 120 else 0
    meter = 20 if room >= 160 else 10
    group = 30 if room >= 160 else 20 if room >= 120 else 12 if room >= 76 else 0
    fixed = STATE + PRIORITY + AGE + CPU + USED + 5
    taken = fixed + sum(cells + 1 for cells in (trend, expected, meter, group) if cells)
    name = max(8, room - taken)
    if group:  # beyond what names need, groups have more to say
        name, group = min(name, LONGEST_NAME), group + max(0, name - LONGEST_NAME)
    return Columns(name, meter, trend, expected, group)


def heading(room: int, wish: Wish, *, signs: Glyphs) -> Line:
    """The column it is sorted by carries an arrow."""
    shape = columns(room)

    def head(text: str, cells: int, sort: str, *, right: bool = False) -> str:
        arrow = signs.up if wish.upside_down else signs.down
        return fit(text + (arrow if sort == wish.sort else ""), cells, right=right)

    parts = [
        head("NAME", shape.name, "name"),
        head("STATE", STATE, "state"),
        head("PRI", PRIORITY, "priority"),
        head("AGE", AGE, "age", right=True),
        head("CPU", CPU, "cpu", right=True),
        head("MEMORY", shape.bar, "share"),
        head("USED/WALL", USED, "memory", right=True),
    ]
    if shape.expected:
        parts.append(fit("EXPECT", shape.expected, right=True))
    if shape.trend:
        parts.append(fit("LAST MINUTE", shape.trend))
    if shape.group:
        parts.append(head("GROUP", shape.group, "group"))
    return [(fit(" ".join(parts), room), "head")]


def row(agent: Agent, room: int, *, now: float, signs: Glyphs, chosen: bool = False) -> Line:
    run, shape = agent.run, columns(room)
    state = SHORT_STATES.get(agent.state, agent.state)
    since_at = run.since_at if run.state == "ended" else run.submitted_at
    age = None if since_at is None else now - since_at
    line: Line = [
        (fit(safe(run.name), shape.name, more=signs.more) + " ", "plain"),
        (fit(state, STATE) + " ", _LOOKS.get(agent.state, "bad")),
        (fit(SHORT_PRIORITIES.get(run.priority, run.priority), PRIORITY) + " ", "plain"),
        (fit(short_time(age), AGE, right=True) + " ", "plain"),
    ]
    line += _figures(agent, shape, signs) if agent.section == 0 else _reason(agent, shape, signs)
    if chosen:
        return [(fit("".join(text for text, _ in line), room), "chosen")]
    return line


def _figures(agent: Agent, shape: Columns, signs: Glyphs) -> Line:
    run = agent.run
    cpu = "-" if agent.cpu is None else f"{agent.cpu * 100:.0f}%"
    expected = (run.expected_bytes or 0) / max(1, run.limit_bytes)
    used = f"{short_size(run.memory_bytes)}/{short_size(run.limit_bytes)}"
    line: Line = [
        (fit(cpu, CPU, right=True) + " ", "plain"),
        *bar(agent.share, shape.bar, signs=signs, marks=[expected] if expected else []),
        (" " + fit(used, USED, right=True), share_look(agent.share)),
    ]
    if shape.expected:
        line.append((" " + fit(short_size(run.expected_bytes), shape.expected, right=True), "dim"))
    if shape.trend:
        line.append((" " + _trend(agent, shape.trend, signs), "busy"))
    if shape.group:
        # What is stopped says why; a group can be seen in its details.
        why = safe(run.sentence) if run.state == "stopping" or run.frozen else safe(run.group)
        line.append((" " + fit(why, shape.group, more=signs.more), "dim"))
    return line


def _trend(agent: Agent, room: int, signs: Glyphs) -> str:
    return sparkline(agent.curve, room, top=agent.run.limit_bytes, signs=signs)


def _reason(agent: Agent, shape: Columns, signs: Glyphs) -> Line:
    run = agent.run
    if run.state == "queued":
        place = f"#{run.place} " if run.place else ""
        why = place + without_place(safe(run.waits_for or run.sentence))
        return [(fit(why, shape.rest, more=signs.more), "plain")]
    peak = f" (peak {short_size(run.peak_bytes)})" if run.peak_bytes else ""
    why = safe(run.because or run.sentence)
    if width(why) + len(peak) <= shape.rest:
        why += peak
    return [
        (fit(why, shape.rest, more=signs.more), "dim" if run.outcome == "succeeded" else "plain")
    ]
