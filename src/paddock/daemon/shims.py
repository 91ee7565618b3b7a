"""Shims for an agent's walled commands: from the labels of a run to a directory for its PATH."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import msgspec

from paddock.api.recipes import TOOLS_LABEL
from paddock.config.tool_walls import ToolWall
from paddock.tool.shims import tool_path

log = logging.getLogger("paddock.daemon")


class Shims:
    def __init__(self, state: Path) -> None:
        self._state = state

    def __call__(self, labels: Mapping[str, str], path: str) -> str | None:
        """An agent without them is better than none: its own wall still stands."""
        said = labels.get(TOOLS_LABEL)
        if said is None:
            return None
        try:
            share, walls = msgspec.json.decode(said, type=tuple[float, tuple[ToolWall, ...]])
            return tool_path(self._state, walls, path=path, share=share)
        except (OSError, msgspec.DecodeError) as error:
            log.warning("no walls for single commands: %s", error)
            return None
