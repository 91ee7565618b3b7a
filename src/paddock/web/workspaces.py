"""Where runs with a repository work, and what they left there.

Asked for when the page is opened: git looks at each of them, which takes its time.
"""

from __future__ import annotations

from pathlib import PurePath

from nicegui import ui

from paddock.client import ClientError
from paddock.client.faces import format_duration, safe, views

from .feed import Feed
from .parts import Button, card, heading, scroller, table, text

HEADS = ("run", "state", "repository", "branch", "work in it", "path")


class Workspaces:
    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._note = heading("Workspaces", "asking git")
        with card("All of them") as _:
            Button("Look again", self.look, kind="quiet")
            self._place = scroller("All workspaces")
        ui.timer(0.05, self.look, once=True)

    async def look(self) -> None:
        self._note.set_text("asking git")
        try:
            found = await self._feed.client.workspaces()
        except (ClientError, OSError) as error:
            self._note.set_text(str(error))
            return
        held = sum(1 for each in found if each.state == "taken")
        self._note.set_text(f"{len(found)} in all, {held} in use")
        self._place.clear()
        with self._place:
            if found:
                table(HEADS, [_row(each) for each in found], label="Workspaces")
            else:
                text("None: runs with --repo each get one.", "pd-empty")


def _row(each: views.WorkspaceView) -> tuple[str, ...]:
    idle = "" if each.idle_s is None else f" for {format_duration(round(each.idle_s))}"
    return (
        safe(each.name or each.run or "prepared"),
        f"{each.state}{idle}",
        safe(PurePath(each.repository).name),
        safe(each.branch),
        _work(each),
        safe(each.path or "gone"),
    )


def _work(each: views.WorkspaceView) -> str:
    words = []
    if each.commits:
        merged = "" if each.unmerged is None else f" ({each.unmerged} not merged)"
        words.append(f"{each.commits} commits{merged}")
    if each.uncommitted:
        words.append(f"{each.uncommitted} file{'s'[: each.uncommitted != 1]} not committed")
    return ", ".join(words) or "nothing"
