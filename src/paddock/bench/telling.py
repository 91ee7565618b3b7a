"""How a measurement speaks: what it has found, and meanwhile what it is at."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from paddock.wire.views import RunView

Tell = Callable[[str], None]


def silent(_: str) -> None:
    """For whoever does not want to hear it."""


def how_far(views: Sequence[RunView]) -> str:
    """`2 of 8 ended, 6 running`, of those that are under way."""
    ended = sum(view.state == "ended" for view in views)
    running = sum(view.state == "running" for view in views)
    return f"{ended} of {len(views)} ended, {running} running"
