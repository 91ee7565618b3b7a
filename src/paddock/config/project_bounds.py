"""Keys of the whole host in a project's file: which of them hold for its own runs."""

from __future__ import annotations

from collections.abc import Iterator

from paddock.core.run import Bounds

from . import settings as s
from .settings import Settings


def bounds_of(settings: Settings) -> Bounds | None:
    """What the project's file, or a profile that it chose, makes stricter for its own runs."""
    if settings.project_file is None:
        return None
    asked = (settings[s.MAX_AGENTS], settings.agents_cap.value)
    agents = min((number for number in asked if number is not None), default=None)
    found = Bounds(
        project=settings.project_file,
        agents=agents if s.MAX_AGENTS.key in settings.stricter else None,
        waiting=settings[s.QUEUE_DEPTH] if s.QUEUE_DEPTH.key in settings.stricter else None,
        by_limits=s.ADMISSION.key in settings.stricter,
    )
    return None if found == Bounds(project=settings.project_file) else found


def unheeded(settings: Settings) -> Iterator[str]:
    """A sentence for each key that is written in the project's file and changes nothing."""
    may = ", ".join(setting.key for setting in s.OF_A_PROJECT)
    for key, held in settings.in_vain.items():
        yield (
            f"{held.source}: {key} has no effect in a project's file: of the keys of the whole "
            f"host only {may} hold for a project's own runs; put it into the user's file"
        )
