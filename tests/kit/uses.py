"""What was seen of a group, for the advisers."""

from __future__ import annotations

from typing import Any

from paddock.core.units import GIB
from paddock.observe.sizing_advice import GroupUse


def a_use(peaks: list[tuple[float, int]], *, group: str = "coder", **facts: Any) -> GroupUse:
    known: dict[str, Any] = {
        "group": group,
        "days": 10,
        "attempts": sum(count for _, count in peaks),
        "ooms": 0,
        "agent_s": 3600.0,
        "limit_bytes": 4 * GIB,
        "limits_bytes": 4.0 * GIB,
        "peaks": peaks,
    }
    return GroupUse(**known | facts)
