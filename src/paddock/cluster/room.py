"""What ResourceQuotas leave, as the host that the core looks at: bytes of limits that still fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Final

from paddock.cluster.client import Object
from paddock.cluster.quantities import number_of
from paddock.cluster.quota import MEMORY, Line, lines_of
from paddock.cluster.tiers import OTHER, TIERS, Tier
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
    """A `HostProbe`. What our own pods take of a quota is the core's to count, so it is added.

    `classes` are those that agents have. Where quotas differ by class, or tiers by what they ask of
    their limit, it is the most that any of them may have: who has less is told so by the driver.
    """

    def __init__(
        self,
        quotas: Callable[[], Iterable[Object]],
        pods: Callable[[], Iterable[Object]],
        *,
        classes: Iterable[str] = (),
        tiers: Sequence[Tier] = (),
    ) -> None:
        self._quotas, self._pods = quotas, pods
        self._classes: tuple[str | None, ...] = tuple(dict.fromkeys(classes)) or (None,)
        shares = [(one.memory_limit_bytes, one.memory_request_bytes) for one in (*TIERS, *tiers)]
        shares.append((OTHER.memory_limit_bytes, OTHER.memory_request_bytes))
        self._most_of_request = max(Decimal(limit) / request for limit, request in shares)

    def sample(self) -> Host:
        quotas, ours = list(self._quotas()), self._ours()
        left = max(self._left(lines_of(quotas, name), ours) for name in self._classes)
        # Never below nothing: a quota that still counts a pod which we saw end is no pressure.
        return Host(available_bytes=max(0, left), used_percent=0.0, total_bytes=BOUNDLESS)

    def glance(self, last: Host) -> Host | None:  # noqa: ARG002
        return None

    def _left(self, lines: Iterable[Line], ours: dict[str, Decimal]) -> int:
        left = [BOUNDLESS]
        for line in lines:
            if line.resource not in MEMORY:
                continue
            part = line.resource.rpartition(".")[0] or "requests"
            free = line.left + ours[part]
            left.append(int(free * self._most_of_request if part == "requests" else free))
        return min(left)

    def _ours(self) -> dict[str, Decimal]:
        total = {"requests": Decimal(0), "limits": Decimal(0)}
        for pod in self._pods():
            if pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
                continue
            for container in pod["spec"]["containers"]:
                for part in total:
                    said = container.get("resources", {}).get(part, {}).get("memory", "0")
                    total[part] += number_of(str(said))
        return total
