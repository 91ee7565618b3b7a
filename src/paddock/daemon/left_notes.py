"""Small files that a daemon leaves for others: for rescues, and for the daemon after it."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict
from pathlib import Path

from paddock.config.places import Places
from paddock.core.policy import Policy
from paddock.drivers.attempts import note_in
from paddock.drivers.local.naming import keep


def keep_ladder(places: Places, policy: Policy) -> None:
    """For rescues, which read no configuration."""
    with contextlib.suppress(OSError):
        places.keeper.mkdir(mode=0o700, exist_ok=True)
        keep(str(places.keeper / "ladder"), json.dumps(asdict(policy.ladder)))


def listening_file(places: Places) -> Path:
    return places.state / "listen"


def listened_before(places: Places) -> str | None:
    try:
        return note_in(listening_file(places)).decode("ascii").strip() or None
    except (OSError, ValueError):
        return None
