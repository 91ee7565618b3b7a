"""The first page: the machine, the fleet, the queue and what just happened."""

from __future__ import annotations

from typing import Final

from nicegui import ui

from paddock.client.faces import format_duration, format_size, safe, views

from . import charts
from .feed import Feed
from .parts import EVERY_S, Chart, Tile, box, card, chip, heading, text, way
from .rows import clock_time, shown, tone_of

WAITING_SHOWN: Final = 5
HAPPENINGS_SHOWN: Final = 8
RUNGS: Final = {
    "calm": ("calm", "good"),
    "skip_low": ("low priority waits", "warn"),
    "queue": ("new agents wait", "warn"),
    "preempt": ("agents make room", "bad"),
    "emergency": ("emergency", "bad"),
}


class Overview:
    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._note = heading("Overview")
        with box("pd-tiles"):
            self._host, self._fleet = Tile("Host memory"), Tile("Fleet memory")
            self._work, self._wait = Tile("Agents at work"), Tile("Waiting")
            self._over = Tile("Ended")
        self._notices = box("pd-notices")
        with box("pd-grid"):
            self._charts = self._make_charts()
            with card("Waiting, and for what"):
                self._queue = box("pd-list")
            with card("Just now"):
                self._news = box("pd-list")
        self._shown: dict[str, object] = {}
        self.refresh()
        ui.timer(EVERY_S, self.refresh)

    def _make_charts(self) -> list[Chart]:
        history = self._feed.history
        with card("Host memory", "with the steps of the ladder"):
            host = Chart(
                lambda: charts.host(history, self._rungs()),
                label="Memory of the host in percent, last ten minutes",
            )
        with card("Memory by agent", "the largest, and all others"):
            stack = Chart(
                lambda: charts.by_agent(history), label="Memory by agent, last ten minutes"
            )
        with card("Queue, starts, ends and kills", "by ten seconds", classes="wide"):
            queue = Chart(
                lambda: charts.queue(history),
                label="How many wait and work, and what began and ended, last ten minutes",
            )
        return [host, stack, queue]

    def _rungs(self) -> dict[str, float]:
        status = self._feed.status
        return status.host.rungs if status and status.host else {}

    def refresh(self) -> None:
        status = self._feed.status
        if status is None:
            self._note.set_text("asking the daemon")
            return
        self._figures(status)
        self._say_notices(status)
        self._say_waiting(status.queue)
        self._say_news()
        for chart in self._charts:
            chart.refresh()

    def _figures(self, status: views.StatusView) -> None:
        host, fleet, counts = status.host, status.fleet, status.counts
        if host is not None and host.used_percent is not None:
            free = format_size(host.available_bytes or 0)
            below = f"{free} of {format_size(host.total_bytes)} free"
            self._host.show(f"{host.used_percent:.0f} %", below, percent=host.used_percent)
        share = 100 * fleet.used_bytes / max(1, fleet.limit_bytes)
        expected = f"{format_size(fleet.expected_bytes)} expected"
        below = f"{expected}, wall at {format_size(fleet.limit_bytes)}"
        self._fleet.show(format_size(fleet.used_bytes), below, percent=share)
        working = [counts.get(word, 0) for word in ("running", "starting", "stopping")]
        most = f"of {fleet.max_agents} at most" if fleet.max_agents else "no cap but memory"
        self._work.show(str(sum(working)), most)
        self._wait.show(str(status.queue.waiting), f"room for {status.queue.depth:,}")
        good, over = counts.get("succeeded", 0), counts.get("ended", 0)
        self._over.show(f"{over:,}", f"{good:,} succeeded, {over - good:,} otherwise")
        word, _ = RUNGS.get(host.ladder, (host.ladder, "")) if host else ("unknown", "")
        because = f": {safe(host.because)}" if host and host.because else ""
        self._note.set_text(f"{word}{because}")

    def _say_notices(self, status: views.StatusView) -> None:
        lines = [(safe(status.trouble), "bad")] if status.trouble else []
        lines += [(safe(notice), "warn") for notice in status.notices]
        lines += [(_breaker(each), "warn") for each in status.breakers]
        if self._same("notices", lines):
            return
        self._notices.clear()
        with self._notices:
            for words, tone in lines:
                with box(f"pd-notice {tone}"):
                    text(words)

    def _say_waiting(self, queue: views.QueueView) -> None:
        first = [(each.id, safe(each.name), safe(each.waits_for or "")) for each in queue.first]
        if self._same("waiting", first):
            return
        self._queue.clear()
        with self._queue:
            if not first:
                text("Nothing waits.", "pd-empty")
            for run, name, why in first[:WAITING_SHOWN]:
                _line(run, name, why)
            if queue.waiting > len(first):
                text(f"and {queue.waiting - len(first):,} more", "pd-dim")

    def _say_news(self) -> None:
        news = list(self._feed.happenings)[:HAPPENINGS_SHOWN]
        if self._same("news", [each.n for each in news]):
            return
        self._news.clear()
        with self._news:
            if not news:
                text("Nothing has happened since the daemon was started.", "pd-empty")
            for each in news:
                word = each.outcome or each.state
                with _line(each.run, safe(each.name), safe(each.because)):
                    chip(shown(word), tone_of(word))
                    text(clock_time(each.at), "pd-dim pd-num")

    def _same(self, what: str, lines: object) -> bool:
        """Elements are made anew only when there is something new in them."""
        if self._shown.get(what) == lines:
            return True
        self._shown[what] = lines
        return False


def _line(run: str, name: str, why: str) -> ui.element:
    with box("pd-line"):
        with box("pd-line-head") as head, box("", "a").props(f'href="{way(f"/agents/{run}")}"'):
            text(name)
        text(why, "pd-dim")
    return head


def _breaker(each: views.BreakerView) -> str:
    state = each.state.replace("_", " ")
    then = f"; in {format_duration(each.retry_in_s)} one may try" if each.retry_in_s else ""
    last = f" (last: {safe(each.last_run)})" if each.last_run else ""
    return f"Breaker of {safe(each.group)} is {state} after {each.failures} failures{last}{then}"
