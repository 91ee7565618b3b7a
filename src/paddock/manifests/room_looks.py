"""Looks at the room that a cluster has: what its nodes offer, and what quotas leave."""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Final

from paddock.cluster.client import QUOTA, Kind, Object
from paddock.cluster.quantities import number_of
from paddock.cluster.quota import lines_of, plain

from .prerequisites import Finding, Ground, Look, good, missing, note
from .sizes import BUFFER

NODE: Final = Kind("", "v1", "Node", "nodes", namespaced=False)
APPLY: Final = "paddock kubernetes apply"


async def capacity(ground: Ground) -> AsyncIterator[Finding]:
    """What nodes offer to pods in all, against what quotas promise to agents."""
    offered = _offered(await ground.all(NODE))
    promised = ground.values.compute
    for name in ("cpu", "memory"):
        have = offered[name]
        asked, most = (number_of(promised[f"{part}.{name}"]) for part in ("requests", "limits"))
        what = f"nodes offer {plain(have)} {name}"
        if have < asked:
            less = f", or --quota requests.{name}={_written(name, have)}" if have >= 1 else ""
            mend = f"add nodes{less}"
            text = f"{what}, quotas let agents ask for {plain(asked)}: the rest would wait"
            yield missing("capacity", text, mend)
        elif have < most:
            mend = "fine while not all agents burst at once; else more nodes, or a smaller limit"
            text = f"{what}, enough for what agents ask for; their limits are {plain(most)}"
            yield note("capacity", text, mend)
        else:
            yield good("capacity", f"{what}, and quotas promise {plain(most)}")


def _offered(nodes: list[Object]) -> dict[str, Decimal]:
    """Of nodes that take pods."""
    found = {"cpu": Decimal(0), "memory": Decimal(0)}
    for one in nodes:
        if (one.get("spec") or {}).get("unschedulable"):
            continue
        room = (one.get("status") or {}).get("allocatable") or {}
        for name in found:
            found[name] += number_of(str(room.get(name, "0")))
    return found


def _written(name: str, value: Decimal) -> str:
    return f"{int(value) >> 30}Gi" if name == "memory" else f"{int(value)}"


async def quotas(ground: Ground) -> AsyncIterator[Finding]:
    """A fifth of each is for what nobody expected: who is above the rest has no such room."""
    space = ground.values.namespace
    found = await ground.all(QUOTA, namespace=space)
    if not found:
        yield note("quotas", f"{space} has none: agents may ask for all of the cluster", APPLY)
        return
    tight = [
        line
        for line in lines_of(found, "agent-standard-priority")
        if line.hard > 0 and line.used * BUFFER.numerator > line.hard * BUFFER.denominator
    ]
    for line in tight:
        what = f"{line.quota}: {plain(line.used)} of {plain(line.hard)} {line.resource} are used"
        larger = _larger(line.resource, line.used)
        mend = f"{APPLY} --quota {line.resource}={larger} has a fifth above it again"
        yield note("quotas", what, mend)
    if not tight:
        yield good("quotas", "leave a fifth or more of everything")


def _larger(resource: str, used: Decimal) -> str:
    wanted = used * BUFFER.numerator / BUFFER.denominator
    if resource.endswith(("memory", "storage")):
        return f"{-int(-wanted // (1 << 30))}Gi"
    return f"{-int(-wanted // 1)}"


LOOKS: Final[dict[str, Look]] = {"capacity": capacity, "quotas": quotas}
