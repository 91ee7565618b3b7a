"""The settings of clusters: where agents of the driver `kubernetes` live, and in what."""

from __future__ import annotations

from typing import Any, Final

from .kinds import Choice, Duration, Flag, OrWord, Whole, Word
from .setting import Setting
from .tier_list import Tiers

_DAY_S: Final = 86_400
_NAME: Final = r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?"
_AT_START: Final = " Counts from the daemon's next start."


def _named(what: str) -> OrWord[str]:
    return OrWord("none", Word(_NAME, f"the name of {what}"))


KUBECONFIG: Final = Setting(
    "kubernetes.kubeconfig",
    OrWord("auto", Word(r"/[^\0]{1,4095}", "an absolute path")),
    "auto",
    "Which kubeconfig; auto is kubectl's, or the cluster that paddock runs in." + _AT_START,
)
CONTEXT: Final = Setting(
    "kubernetes.context",
    OrWord("current", Word(r"[^\s]{1,253}", "the name of a context")),
    "current",
    "Which context of it." + _AT_START,
)
NAMESPACE: Final = Setting(
    "kubernetes.namespace",
    OrWord("current", Word(_NAME, "the name of a namespace")),
    "current",
    "Where agents live; current is the context's." + _AT_START,
)
IMAGE: Final = Setting(
    "kubernetes.image",
    OrWord("none", Word(r"[a-zA-Z0-9][a-zA-Z0-9._/:@-]{0,254}", "the name of an image")),
    "none",
    "The image that agents run in; it must have their programs and a shell." + _AT_START,
)
TIERS: Final = Setting(
    "kubernetes.tiers",
    Tiers(),
    "[]",
    "Sizes by role or model, before those that are built in; a share of 25 is for every fourth run."
    + _AT_START,
)
VOLUMES: Final = Setting(
    "kubernetes.volumes",
    Flag(),
    "true",
    "A volume for each run, where its work and checkpoints outlive a pod." + _AT_START,
)
STORAGE_CLASS: Final = Setting(
    "kubernetes.storage_class",
    OrWord("default", Word(_NAME, "the name of a storage class")),
    "fast-ssd",
    "Of those volumes; default is the cluster's own." + _AT_START,
)
ACCESS_MODE: Final = Setting(
    "kubernetes.access_mode",
    Choice(("ReadWriteOnce", "ReadWriteOncePod", "ReadWriteMany")),
    "ReadWriteOnce",
    "Of those volumes." + _AT_START,
)
HIGH_CLASS: Final = Setting(
    "kubernetes.high_priority_class",
    _named("a PriorityClass"),
    "none",
    "Of critical and high runs; it must be in the cluster." + _AT_START,
)
STANDARD_CLASS: Final = Setting(
    "kubernetes.normal_priority_class",
    _named("a PriorityClass"),
    "none",
    "Of normal runs; it must be in the cluster." + _AT_START,
)
LOW_CLASS: Final = Setting(
    "kubernetes.low_priority_class",
    _named("a PriorityClass"),
    "none",
    "Of low runs; it must be in the cluster." + _AT_START,
)
SECRET: Final = Setting(
    "kubernetes.secret",
    _named("a Secret"),
    "none",
    "Its keys become variables of every agent: for what must not stand in a Job." + _AT_START,
)
USER: Final = Setting(
    "kubernetes.user",
    Whole(1, 2**31 - 1),
    "1000",
    "The number of the user that agents are; never root." + _AT_START,
)
DEADLINE: Final = Setting(
    "kubernetes.deadline",
    Duration(60, 30 * _DAY_S),
    "24h",
    "The cluster ends an attempt by then, should paddock never come back." + _AT_START,
)
TTL: Final = Setting(
    "kubernetes.keep_finished",
    Duration(60, 30 * _DAY_S),
    "7d",
    "So long the cluster keeps how an attempt ended, for a paddock that is away to come back to."
    + _AT_START,
)
START: Final = Setting(
    "kubernetes.start_timeout",
    Duration(30, _DAY_S),
    "15m",
    "An attempt that no node could start by then is given up, with the reason." + _AT_START,
)

OF_CLUSTERS: Final[tuple[Setting[Any], ...]] = tuple(
    value for value in list(globals().values()) if isinstance(value, Setting)
)
