"""Configuration in a line: `settings("queue: {depth: 5}")`, `mistakes_in(project="…")`."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from paddock.config.layers import settings_of
from paddock.config.mistakes import ConfigError
from paddock.config.settings import Settings


def settings(user: str = "", *, profile: str | None = None, **layers: str) -> Settings:
    """As `load_settings` would read them; layers are host, user and project."""
    texts = {"host": layers.get("host", ""), "user": user, "project": layers.get("project", "")}
    with TemporaryDirectory() as directory:
        files = {}
        for name, text in texts.items():
            if text:
                files[name] = Path(directory) / f"{name}.yaml"
                files[name].write_text(text, encoding="utf-8")
        try:
            return settings_of(files, profile=profile)
        except ConfigError as error:
            short = [str(mistake).replace(f"{directory}/", "") for mistake in error.mistakes]
            raise Refused(short) from error


class Refused(Exception):
    """The lines a user would read, with short file names."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


def mistakes_in(user: str = "", *, profile: str | None = None, **layers: str) -> list[str]:
    try:
        settings(user, profile=profile, **layers)
    except Refused as refused:
        return refused.lines
    return []
