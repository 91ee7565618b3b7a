"""What a dashboard needs besides the client, for it knows no other room: views, words, settings."""

from __future__ import annotations

from pathlib import Path

from paddock.config.places import Places, find_places
from paddock.core.units import format_duration, format_size
from paddock.wire import views
from paddock.wire.one_line import safe
from paddock.wire.plain_text import Cleaner
from paddock.wire.run_request import PriorityWord

from .errors import BadRequest
from .story import story_of

__all__ = [
    "Cleaner",
    "Places",
    "PriorityWord",
    "find_places",
    "format_duration",
    "format_size",
    "log_lines",
    "safe",
    "story_of",
    "views",
]


def log_lines() -> int:
    """So many lines of an agent's output a display keeps, as the files here say."""
    from paddock.config.layers import load_settings
    from paddock.config.mistakes import ConfigError
    from paddock.config.settings import TUI_LINES

    try:
        return load_settings(Path.cwd())[TUI_LINES]
    except ConfigError as error:
        raise BadRequest(str(error), "config") from None
