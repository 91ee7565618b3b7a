"""Whether a connected cluster has what paddock needs there: looked at, nothing changed (K8S-6).

Every finding is one line that says what is so, and one that says what to do about it. The looks
themselves are beside this: of the cluster, and of the room that it has.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from paddock.cluster.client import Api, ClusterTrouble, Kind, Object, Refused
from paddock.cluster.discovery import Discovery

from .values import Values

PATIENCE_S: Final = 5.0


class Verdict(StrEnum):
    GOOD = "good"
    NOTE = "note"  # it works, but not as well as it could
    MISSING = "missing"  # without it agents do not run


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    verdict: Verdict
    what: str
    mend: str = ""


@dataclass(slots=True)
class Ground:
    """What looks are given."""

    api: Api
    values: Values
    discovery: Discovery

    async def find(self, kind: Kind, name: str, *, namespace: str | None = None) -> Object | None:
        return await self.api.find(kind, name, namespace=namespace, patience_s=PATIENCE_S)

    async def all(
        self, kind: Kind, *, labels: dict[str, str] | None = None, namespace: str | None = None
    ) -> list[Object]:
        found, _ = await self.api.list(
            kind, labels=labels, namespace=namespace, patience_s=PATIENCE_S
        )
        return found


Look = Callable[[Ground], AsyncIterator[Finding]]


def good(name: str, what: str) -> Finding:
    return Finding(name, Verdict.GOOD, what)


def note(name: str, what: str, mend: str) -> Finding:
    return Finding(name, Verdict.NOTE, what, mend)


def missing(name: str, what: str, mend: str) -> Finding:
    return Finding(name, Verdict.MISSING, what, mend)


async def prerequisites(api: Api, values: Values) -> AsyncIterator[Finding]:
    """One look that is refused, or not answered, says so and keeps no other back."""
    from .cluster_looks import LOOKS
    from .room_looks import LOOKS as ROOM

    ground = Ground(api, values, Discovery(api, patience_s=PATIENCE_S))
    for name, look in {**LOOKS, **ROOM}.items():
        try:
            async for finding in look(ground):
                yield finding
        except Refused as refused:
            said = " ".join(str(refused).split())
            yield note(name, f"could not be looked at: {said}", "ask whoever runs the cluster")
        except ClusterTrouble as trouble:
            yield note(name, f"could not be looked at: {trouble}", "try again")


def plain(finding: Finding) -> dict[str, Any]:
    return {
        "name": finding.name,
        "verdict": str(finding.verdict),
        "what": finding.what,
        "mend": finding.mend,
    }
