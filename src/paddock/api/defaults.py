"""What a run gets when it says nothing: the settings of the directory it was submitted from.

Files are read again only when they have changed; whether they have is looked at for every
submission that does not come within moments of another.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from paddock.config import settings as s
from paddock.config.layers import (
    HOST_FILE,
    PROFILE_VARIABLE,
    PROJECT_FILE,
    find_files,
    settings_of,
    user_file,
)
from paddock.config.mistakes import ConfigError
from paddock.config.policy import RunDefaults, run_defaults
from paddock.config.preset import Preset
from paddock.config.project_bounds import bounds_of, unheeded
from paddock.core.policy import Policy
from paddock.core.run import Bounds
from paddock.core.units import format_size

KEPT: Final = 256
LOOK_S: Final = 0.02  # a look is six system calls, a tenth of what a submission costs

Seen = tuple[int, int, int] | None  # of one file: time of its last change, size, inode


@dataclass(frozen=True, slots=True)
class Given:
    """The defaults of one place, and what of them is not as it was set."""

    run: RunDefaults
    simple_s: float  # the hard timeout of a simple run (RUN-2)
    reduced: str | None  # the limit was made to fit this host: a sentence
    presets: Callable[[], Mapping[str, Preset]]  # read when the first run asks for one
    bounds: Bounds | None = None  # that the project sets for its own runs
    unheeded: tuple[str, ...] = ()  # what its file says in vain, a sentence each


@dataclass(slots=True)
class _Kept:
    places: tuple[str, ...]  # where a file could be, those without one included
    seen: tuple[Seen, ...]
    policy: Policy
    given: Given
    looked_at: float


class DefaultsOf:
    """Called from several threads; each entry is replaced whole, so no lock is needed."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()

    def at(
        self, directory: str, policy: Policy, *, profile: str | None, said: Mapping[str, str]
    ) -> Given:
        """`said` is the environment of whoever submits: it may name a profile, as an option may.

        Raises ConfigError with every mistake of every file.
        """
        chosen = profile or said.get(PROFILE_VARIABLE) or ""
        known = self._kept.get((directory, chosen))
        now = self._now()
        if known is not None and _same_bounds(known.policy, policy):
            if now - known.looked_at < LOOK_S:
                return known.given
            if known.seen == _look(known.places):
                known.looked_at = now
                return known.given
        places = _places(Path(directory))
        seen = _look(places)
        given = _given(settings_of(find_files(Path(directory)), profile=chosen or None), policy)
        self._kept[directory, chosen] = _Kept(places, seen, policy, given, now)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return given

    def bounds_again(self, old: Bounds | None, policy: Policy) -> Bounds | None:
        """Of the same project, as its file is today; of one that cannot be read, as they were."""
        if old is None:
            return None
        place = Path(old.project).parent.parent
        try:
            found = self.at(str(place), policy, profile=None, said={}).bounds
        except ConfigError:
            return old
        return found if found is not None and found.project == old.project else None


def _same_bounds(one: Policy, other: Policy) -> bool:
    if one is other:
        return True
    return (one.total_bytes, one.largest_bytes) == (other.total_bytes, other.largest_bytes)


def _given(settings: s.Settings, policy: Policy) -> Given:
    usual = run_defaults(settings, policy.total_bytes)
    # The daemon may stand under stricter rules than the files say today.
    limit = min(usual.limit_bytes, policy.largest_bytes)
    usual = replace(usual, limit_bytes=limit, soft_limit_bytes=min(usual.soft_limit_bytes, limit))
    reduced, asked = None, settings[s.MEMORY_LIMIT]
    if limit < asked:
        reduced = (
            f"runs that say nothing get {format_size(limit)}: the {format_size(asked)} of "
            f"{s.MEMORY_LIMIT.key} would not fit this host"
        )
    return Given(
        usual,
        float(settings[s.AGENT_TIMEOUT]),
        reduced,
        lambda: settings.presets,
        bounds_of(settings),
        tuple(unheeded(settings)),
    )


def _places(directory: Path) -> tuple[str, ...]:
    above = (directory, *directory.parents)
    return tuple(map(str, (HOST_FILE, user_file(), *(each / PROJECT_FILE for each in above))))


def _look(places: tuple[str, ...]) -> tuple[Seen, ...]:
    return tuple(map(_seen, places))


def _seen(path: str) -> Seen:
    try:
        found = os.stat(path)  # noqa: PTH116 - quicker, and this is done for every submission
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
