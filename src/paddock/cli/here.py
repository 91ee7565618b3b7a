"""Where a command is called, and what is configured there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .exits import CommandError

if TYPE_CHECKING:
    from paddock.config.settings import Settings


def here_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise CommandError("the directory you are in is no longer there; cd elsewhere") from None


def settings_here() -> Settings:
    return _settings(here_directory())


def settings_of_host() -> Settings:
    """As the daemon has them: no project's."""
    return _settings(None)


def _settings(directory: Path | None) -> Settings:
    from paddock.config.layers import load_settings
    from paddock.config.mistakes import ConfigError

    try:
        return load_settings(directory)
    except ConfigError as error:
        first = str(error).splitlines()[0]
        raise CommandError(f"{first}; `paddock config check` says all that is wrong") from None
