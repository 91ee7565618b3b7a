"""What a keeper is asked for, from what the loop asks for."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any, Final

from paddock.drivers.local.containment import Place
from paddock.drivers.local.naming import Names
from paddock.ports import Launch

# A user without rights may have 64 MiB of pipes in all; beyond that also those of their shells
# are one page. 300 agents with the keeper's usual 128 KiB take 38 MiB; the next 1,000 take 16.
MANY: Final = 300
SMALL_PIPE_BYTES: Final = 16 << 10


def order_of(
    launch: Launch, names: Names, place: Place, *, cap_bytes: int, others: int
) -> dict[str, Any]:
    attempt = launch.attempt
    umask = umask_of(launch.labels)
    return {
        "attempt": names.mark(attempt),
        "argv": list(launch.command),
        "env": names.environment(launch),
        "cwd": str(launch.directory),
        "fifo": names.fifo(attempt),
        "segment": names.segment(attempt),
        "cap_bytes": cap_bytes,
        "limit_bytes": launch.limit_bytes,
        "stdin": str(launch.stdin or "/dev/null"),
        "cgroups": list(place.procs),
        "oom_score_adj": place.oom_score_adj,
        **({} if umask is None else {"umask": umask}),
        **({} if others < MANY else {"pipe_bytes": SMALL_PIPE_BYTES}),
    }


def facts_of(launch: Launch) -> str:
    """What a rescue needs to know of an attempt when no daemon answers: one line of JSON."""
    facts = {
        "run": launch.attempt.run,
        "attempt": launch.attempt.number,
        "name": launch.name,
        "group": launch.group,
        "priority": int(launch.priority),
        "limit_bytes": launch.limit_bytes,
        "expected_bytes": launch.expected_bytes,
        "begun_at": time.time(),
    }
    return json.dumps(facts)


def umask_of(labels: Mapping[str, str]) -> int | None:
    """The submitter's, in octal; None where it is not said or is no umask."""
    try:
        umask = int(labels["umask"], 8)
    except (KeyError, ValueError):
        return None
    return umask if 0 <= umask <= 0o777 else None
