"""What a test makes of the whole cluster's, beside its own namespace, and how it goes again.

A stand-in goes with its test. A real cluster stays, and the next test wants the same names.
"""

from __future__ import annotations

import contextlib

from tests.kit.cluster.choice import AnyCluster
from tests.kit.cluster.objects import (
    CLUSTER_BINDING,
    CLUSTER_ROLE,
    CRD,
    NAMESPACE,
    PRIORITY,
    STORAGE,
    Kind,
    Refusal,
)
from tests.kit.cluster.real import RealCluster
from tests.kit.waiting import until

KINDS = (CRD, NAMESPACE, PRIORITY, STORAGE, CLUSTER_ROLE, CLUSTER_BINDING)


class Sweep:
    def __init__(self, cluster: AnyCluster) -> None:
        self._cluster = cluster
        self._before = {kind.family: self._names(kind) for kind in KINDS}

    def _names(self, kind: Kind) -> set[str]:
        return {one["metadata"]["name"] for one in self._cluster.all_in(kind, "")}

    def before(self, kind: Kind) -> set[str]:
        """The names of what was there when the test began."""
        return self._before.get(kind.family, set())

    def host(self, *namespaces: str) -> None:
        if isinstance(self._cluster, RealCluster):
            self._cluster.host(*namespaces)

    def clean(self) -> None:
        if not isinstance(self._cluster, RealCluster):
            return
        self._cluster.come_up()
        self._cluster.no_hook()
        for kind in KINDS:
            for name in self._names(kind) - self.before(kind):
                with contextlib.suppress(Refusal):
                    self._cluster.delete_in(kind, name, "")
        for kind in KINDS:
            until(
                lambda kind=kind: self._names(kind) <= self.before(kind),  # type: ignore[misc]
                self._cluster.patience_s,
            )
