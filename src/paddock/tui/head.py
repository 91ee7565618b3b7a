"""The lines at the top: host, ladder, fleet, queue, and whatever should be known."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Final

from paddock.client.faces import format_duration, format_size, safe
from paddock.client.faces import views as v

from .cells import Glyphs, Line, Look, Piece, bar, fit, width
from .lined import Lined
from .picture import Picture

LABEL: Final = 8
MEANS: Final = {
    "skip_low": "low priority and heartbeats wait",
    "queue": "nothing starts",
    "preempt": "the lowest priority gives way",
    "emergency": "agents are killed until there is room",
}
RUNGS: Final = ("calm", *MEANS)
SILENT_S: Final = 3.0  # longer than a busy daemon takes
NARROW: Final = 100


class Head(Lined):
    """As many lines as there is something to say, within a third of the screen."""

    def __init__(self, picture: Picture, signs: Glyphs) -> None:
        super().__init__(id="head")
        self._picture = picture
        self._signs = signs

    def lines(self, width: int, height: int) -> Sequence[Line]:
        return head_lines(self._picture, width, height, signs=self._signs)


def head_lines(picture: Picture, room: int, height: int, *, signs: Glyphs) -> list[Line]:
    found = list(_lines(picture, room, signs))
    return found[:height]


def _lines(picture: Picture, room: int, signs: Glyphs) -> Iterator[Line]:
    status = picture.status
    if picture.gone is not None:
        yield _gone(picture, room)
    elif picture.silent_s() > SILENT_S:
        silent = format_duration(int(picture.silent_s()))
        yield [(fit(f" The daemon has not answered for {silent}.", room), "gone")]
    if status is None:
        if picture.gone is None:
            yield [(fit("Asking the daemon.", room), "dim")]
        return
    yield _title(status, room)
    yield _host(status.host, room, signs)
    yield _ladder(status.host, room)
    yield _fleet(status.fleet, room, signs)
    yield _queue(status.queue, room)
    if status.trouble:
        yield _said("Trouble", status.trouble, room, "bad")
    for breaker in status.breakers:
        way = "" if breaker.probe else " (b resets it)"
        yield _said("Breaker", breaker_text(breaker) + way, room, "warn")
    for notice in status.notices:
        yield _said("Notice", notice, room, "warn")
    for beat in status.heartbeats:
        yield _said("Beat", _beat(beat), room, "plain")


def _gone(picture: Picture, room: int) -> Line:
    silent = format_duration(int(picture.silent_s()))
    old = f" What is shown is {silent} old." if picture.status else ""
    hint = "It is waited for; `paddock daemon start` starts one."
    return [(fit(f" No daemon.{old} {hint} ({safe(picture.gone or '')})", room), "gone")]


def _title(status: v.StatusView, room: int) -> Line:
    counts = status.counts
    live = [
        f"{counts[word]} {word}" for word in ("running", "starting", "stopping") if counts.get(word)
    ]
    said = ", ".join(live) or "nothing runs"
    text = f"{said} · {status.queue.waiting} waiting · {counts.get('ended', 0)} ended"
    right = f"{safe(status.driver)}  {time.strftime('%H:%M:%S')}"
    left = fit(f"  {text}", room - 7 - width(right) - 1)
    return [("paddock", "bold"), (left, "plain"), (f" {right}", "dim")]


def _label(text: str) -> Piece:
    return fit(text, LABEL), "bold"


def _barred(name: str, meter: Line, text: str, room: int) -> Line:
    taken = LABEL + 2 + sum(width(piece) for piece, _ in meter)
    return [
        _label(name),
        ("[", "dim"),
        *meter,
        ("]", "dim"),
        (fit(f" {text}", room - taken), "plain"),
    ]


def _cells(room: int) -> int:
    """Of a bar: the sentence beside it needs about 48."""
    return max(8, min(60, room - LABEL - 50))


def _host(host: v.HostView | None, room: int, signs: Glyphs) -> Line:
    if host is None:
        return _said("Host", "not looked at yet", room, "dim")
    total = format_size(host.total_bytes)
    if host.used_percent is None or host.available_bytes is None:
        return _said("Host", f"{total}, of which the use cannot be read", room, "bad")
    marks = [percent / 100 for percent in host.rungs.values()]
    meter = bar(host.used_percent / 100, _cells(room), signs=signs, marks=marks)
    text = f"{host.used_percent:.0f} % used, {format_size(host.available_bytes)} of {total} left"
    if host.swap_percent >= 1:
        text += f", swap {host.swap_percent:.0f} %"
    return _barred("Host", meter, text, room)


def _ladder(host: v.HostView | None, room: int) -> Line:
    """Every step with the percent at which it begins; the one the host stands on stands out. With
    little room and something to say, only that one."""
    here, rungs = (host.ladder, host.rungs) if host else ("calm", {})
    steps = RUNGS if room >= NARROW or here == "calm" else (here,)
    line: Line = [_label("Ladder")]
    for step in steps:
        text = f"{step} {rungs[step]:.0f} %" if step in rungs else step
        look: Look = "good" if step == "calm" else "found"
        line += [(f"[{text}]", look) if step == here else (f" {text} ", "plain"), ("·", "dim")]
    line.pop()
    because = safe(host.because) if host else ""
    said = f" {MEANS.get(here, here)}: {because}" if here != "calm" else ""
    taken = sum(width(text) for text, _ in line)
    return [*line, (fit(said, max(0, room - taken)), _rung_look(here))]


def _rung_look(step: str) -> Look:
    return {"calm": "plain", "skip_low": "warn", "queue": "warn"}.get(step, "bad")  # type: ignore[return-value]


def _fleet(fleet: v.FleetView, room: int, signs: Glyphs) -> Line:
    limit = max(1, fleet.limit_bytes)
    used, expected = fleet.used_bytes / limit, fleet.expected_bytes / limit
    meter = bar(used, _cells(room), signs=signs, marks=[min(expected, 1.0)])
    sizes = map(format_size, (fleet.used_bytes, fleet.expected_bytes, limit))
    text = "{} in use, {} expected, of {}".format(*sizes)
    if fleet.max_agents and room >= NARROW:
        text += f"; {fleet.max_agents} agents at most"
        text += f" ({safe(fleet.max_agents_by)})" if fleet.max_agents_by else ""
    return _barred("Fleet", meter, text, room)


def _queue(queue: v.QueueView, room: int) -> Line:
    if not queue.waiting:
        return _said("Queue", "nobody waits", room, "dim")
    text = f"{queue.waiting} of {queue.depth} places"
    if queue.first:
        first = min(queue.first, key=lambda one: one.place or len(queue.first))
        text += f"; first is {safe(first.name)}: {without_place(safe(first.waits_for or 'waits'))}"
    return _said("Queue", text, room, "plain")


def without_place(sentence: str) -> str:
    """`at place 3 in the queue: …` where the place is said already."""
    before, colon, reason = sentence.partition(": ")
    return reason if colon and before.startswith("at place ") else sentence


def _said(name: str, text: str, room: int, look: Look) -> Line:
    return [_label(name), (fit(safe(text), room - LABEL), look)]


def breaker_text(breaker: v.BreakerView) -> str:
    failures = "1 failure" if breaker.failures == 1 else f"{breaker.failures} failures"
    text = f"{safe(breaker.group)} is {breaker.state.replace('_', ' ')} after {failures}"
    if breaker.probe:
        return f"{text}; {safe(breaker.probe)} is its probe"
    if breaker.retry_in_s is not None:
        text += f"; one may try in {format_duration(breaker.retry_in_s)}"
    return text


def _beat(beat: v.HeartbeatView) -> str:
    skipped = beat.skipped_pressure + beat.skipped_busy
    rest = f", {skipped} skipped" if skipped else ""
    every, soon = format_duration(beat.every_s), format_duration(beat.next_in_s)
    return f"{safe(beat.name)} every {every}, next in {soon} ({beat.beats} beats{rest})"
