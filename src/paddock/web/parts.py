"""What every page has: the head with its links, the word when the daemon is gone, tiles, charts."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from fastapi import Request
from nicegui import ui
from nicegui.element import Element

from paddock import __version__
from paddock.client import ClientError
from paddock.client.faces import format_duration

from .charts import Options
from .feed import Feed

EVERY_S: Final = 1.0
THEME_COOKIE: Final = "paddock_theme"
PAGES: Final = (
    ("/", "Overview", "dashboard"),
    ("/agents", "Agents", "smart_toy"),
    ("/workspaces", "Workspaces", "account_tree"),
    ("/benchmarks", "Benchmarks", "speed"),
    ("/capacity", "Capacity", "tune"),
)
_HEAD: Final = '<link rel="stylesheet" href="{style}"><meta name="theme-color" content="#16181d">'
_ICON: Final = (
    '<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8"/>'
    '<path d="M6 13h20M6 20h20M9 8v17M16 8v17M23 8v17"/></svg>'
)


class AgentsTable(Element, component="static/agents.js"):
    """All agents in a table that sorts and narrows itself in the browser."""

    def show(self, rows: list[dict[str, Any]]) -> None:
        self._props["rows"] = rows
        self.update()


class LogView(Element, component="static/log.js"):
    """The end of an agent's output, as text."""

    def __init__(self, *, most: int) -> None:
        super().__init__()
        self._props["most"] = most


class Question(Element, component="static/question.js"):
    """Asks before something is done. It is made with the page: what is asked may lie over buttons
    that come and go."""

    def __init__(self) -> None:
        super().__init__()
        self._do: Callable[[], Any] = lambda: None
        self.on("agreed", self._agreed)

    def ask(self, title: str, words: str, *, yes: str, do: Callable[[], Any]) -> None:
        self._do = do  # what was asked last: there is one question at a time
        self.run_method("open", title, words, yes)

    def _agreed(self) -> Any:
        return self._do()

    def take_back(self) -> None:
        self.run_method("close")


def way(path: str) -> str:
    """As a browser asks for it: everything lies below a path that nobody can guess."""
    return f"{ui.context.client.request.scope['root_path']}{path}"


@contextmanager
def page(feed: Feed, request: Request, *, here: str, title: str) -> Iterator[Element]:
    """The frame of a page; what is made inside lies in its middle."""
    ui.add_head_html(_HEAD.format(style=way(f"/assets/style.css?v={__version__}")))
    ui.page_title(f"{title} · paddock")
    ui.colors(primary="#2563eb")
    dark = ui.dark_mode({"dark": True, "light": False}.get(request.cookies.get(THEME_COOKIE, "")))
    with box("pd-page"):
        _tagged("a", "pd-skip", "Skip to content").props('href="#main"')
        with _tagged("header", "pd-top"), box("pd-top-in"):
            with _tagged("a", "pd-brand").props(
                f'href="{way("/")}" aria-label="paddock, overview"'
            ):
                ui.html(_ICON, sanitize=False).classes("pd-logo")
                text("paddock", "pd-word")
            _links(here)
            _theme_button(dark)
        _banner(feed)
        with _tagged("div", "pd-main").props('id="main" tabindex="-1"') as main:
            yield main


def _links(here: str) -> None:
    with _tagged("nav", "pd-nav").props('aria-label="Pages"'):
        for path, word, icon in PAGES:
            link = _tagged("a", "on" if path == here else "").props(f'href="{way(path)}"')
            if path == here:
                link.props('aria-current="page"')
            with link:
                ui.icon(icon).props('aria-hidden="true"')
                text(word)


def _theme_button(dark: ui.dark_mode) -> None:
    async def toggle() -> None:
        is_dark = await ui.run_javascript("return document.body.classList.contains('body--dark')")
        dark.value = not is_dark
        word = "light" if is_dark else "dark"
        keep = f"document.cookie='{THEME_COOKIE}={word}; path=/; max-age=31536000; samesite=strict'"
        ui.run_javascript(keep)

    button = _tagged("button", "pd-theme").props('type="button" aria-label="Light or dark"')
    with button.on("click", toggle):
        ui.icon("contrast").props('aria-hidden="true"')


def _banner(feed: Feed) -> None:
    """Says that the daemon is gone, and goes by itself when it is back."""
    with box("pd-banner").props('role="alert"') as banner:
        words = text("")

    def refresh() -> None:
        since = feed.lost_since
        banner.set_visibility(since is not None)
        if since is not None:
            gone = format_duration(max(1, round(time.time() - since)))
            words.set_text(
                f"The daemon has been gone for {gone}. Agents go on without it; this page comes "
                "back by itself when it does (paddock daemon start)."
            )

    refresh()
    ui.timer(EVERY_S, refresh)


# -- small things ---------------------------------------------------------------------------


def _tagged(tag: str, classes: str, words: str = "") -> Element:
    made = Element(tag).classes(classes)
    if words:
        with made:
            text(words)
    return made


def box(classes: str, tag: str = "div") -> Element:
    return Element(tag).classes(classes)


def text(words: str, classes: str = "") -> ui.label:
    """Always as text: a label never makes markup of what it is given."""
    label = ui.label(words)
    return label.classes(classes) if classes else label


def heading(words: str, note: str = "") -> ui.label:
    with box("pd-heading"):
        with box("", "h1"):
            text(words)
        return text(note, "pd-dim")


@contextmanager
def card(title: str, note: str = "", classes: str = "") -> Iterator[ui.label]:
    """A titled box; the label that is given back is the note beside its title."""
    with _tagged("section", f"pd-card {classes}"):
        with box("pd-card-head"):
            with box("", "h2"):
                text(title)
            beside = text(note, "pd-dim")
        yield beside


class Tile:
    """A large figure with a word above and a sentence below."""

    def __init__(self, name: str) -> None:
        with box("pd-tile"):
            text(name, "pd-tile-name")
            self._figure = text("–", "pd-figure")
            with box("pd-meter") as self._meter:
                self._fill = Element("i")
            self._below = text("", "pd-dim")
        self._meter.set_visibility(False)

    def show(self, figure: str, below: str, *, percent: float | None = None) -> None:
        self._figure.set_text(figure)
        self._below.set_text(below)
        if percent is not None:
            self._meter.set_visibility(True)
            self._fill.style(f"width: {min(100.0, percent):.1f}%")


class Chart:
    """A chart whose options are made anew from the history at each look."""

    def __init__(self, make: Callable[[], Options], *, label: str, classes: str = "") -> None:
        self._make = make
        self._chart = ui.echart(make(), renderer="svg").classes(f"pd-chart {classes}")
        self._chart.props(f'role="img" aria-label="{label}"')

    def set_visibility(self, visible: bool) -> None:  # noqa: FBT001 - as elements have it
        self._chart.set_visibility(visible)

    def refresh(self) -> None:
        options = self._chart.options
        options.clear()
        options.update(self._make())
        self._chart.update()


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, label: str) -> None:
    """A plain table of texts; on a phone its rows are cards with the heads beside."""
    with _tagged("table", "pd-table plain").props(f'aria-label="{label}"'):
        with _tagged("thead", ""), _tagged("tr", ""):
            for head in heads:
                _tagged("th", "", head).props('scope="col"')
        with _tagged("tbody", ""):
            for row in rows:
                with _tagged("tr", ""):
                    for head, cell in zip(heads, row, strict=True):
                        _tagged("td", "", cell or "–").props(f'data-head="{head}"')


def chip(words: str, tone: str) -> ui.label:
    return text(words, f"pd-chip {tone}")


class Button(Element):
    def __init__(self, words: str, do: Callable[[], Any], *, kind: str = "") -> None:
        super().__init__("button")
        self.classes(f"pd-button {kind}").props('type="button"').on("click", do)
        with self:
            self._words = text(words)

    def say(self, words: str) -> None:
        self._words.set_text(words)


def scroller(label: str) -> Element:
    """A box that keys can scroll too."""
    return box("pd-scroll").props(f'tabindex="0" role="region" aria-label="{label}"')


async def attempt(work: Awaitable[Any], done: str) -> bool:
    """Something asked of the daemon; a word says what came of it."""
    page = ui.context.client  # the button that was pressed may be gone by then
    try:
        await work
    except (ClientError, OSError) as error:
        with page:
            ui.notify(str(error), type="negative", position="top", multi_line=True)
        return False
    with page:
        ui.notify(done, type="positive", position="top")
    return True
