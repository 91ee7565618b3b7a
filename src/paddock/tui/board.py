"""The main screen: head, agents, log, foot; and every key that works on it."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, ClassVar, Final, cast

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import Input, Static

from paddock.client import AsyncClient, ClientError
from paddock.client.faces import PriorityWord, safe
from paddock.client.faces import views as v

from . import deeds
from .agents import Agents
from .asking import Answer, Ask
from .cells import Glyphs
from .details import details
from .feed import Feed
from .foot import KEYS, LOG_KEYS, Foot
from .head import Head, breaker_text, head_lines
from .help import help_text
from .log_buffer import LogBuffer
from .log_feed import LogFeed
from .log_view import LogView
from .ordering import ABOUT
from .pages import Page
from .picture import Picture

DRAW_S: Final = 0.05  # between two drawings of a log that is being written
SETTLED_S: Final = 0.15  # a choice that stays so long is followed: not all that a held key passes
AGENTS_SHARE: Final = 0.6
LEAST_ROWS: Final = 6


class Board(Screen[None]):
    CSS = """
    Board { background: ansi_default; color: ansi_default; layout: vertical; overflow: hidden; }
    #head { height: 5; }
    #agents { height: 3fr; }
    #log { height: 1fr; }
    #foot { height: 1; }
    #prompt-line { height: 1; display: none; }
    #prompt-name { width: auto; text-style: reverse; }
    #prompt { width: 1fr; height: 1; border: none; padding: 0; background: ansi_default; }
    Board.zoomed #agents { display: none; }
    Board.zoomed #head { display: none; }
    Board.asks #prompt-line { display: block; }
    Board.asks #foot { display: none; }
    """
    BINDINGS: ClassVar = [
        Binding("q,f10", "app.quit", show=False),
        Binding("f1,question_mark,h", "help", show=False),
        # With priority, so that they are acted upon before the next key is looked at: over a slow
        # line `/quiet` comes in one piece, and its q would be taken for the command.
        Binding("slash", "prompt", show=False, priority=True),
        Binding("f4", "prompt('filter')", show=False, priority=True),
        Binding("f3", "prompt('search')", show=False, priority=True),
        Binding("n", "match(True)", show=False),
        Binding("N", "match(False)", show=False),
        Binding("tab,shift+tab", "other", show=False),
        Binding("enter,l", "zoom", show=False),
        Binding("escape", "back", show=False),
        Binding("f6,s", "sort", show=False),
        Binding("M", "sort_by('memory')", show=False),
        Binding("P", "sort_by('cpu')", show=False),
        Binding("T", "sort_by('age')", show=False),
        Binding("I", "upside_down", show=False),
        Binding("e", "ended", show=False),
        Binding("d,i", "details", show=False),
        Binding("f9,x", "kill(False)", show=False),
        Binding("ctrl+k", "kill(True)", show=False),
        Binding("f7,plus", "urgency(1)", show=False),
        Binding("f8,minus", "urgency(-1)", show=False),
        Binding("p", "priority", show=False),
        Binding("z", "freeze", show=False),
        Binding("r", "retry", show=False),
        Binding("b", "breakers", show=False),
        Binding("F,f", "follow", show=False),
        Binding("w", "wrap", show=False),
    ]

    def __init__(self, client: AsyncClient, *, log_lines: int, signs: Glyphs) -> None:
        super().__init__()
        self.picture = Picture()
        self.buffer = LogBuffer(log_lines)
        self._client = client
        self._signs = signs
        self._head = Head(self.picture, signs)
        self.agents = Agents(self.picture, signs)
        self.log_view = LogView(self.buffer)
        self.foot = Foot()
        self._prompt = Input(id="prompt")
        self._prompt_name = Static(id="prompt-name")
        self._asked = "filter"
        self._feed = Feed(client, self.picture, self._told)
        self._draws = False

    def compose(self) -> ComposeResult:
        yield self._head
        yield self.agents
        yield self.log_view
        with Horizontal(id="prompt-line"):
            yield self._prompt_name
            yield self._prompt
        yield self.foot

    def on_mount(self) -> None:
        self.agents.focus()
        self.run_worker(self._feed.watch(), group="feed")
        self.run_worker(self._feed.listen(), group="feed")
        # The clock, and how long nobody has answered.
        self.set_interval(1.0, self._head.redraw)

    # -- what is told ---------------------------------------------------------------------

    def _told(self) -> None:
        if not self.is_mounted:
            return
        self.agents.show()
        self.log_view.show(self.agents.chosen)
        self._arrange()
        self._head.redraw()

    def _arrange(self) -> None:
        """The head takes what it has to say, the table what it holds, the log the rest."""
        width, height = self.size
        head = len(head_lines(self.picture, width, max(1, height // 3), signs=self._signs))
        left = max(2, height - head - 1)
        least = min(LEAST_ROWS, max(2, left // 2))
        self._head.styles.height = head
        self.agents.styles.height = max(least, min(int(left * AGENTS_SHARE), self.agents.count + 1))

    def on_resize(self) -> None:
        self._arrange()

    def on_agents_chosen(self, message: Agents.Chosen) -> None:
        self.workers.cancel_group(self, "log")
        self.buffer.clear()
        self.log_view.show(self.agents.chosen)
        if message.run is not None:
            run = message.run
            self.set_timer(SETTLED_S, lambda: self._follow(run))

    def _follow(self, run: str) -> None:
        chosen = self.agents.chosen
        if chosen is not None and chosen.run.id == run:
            feed = LogFeed(self._client, self.buffer, self._written)
            self.run_worker(feed.follow(run), group="log", exclusive=True)

    def _written(self) -> None:
        if not self._draws:
            self._draws = True
            self.set_timer(DRAW_S, self._draw_log)

    def _draw_log(self) -> None:
        self._draws = False
        self.log_view.fed()

    # -- looking --------------------------------------------------------------------------

    def action_help(self) -> None:
        self.app.push_screen(Page("paddock top: keys", help_text))

    def action_details(self) -> None:
        run = self._run()
        if run is not None:
            title = f"{safe(run.name)} ({run.id})"
            self.app.push_screen(Page(title, lambda: details(self._client, run.id)))

    def action_other(self) -> None:
        other = self.log_view if self.focused is self.agents else self.agents
        if other.display:
            other.focus()

    def action_zoom(self) -> None:
        if self.agents.chosen is not None and not self.has_class("zoomed"):
            self.add_class("zoomed")
            self.foot.show_keys(LOG_KEYS)
            self.log_view.focus()
        else:
            self.action_back()

    def action_back(self) -> None:
        """One step at a time: the zoom, the search, the filter."""
        if self.has_class("zoomed"):
            self.remove_class("zoomed")
            self.foot.show_keys(KEYS)
            self.agents.focus()
        elif self.log_view.search:
            self.log_view.find("")
            self.log_view.action_follow(on=True)
        elif self.agents.wish.text:
            self._filter("")
        else:
            self.agents.focus()

    def action_follow(self) -> None:
        self.log_view.action_follow(on=not self.log_view.follows)
        self.foot.say("follows the log" if self.log_view.follows else "stays here; F follows again")

    def action_wrap(self) -> None:
        self.log_view.wraps = not self.log_view.wraps
        self.log_view.redraw()

    def action_match(self, forward: bool) -> None:  # noqa: FBT001 - as bindings call it
        if not self.log_view.search:
            self.foot.say("nothing is searched for; F3 searches the log")
        elif not self.log_view.next_match(forward=forward):
            self.foot.say(f"{safe(self.log_view.search)!r} is not in the log's last lines", "warn")
        elif self.log_view.went_round:
            where, other = ("top", "N") if forward else ("end", "n")
            self.foot.say(f"the search went on at the {where}; {other} goes the other way")

    # -- listing --------------------------------------------------------------------------

    def action_sort(self) -> None:
        answers = [
            Answer(str(n), f"{word:<9} {ABOUT[word]}", word) for n, word in enumerate(ABOUT, 1)
        ]
        at = list(ABOUT).index(self.agents.wish.sort)
        self.app.push_screen(Ask("Sort by", answers, at=at), self._sort_answered)

    def _sort_answered(self, word: str | None) -> None:
        if word is not None:
            self.action_sort_by(word)

    def action_sort_by(self, word: str) -> None:
        self.agents.want(self.agents.wish.sorted_by(word))

    def action_upside_down(self) -> None:
        wish = self.agents.wish
        self.agents.want(replace(wish, upside_down=not wish.upside_down))

    def action_ended(self) -> None:
        wish = self.agents.wish
        self.agents.want(replace(wish, ended=not wish.ended))
        self._arrange()
        self.foot.say("those that have ended are " + ("hidden" if wish.ended else "listed"))

    def _filter(self, text: str) -> None:
        self.agents.want(replace(self.agents.wish, text=text))
        self._arrange()
        self.foot.about = f"filter: {safe(text)} (Esc clears)" if text else ""
        self.foot.redraw()

    # -- the line that is typed into ------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A / that is typed into the line is one of its letters."""
        if action == "prompt" and not parameters and self.has_class("asks"):
            return False
        return super().check_action(action, parameters)

    def action_prompt(self, what: str = "") -> None:
        log_has_it = self.focused is self.log_view or self.has_class("zoomed")
        self._asked = what or ("search" if log_has_it else "filter")
        held = self.log_view.search if self._asked == "search" else self.agents.wish.text
        self._prompt.value = held
        self._prompt.placeholder = (
            "then n, N: next, previous" if self._asked == "search" else "words; !word: without it"
        )
        self._prompt_name.update(f" {self._asked.capitalize()} ")
        self.add_class("asks")
        self.set_focus(self._prompt)

    def on_input_changed(self, event: Input.Changed) -> None:
        if self._asked == "filter" and self.has_class("asks"):
            self._filter(event.value.strip())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        text = event.value.strip()
        self._close_prompt()
        if self._asked == "search" and not self.log_view.find(text):
            self.foot.say(f"{safe(text)!r} is not in the log's last lines", "warn")

    def _close_prompt(self) -> None:
        self.remove_class("asks")
        (self.log_view if self.has_class("zoomed") else self.agents).focus()

    def key_escape(self) -> None:
        if self.has_class("asks"):
            if self._asked == "filter":
                self._filter("")
            self._close_prompt()
        else:
            self.action_back()

    # -- acting ---------------------------------------------------------------------------

    def _run(self) -> v.RunView | None:
        chosen = self.agents.chosen
        if chosen is None:
            self.foot.say("no agent is chosen", "warn")
            return None
        return chosen.run

    def _live_run(self, what: str) -> v.RunView | None:
        run = self._run()
        if run is not None and run.state == "ended":
            self.foot.say(f"{safe(run.name)} has ended: {what}", "warn")
            return None
        return run

    def _do(self, deed: Coroutine[Any, Any, str]) -> None:
        self.run_worker(self._done(deed), group="deeds")

    async def _done(self, deed: Coroutine[Any, Any, str]) -> None:
        try:
            self.foot.say(await deed, "good")
        except (ClientError, OSError) as error:
            self.foot.say(safe(str(error)), "bad")
        self._feed.wake()

    def action_kill(self, force: bool) -> None:  # noqa: FBT001 - as bindings call it
        run = self._live_run("there is nothing to kill; r runs it again")
        if run is None:
            return
        title = f"Kill {safe(run.name)[:60]} ({run.id}), {run.state}?"
        answers = [
            Answer("n", "no, leave it", ""),
            Answer("y", "yes: ask it to stop, and kill it if it does not", "ask"),
            Answer("f", "by force: at once, with all it started", "force"),
        ]
        if force:
            answers = [answers[0], Answer("y", answers[2].text, "force")]

        def answered(word: str | None) -> None:
            if word:
                self._do(deeds.kill(self._client, run, force=word == "force"))

        self.app.push_screen(Ask(title, answers), answered)

    def action_urgency(self, by: int) -> None:
        run = self._live_run("its priority does not matter any more")
        if run is None:
            return
        word = deeds.next_priority(run.priority, by)
        if word is None:
            self.foot.say(f"{safe(run.name)} is {run.priority} already")
        else:
            self._do(deeds.set_priority(self._client, run, word))

    def action_priority(self) -> None:
        run = self._live_run("its priority does not matter any more")
        if run is None:
            return
        answers = [Answer(word[0], word, word) for word in reversed(deeds.PRIORITIES)]
        at = [one.gives for one in answers].index(run.priority)

        def answered(word: str | None) -> None:
            if word is not None:
                self._do(deeds.set_priority(self._client, run, cast(PriorityWord, word)))

        self.app.push_screen(Ask(f"Priority of {safe(run.name)[:60]}", answers, at=at), answered)

    def action_freeze(self) -> None:
        run = self._live_run("there is nothing to freeze")
        if run is not None:
            self._do(deeds.freeze_or_thaw(self._client, run))

    def action_retry(self) -> None:
        run = self._run()
        if run is not None:
            self._do(deeds.retry(self._client, run))

    def action_breakers(self) -> None:
        status = self.picture.status
        if status is None or not status.breakers:
            self.foot.say("no breaker is open")
            return
        answers = [
            Answer(str(n), breaker_text(one), one.group)
            for n, one in enumerate(status.breakers[:9], 1)
        ]

        def answered(group: str | None) -> None:
            if group is not None:
                self._do(deeds.reset_breaker(self._client, group))

        self.app.push_screen(
            Ask("Breakers: reset one, so that its group may start again", answers), answered
        )
