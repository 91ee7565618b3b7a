"""From the configuration of clusters to what a client and the driver are told."""

from __future__ import annotations

from pathlib import Path

from paddock.cluster.client import Where
from paddock.config import cluster_settings as c
from paddock.config.settings import Settings
from paddock.core.run import Priority
from paddock.drivers.kubernetes.settings import KubernetesSettings


def where_of(settings: Settings) -> Where:
    kubeconfig = settings[c.KUBECONFIG]
    return Where(
        namespace=settings[c.NAMESPACE],
        kubeconfig=None if kubeconfig is None else Path(kubeconfig),
        context=settings[c.CONTEXT],
    )


def kubernetes_settings(settings: Settings) -> KubernetesSettings:
    classes = {
        Priority.CRITICAL: settings[c.HIGH_CLASS],
        Priority.HIGH: settings[c.HIGH_CLASS],
        Priority.NORMAL: settings[c.STANDARD_CLASS],
        Priority.LOW: settings[c.LOW_CLASS],
    }
    secret = settings[c.SECRET]
    return KubernetesSettings(
        image=settings[c.IMAGE] or "",
        tiers=settings[c.TIERS],
        storage_class=settings[c.STORAGE_CLASS],
        access_mode=settings[c.ACCESS_MODE],
        volumes=settings[c.VOLUMES],
        priority_classes={key: name for key, name in classes.items() if name},
        secrets=(secret,) if secret else (),
        user=settings[c.USER],
        deadline_s=int(settings[c.DEADLINE]),
        ttl_s=int(settings[c.TTL]),
        start_s=settings[c.START],
    )
