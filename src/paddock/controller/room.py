"""What ResourceQuotas leave, as the host that the core looks at: bytes of limits that still fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Final

from paddock.cluster.client import Object
from paddock.cluster.quantities import number_of
from paddock.cluster.quota import lines_of
from paddock.cluster.tiers import OTHER
from paddock.core.events import Host
from paddock.core.policy import Admission, LadderPolicy, Policy
from paddock.core.units import PIB

# Larger than any cluster: nothing can never fit, because a quota can be raised at any time.
BOUNDLESS: Final = PIB
CALM: Final = LadderPolicy(
    skip_low=100,
    queue=100,
    preempt=100,
    emergency=100,
    relief_target=99,
    skip_low_free_bytes=-1,
    queue_free_bytes=-1,
    preempt_free_bytes=-1,
    emergency_free_bytes=-1,
)


def cluster_policy() -> Policy:
    """Quotas count limits, so admission does; pressure is every node's own business."""
    return Policy(
        total_bytes=BOUNDLESS,
        reserve_bytes=0,
        admission=Admission.GUARANTEED,
        queue_depth=1_000_000,
        free_floor_bytes=0,
        ladder=CALM,
    )


class Room:
    """A `HostProbe`. What our own pods take of a quota is the core's to count, so it is added."""

    def __init__(
        self, quotas: Callable[[], Iterable[Object]], pods: Callable[[], Iterable[Object]]
    ) -> None:
        self._quotas, self._pods = quotas, pods

    def sample(self) -> Host:
        left = [BOUNDLESS]
        for line in lines_of(self._quotas()):
            part = line.resource.rpartition(".")[0] or "requests"
            if line.resource not in ("limits.memory", "requests.memory", "memory"):
                continue
            free = line.left + self._ours(part)
            if part == "requests":  # in bytes of limits, as tiers have them
                free = free * OTHER.memory_limit_bytes / OTHER.memory_request_bytes
            left.append(int(free))
        return Host(available_bytes=min(left), used_percent=0.0, total_bytes=BOUNDLESS)

    def glance(self, last: Host) -> Host | None:  # noqa: ARG002
        return None

    def _ours(self, part: str) -> Decimal:
        total = Decimal(0)
        for pod in self._pods():
            if pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
                continue
            for container in pod["spec"]["containers"]:
                said = container.get("resources", {}).get(part, {}).get("memory", "0")
                total += number_of(str(said))
        return total
