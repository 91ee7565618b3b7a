"""Eviction by the API: it asks the budgets first, as whoever drains a node wants it to."""

from __future__ import annotations

from typing import Any

from tests.kit.cluster.kubelet import Kubelet, is_over
from tests.kit.cluster.objects import BUDGET, POD, Object, Refusal, Shelves

TOO_MANY = "Cannot evict pod as it would violate the pod's disruption budget."


def evict(shelves: Shelves, kubelet: Kubelet, pod: Object) -> None:
    """429: not now. A pod that does not run is no loss to a budget."""
    meta = pod["metadata"]
    budgets = [one for one in shelves.all(BUDGET, meta["namespace"]) if _selects(one, pod)]
    if len(budgets) > 1:
        text = "This pod has more than one PodDisruptionBudget, which the eviction subresource "
        raise Refusal(500, "InternalError", text + "does not support.")
    runs = pod.get("status", {}).get("phase") == "Running"
    for budget in budgets if runs else ():
        healthy, needed = _counted(shelves, budget)
        if healthy <= needed:
            name = budget["metadata"]["name"]
            about = f"The disruption budget {name} needs {needed} healthy pods and has {healthy}"
            cause = {"reason": "DisruptionBudget", "message": f"{about} currently"}
            raise Refusal(429, "TooManyRequests", TOO_MANY, causes=(cause,))
    if is_over(pod):
        shelves.delete(POD, pod)
    else:
        kubelet.disrupt(pod, "EvictionByEvictionAPI", "Eviction API: evicting")


def _selects(budget: Object, pod: Object) -> bool:
    wanted = budget["spec"].get("selector", {}).get("matchLabels", {})
    own = pod["metadata"].get("labels", {})
    return all(own.get(name) == value for name, value in wanted.items())


def _counted(shelves: Shelves, budget: Object) -> tuple[int, int]:
    """How many are well, and how many must be."""
    found = [
        pod
        for pod in shelves.all(POD, budget["metadata"]["namespace"])
        if _selects(budget, pod) and not is_over(pod)
    ]
    healthy = sum(
        pod.get("status", {}).get("phase") == "Running"
        and "deletionTimestamp" not in pod["metadata"]
        for pod in found
    )
    spec = budget["spec"]
    if "minAvailable" in spec:
        return healthy, _share(spec["minAvailable"], len(found))
    return healthy, len(found) - _share(spec.get("maxUnavailable", 0), len(found))


def _share(value: Any, whole: int) -> int:
    """A number, or a percentage: that is rounded up."""
    text = str(value)
    return -(-int(text[:-1]) * whole // 100) if text.endswith("%") else int(text)
