"""Groups as people can read them: beside a checksum stands the name of its last run."""

from __future__ import annotations

import re
from typing import Final

from .printing import safe

_CHECKSUM: Final = re.compile(r"-[0-9a-f]{8}(/|$)")  # of a line of shell, or of what was too long


def readable(group: str, last_run: str | None) -> str:
    named = last_run is not None and _CHECKSUM.search(group) is not None
    return safe(f"{group} ({last_run})" if named else group)
