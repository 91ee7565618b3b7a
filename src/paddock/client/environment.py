"""Which variables go along with a submission: the asker's own, without what marks an attempt."""

from __future__ import annotations

import os
from typing import Final

# Of paddock's own variables these are the user's; all others mark the attempt that we are inside.
_THE_USERS: Final = ("PADDOCK_STATE", "PADDOCK_PROFILE", "PADDOCK_DEBUG")


def environment() -> tuple[dict[str, str], list[str]]:
    """Ours, without what marks an attempt: a run that an agent submits is not that agent. And the
    names of those that are left out, because they are no UTF-8 text."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PADDOCK_") or name in _THE_USERS
    }
    if kept.get("PADDOCK_STATE"):
        from paddock.config.places import find_places

        kept["PADDOCK_STATE"] = str(find_places().state)
    odd = [name for name, value in kept.items() if not _is_utf8(name + value)]
    return {name: value for name, value in kept.items() if name not in odd}, odd


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
