"""Small fleets in a line: `a_policy()`, `a_spec("tests", memory="2G")`, `a_host()`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from msgspec import structs

from paddock.core.events import Host
from paddock.core.policy import Admission, Policy
from paddock.core.run import Priority, Queued, Run, RunSpec
from paddock.core.units import parse_size

TOTAL = "16G"
RESERVE = "4G"


def a_policy(
    *,
    total: str = TOTAL,
    reserve: str = RESERVE,
    admission: Admission = Admission.GUARANTEED,
    **changes: Any,
) -> Policy:
    """16 GiB with a wall at 12 GiB, every run counted with its limit unless told otherwise."""
    return Policy(
        total_bytes=parse_size(total),
        reserve_bytes=parse_size(reserve),
        admission=admission,
        **{"stale_s": 1e12, **changes},  # a test looks at the host when it wants to
    )


def with_parts(policy: Policy, **parts: Mapping[str, Any]) -> Policy:
    """A policy with some fields of its parts changed: `with_parts(p, breaker={"failures": 2})`."""
    changed = {name: replace(getattr(policy, name), **fields) for name, fields in parts.items()}
    return replace(policy, **changed)


def a_spec(
    name: str = "a",
    *,
    memory: str = "2G",
    priority: Priority = Priority.NORMAL,
    group: str = "coder",
    needs: tuple[str, ...] = (),
    **changes: Any,
) -> RunSpec:
    return RunSpec(
        id=name,
        name=name,
        group=group,
        limit_bytes=parse_size(memory),
        priority=priority,
        needs=needs,
        **changes,
    )


def a_run(spec: RunSpec | None = None, **facts: Any) -> Run:
    """A queued run for functions that look at one run alone."""
    spec = spec or a_spec()
    return structs.replace(
        Run(
            spec=spec,
            state=Queued(0.0),
            priority=spec.priority,
            enqueued_at=0.0,
            sequence=1,
            tag=1,
            limit_bytes=spec.limit_bytes,
        ),
        **facts,
    )


def a_host(
    *,
    used_percent: float | None = 10.0,
    total: str = TOTAL,
    available: str | None = None,
    **changes: Any,
) -> Host:
    """What is not used is available, unless told otherwise; `used_percent=None` is unreadable."""
    total_bytes = parse_size(total)
    if available is not None:
        available_bytes: int | None = parse_size(available)
    elif used_percent is None:
        available_bytes = None
    else:
        available_bytes = int(total_bytes * (100 - used_percent) / 100)
    return Host(available_bytes, used_percent, total_bytes, **changes)
