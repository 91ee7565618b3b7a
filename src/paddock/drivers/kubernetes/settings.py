"""What the driver is told about a cluster, by configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from paddock.cluster.tiers import Tier
from paddock.core.run import Priority

NO_CLASSES: Mapping[Priority, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesSettings:
    image: str = ""
    tiers: tuple[Tier, ...] = ()
    storage_class: str | None = None  # None: the cluster's own default
    access_mode: str = "ReadWriteOnce"
    volumes: bool = (
        True  # False: a workspace goes with its pod, and there is nothing to resume from
    )
    priority_classes: Mapping[Priority, str] = field(default_factory=lambda: NO_CLASSES)
    secrets: tuple[str, ...] = ()  # whose keys become variables of agents
    user: int = 1000
    deadline_s: int = 86_400  # should paddock never come back
    ttl_s: int = 7 * 86_400  # what is kept of an end until paddock has heard of it
    shown_s: int = 3_600  # and then, where Jobs are kept: for people to look at
    shown_of_success_s: int = 60  # a pod that is over still holds its volume
    term_grace_s: int = 120  # longer than paddock waits between asking and killing
    start_s: float = 900.0  # a pod that nobody could start by then is given up
    gauge_s: float = 15.0  # as often as a metrics server knows something new
    check_quota: bool = True  # False: whoever asks has counted already
    keep_jobs: bool = False  # True: what is over goes after the times above, not at once
