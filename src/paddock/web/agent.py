"""The page of one agent: what it is, its memory, its output, its story, its black box, actions."""

from __future__ import annotations

import asyncio
from typing import Any, Final, cast, get_args

from nicegui import ui
from nicegui.element import Element

from paddock.client import ClientError
from paddock.client.environment import environment
from paddock.client.faces import (
    PriorityWord,
    format_size,
    log_lines,
    safe,
    story_of,
    views,
)

from . import charts
from .feed import Feed
from .parts import (
    EVERY_S,
    Button,
    Chart,
    LogView,
    Question,
    attempt,
    box,
    card,
    chip,
    scroller,
    table,
    text,
    way,
)
from .rows import age_of, clock_time, sentence_of, shown, state_of, tone_of
from .tail import Tail

PRIORITIES: Final = get_args(PriorityWord)
STORY_EVERY: Final = 5  # looks


class AgentPage:
    def __init__(self, feed: Feed, run: views.RunView) -> None:
        self._feed = feed
        self._run = run
        self._shown: tuple[object, ...] = ()
        self._head()
        with box("pd-grid") as self._grid:
            with card("Memory", classes="wide") as self._memory_note:
                self._chart = Chart(
                    lambda: charts.one(feed.history, self._run),
                    label="Memory of this agent, last ten minutes",
                    classes="low",
                )
                self._past = text("", "pd-dim")
            with card("Output", classes="wide"):
                self._log = LogView(most=log_lines())
            with card("Story", classes="story"):
                self._story = scroller("What happened to it")
            with card("Black box", classes="box") as self._box_note:
                self._black_box = box("pd-facts")
        self._question = Question()
        self._refresh_head()
        self._follow()
        ui.timer(EVERY_S, self.refresh)

    # -- looking --------------------------------------------------------------------------

    def _head(self) -> None:
        with box("pd-agent-head"):
            with box("pd-title"):
                with box("", "h1"):
                    text(safe(self._run.name))
                self._state = chip("", "")
            self._sentence = text("", "pd-sentence")
            with box("pd-actions"):
                self._make_actions()
            self._facts = box("pd-facts across")

    async def refresh(self) -> None:
        await self._look()
        self._refresh_head()
        if self._run.state != "ended" or not self._shown:
            self._chart.refresh()

    async def _look(self) -> None:
        known = self._feed.run_of(self._run.id)
        try:
            self._run = known or await self._feed.client.run(self._run.id)
        except (ClientError, OSError):
            return  # the banner says so
        now = (self._run.state, self._run.attempt, self._run.outcome, self._run.frozen)
        if now != self._shown or self._feed.looks % STORY_EVERY == 0:
            await self._tell_story()
            self._shown = now

    def _refresh_head(self) -> None:
        run, word = self._run, state_of(self._run)
        self._state.set_text(shown(word))
        self._state.classes(replace=f"pd-chip large {tone_of(word)}")
        self._sentence.set_text(safe(sentence_of(run)))
        used = "" if run.memory_bytes is None else f"{format_size(run.memory_bytes)} now, "
        peak = format_size(run.peak_bytes or 0)
        wall = format_size(run.limit_bytes)
        self._memory_note.set_text(f"{used}{peak} at most, wall {wall}")
        facts = _facts_of(run, self._feed.cpu.get(run.id))
        _renew(self._facts, facts)
        self._offer()

    async def _tell_story(self) -> None:
        client = self._feed.client
        try:
            moves = await client.story(self._run.id)
            why = await client.why(self._run.id)
        except (ClientError, OSError):
            return
        told = map(safe, story_of(moves, self._run.outcome))
        rows = [
            (clock_time(move.at), move.state, str(move.attempt or "–"), because)
            for move, because in zip(moves, told, strict=True)
        ]
        self._story.clear()
        with self._story:
            table(("at", "state", "attempt", "because"), rows, label="Story")
        box_ = why.black_box or {}
        self._box_note.set_text("" if box_ else "nothing went wrong so far")
        died = bool(box_) and self._run.state == "ended"
        self._grid.classes(replace="pd-grid dead" if died else "pd-grid")
        _renew(self._black_box, {safe(name): said for name, said in box_.items()})
        self._tell_memory(box_)

    def _tell_memory(self, box_: dict[str, str]) -> None:
        """Of one that ended before anybody looked, its black box knows the last minute."""
        unseen = self._run.state == "ended" and not charts.is_known(
            self._feed.history, self._run.id
        )
        self._chart.set_visibility(not unseen)
        known = f"Its last minute: {safe(box_['memory'])}" if "memory" in box_ else ""
        self._past.set_text((known or "Nobody looked while it ran.") if unseen else "")

    def _follow(self) -> None:
        tail = Tail(
            self._feed.client,
            self._run.id,
            lines=log_lines(),
            show=lambda words: _quietly(self._log, "append", words),
            note=lambda words: _quietly(self._log, "note", words),
        )
        client = ui.context.client
        task: list[asyncio.Task[None]] = []

        async def begin() -> None:
            if not task:
                task.append(asyncio.create_task(tail.follow()))

        client.on_connect(begin)
        client.on_delete(lambda: [each.cancel() for each in task])

    # -- acting ---------------------------------------------------------------------------

    def _make_actions(self) -> None:
        """All of them at once, and shown while they make sense: one that were made anew would
        take the focus of whoever works by keys with it."""
        self._kill = Button("Kill", lambda: self._ask_kill(force=False), kind="danger")
        self._force = Button("Force", lambda: self._ask_kill(force=True), kind="danger quiet")
        self._hold = Button("Freeze", self._freeze_or_thaw)
        self._again = Button("Retry", self._retry, kind="primary")
        self._priorities()
        with box("pd-button quiet", "a").props(f'href="{way("/agents")}"'):
            text("All agents")

    def _offer(self) -> None:
        run, over = self._run, self._run.state == "ended"
        if over and self._kill.visible:
            self._question.take_back()
        for each in (self._kill, self._force, self._priority):
            each.set_visibility(not over)
        self._again.set_visibility(over)
        self._hold.set_visibility(run.state == "running")
        self._hold.say("Thaw" if run.frozen else "Freeze")
        if self._chosen.props.get("value") != run.priority:
            self._chosen.props["value"] = run.priority
            self._chosen.update()

    async def _freeze_or_thaw(self) -> None:
        client, run = self._feed.client, self._run
        if run.frozen:
            await attempt(client.thaw(run.id), "It goes on")
        else:
            await attempt(client.freeze(run.id), "Frozen")

    def _priorities(self) -> None:
        with box("pd-select", "label") as self._priority:
            text("Priority")
            self._chosen = box("", "select").props('aria-label="Priority"')
            with self._chosen:
                for word in PRIORITIES:
                    with box("", "option").props(f'value="{word}"'):
                        text(word)

        async def change(event: Any) -> None:
            word = str(event.args)
            if word in PRIORITIES:
                ask = self._feed.client.priority(self._run.id, cast(PriorityWord, word))
                if not await attempt(ask, f"Priority is {word}"):
                    self._chosen.update()  # back to what it is

        self._chosen.on("change", change, js_handler="(event) => emit(event.target.value)")

    async def _retry(self) -> None:
        made: list[str] = []

        async def again() -> None:
            ask = self._feed.client.retry(self._run.id, environment=environment()[0])
            made.extend(run.id for run in (await ask).runs)

        page = ui.context.client
        if await attempt(again(), "Once more"):
            with page:
                ui.navigate.to(f"/agents/{made[0]}")

    def _ask_kill(self, *, force: bool) -> None:
        client, run = self._feed.client, self._run.id
        how = " at once, with no time to clean up" if force else ", with everything it started"

        async def kill() -> None:
            await attempt(client.kill([run], force=force), "Stopping")

        title = f"Kill {safe(self._run.name)}?"
        self._question.ask(title, f"It is stopped{how}.", yes="Kill", do=kill)


def _quietly(log: LogView, method: str, words: str) -> None:
    """A page that is just going away needs no more lines."""
    if not log.is_deleted:
        log.run_method(method, words)


def _facts_of(run: views.RunView, cpu: float | None) -> dict[str, str]:
    facts = {
        "id": run.id,
        "group": safe(run.group),
        "priority": run.priority,
        "tries": str(run.tries or run.attempt or "–"),
        "submitted": clock_time(run.submitted_at),
        "ended" if run.state == "ended" else "for": _age(run),
        "expected": format_size(run.expected_bytes) if run.expected_bytes else "",
        "CPU": "" if cpu is None else f"{cpu * 100:.0f} % of a core",
        "step": f"{run.step or 'all done'} ({run.steps_done} of {run.steps})" if run.steps else "",
        "exit code": "" if run.exit_code is None else str(run.exit_code),
        "signal": "" if run.signal is None else str(run.signal),
        "needs": safe(", ".join(run.needs)),
        "place": "" if run.place is None else f"{run.place} in the queue",
    }
    return {name: words for name, words in facts.items() if words}


def _age(run: views.RunView) -> str:
    if run.state in ("starting", "running"):
        return ""  # the sentence has said it
    return f"{age_of(run)} ago" if run.state == "ended" else age_of(run)


def _renew(place: Element, facts: dict[str, str]) -> None:
    """Names and values; the same ones are left as they are."""
    labels = [child for pair in place.default_slot.children for child in pair.default_slot.children]
    names = [label.text for label in labels[::2] if isinstance(label, ui.label)]
    if names == list(facts):
        for label, words in zip(labels[1::2], facts.values(), strict=True):
            assert isinstance(label, ui.label)
            label.set_text(words)
        return
    place.clear()
    with place:
        for name, words in facts.items():
            with box("pd-fact"):
                text(name)
                text(words)
