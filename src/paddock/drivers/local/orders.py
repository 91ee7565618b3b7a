"""What a keeper is asked for, from what the loop asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from paddock.drivers.local.containment import Place
from paddock.drivers.local.naming import Names
from paddock.ports import Launch

NO_CAP_BYTES: Final = 1 << 50  # until logs are rotated
# A user without rights may have 64 MiB of pipes in all; beyond that also those of their shells
# are one page. 300 agents with the keeper's usual 128 KiB take 38 MiB; the next 1,000 take 16.
MANY: Final = 300
SMALL_PIPE_BYTES: Final = 16 << 10


def order_of(launch: Launch, names: Names, place: Place, *, others: int) -> dict[str, Any]:
    attempt = launch.attempt
    umask = umask_of(launch.labels)
    return {
        "attempt": names.mark(attempt),
        "argv": list(launch.command),
        "env": names.environment(launch),
        "cwd": str(launch.directory),
        "fifo": names.fifo(attempt),
        "segment": names.segment(attempt),
        "cap_bytes": NO_CAP_BYTES,
        "limit_bytes": launch.limit_bytes,
        "stdin": str(launch.stdin or "/dev/null"),
        "cgroups": list(place.procs),
        "oom_score_adj": place.oom_score_adj,
        **({} if umask is None else {"umask": umask}),
        **({} if others < MANY else {"pipe_bytes": SMALL_PIPE_BYTES}),
    }


def umask_of(labels: Mapping[str, str]) -> int | None:
    """The submitter's, in octal; None where it is not said or is no umask."""
    try:
        umask = int(labels["umask"], 8)
    except (KeyError, ValueError):
        return None
    return umask if 0 <= umask <= 0o777 else None
