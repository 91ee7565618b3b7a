"""Which cluster the tests are run against: the stand-in, or a real one that they are given.

PADDOCK_TEST_KUBECONFIG names its kubeconfig. PADDOCK_TEST_NODES=ours says that the tests bring the
nodes: then everything runs against it. A cluster with nodes of its own, which no test may lose or
press, is for the contract of the driver alone.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.kit.cluster.real import RealCluster
from tests.kit.cluster.standin import NAMESPACE_NAME, Cluster

KUBECONFIG = os.environ.get("PADDOCK_TEST_KUBECONFIG")
OWN_NODES = os.environ.get("PADDOCK_TEST_NODES") == "ours"

AnyCluster = Cluster | RealCluster


def a_cluster(
    *,
    second_s: float = 0.05,
    processes: Path | None = None,
    namespace: str = NAMESPACE_NAME,
) -> AnyCluster:
    """A real one has seconds of its own, and a namespace for the test alone."""
    if KUBECONFIG is not None and OWN_NODES:
        return RealCluster(Path(KUBECONFIG), processes=processes)
    return Cluster(second_s=second_s, processes=processes, namespace=namespace)
