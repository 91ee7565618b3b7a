"""Runs of the driver `kubernetes`: what of a request means nothing there, and their size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from paddock.cluster.tiers import Tier, is_sized, place_of, tier_of
from paddock.wire.run_request import RunRequest

from .problems import bad_request

IN_CLUSTERS: Final = "kubernetes"
# What is of one host, and what to do instead.
NOT_THERE: Final = {
    "dir": "a directory of this host is not in a cluster; agents work in a volume of their own",
    "repo": "let the command clone it into its workspace",
    "stdin": "let the command fetch what it reads",
    "ready_marker": "nobody can look at the files of a pod",
}


def in_cluster(request: RunRequest, tiers: Sequence[Tier], *, run: str) -> RunRequest:
    """With the memory of its tier, where it asked for none; refused where it asked for a host."""
    for name, instead in NOT_THERE.items():
        if getattr(request, name):
            what = f"{request.name}: {name}: not with the driver kubernetes"
            raise bad_request(f"{what}; {instead}")
    role, model = request.role or "", request.model or ""
    if request.memory_bytes is None and is_sized(role, model, tiers):
        limit = tier_of(role, model, tiers, at=place_of(run)).memory_limit_bytes
        return replace(request, memory_bytes=limit)
    return request
