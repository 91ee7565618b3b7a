"""What the API server keeps: objects with versions, a history that is compacted, and watchers."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import itertools
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

Object = dict[str, Any]
Key = tuple[str, str]  # namespace, name
Change = tuple[int, str, "Kind", Object]  # version, ADDED | MODIFIED | DELETED, kind, object
Past = tuple[Change, Object | None]  # and what was there before


class Refusal(Exception):
    """What the server answers instead: an HTTP code and a Status."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        retry_after: int | None = None,
        causes: tuple[Object, ...] = (),
    ) -> None:
        super().__init__(message)
        self.code, self.reason, self.retry_after = code, reason, retry_after
        self.causes = causes

    def status(self) -> Object:
        details: Object = {"retryAfterSeconds": self.retry_after} if self.retry_after else {}
        if self.causes:
            details["causes"] = list(self.causes)
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": str(self),
            "reason": self.reason,
            "details": details,
            "code": self.code,
        }


@dataclass(frozen=True, slots=True)
class Kind:
    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    has_status: bool = False  # as a subresource: only then is it written apart
    needs_version: bool = False  # nobody replaces it without saying what he has seen

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def family(self) -> tuple[str, str]:
        return self.group, self.plural

    @property
    def full_name(self) -> str:
        """As messages call it."""
        return f"{self.plural}.{self.group}".rstrip(".")


POD = Kind("", "v1", "pods", "Pod", has_status=True)
NODE = Kind("", "v1", "nodes", "Node", namespaced=False, has_status=True)
VOLUME = Kind("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", has_status=True)
QUOTA = Kind("", "v1", "resourcequotas", "ResourceQuota", has_status=True)
LIMITS = Kind("", "v1", "limitranges", "LimitRange")
NAMESPACE = Kind("", "v1", "namespaces", "Namespace", namespaced=False)
JOB = Kind("batch", "v1", "jobs", "Job", has_status=True)
EVENT = Kind("", "v1", "events", "Event")
LEASE = Kind("coordination.k8s.io", "v1", "leases", "Lease", needs_version=True)
BUDGET = Kind("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", has_status=True)
PRIORITY = Kind("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
CRD = Kind(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
    has_status=True,
)
DEPLOYMENT = Kind("apps", "v1", "deployments", "Deployment", has_status=True)
ROLE = Kind("rbac.authorization.k8s.io", "v1", "roles", "Role")
BINDING = Kind("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
CLUSTER_ROLE = Kind(
    "rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False
)
CLUSTER_BINDING = Kind(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)
STORAGE = Kind("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)
SCALER = Kind(
    *("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler"), has_status=True
)
CONFIG = Kind("", "v1", "configmaps", "ConfigMap")
PLAIN = (
    *(DEPLOYMENT, ROLE, BINDING, CLUSTER_ROLE, CLUSTER_BINDING, STORAGE, SCALER, CONFIG),
    Kind("", "v1", "secrets", "Secret"),
    Kind("", "v1", "services", "Service"),
    Kind("", "v1", "serviceaccounts", "ServiceAccount"),
    Kind("apps", "v1", "statefulsets", "StatefulSet"),
    Kind("apps", "v1", "daemonsets", "DaemonSet"),
    Kind("batch", "v1", "cronjobs", "CronJob"),
    Kind("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"),
)
BUILT_IN = (
    POD,
    NODE,
    VOLUME,
    QUOTA,
    LIMITS,
    NAMESPACE,
    JOB,
    EVENT,
    LEASE,
    BUDGET,
    PRIORITY,
    CRD,
    *PLAIN,
)


def now_text() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def merged(target: Any, patch: Any) -> Any:
    """RFC 7386: a JSON merge patch."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    found = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = merged(found.get(name), value)
    return found


@dataclass(eq=False)
class Watcher:
    kind: Kind
    wants: Callable[[Object], bool]
    changes: asyncio.Queue[Change | None] = field(default_factory=asyncio.Queue)

    def told(self, past: Past) -> Change | None:
        """As it looks to one who selects: what begins to fit was added, what ceases to was
        deleted."""
        (version, what, kind, found), before = past
        if kind.family != self.kind.family:
            return None
        fitted = before is not None and self.wants(before)
        if what != "DELETED" and self.wants(found):
            return version, "MODIFIED" if fitted else "ADDED", kind, found
        if not fitted or before is None:
            return None
        meta = {**before["metadata"], "resourceVersion": str(version)}
        return version, "DELETED", kind, {**before, "metadata": meta}


class Shelves:
    """Every object, in one loop's hands. Objects that are here are never changed, only replaced."""

    def __init__(self, *, history: int = 20_000) -> None:
        self._objects: dict[tuple[str, str], dict[Key, Object]] = {}
        self._history: deque[Past] = deque(maxlen=history)
        self._version = itertools.count(1)
        self.newest = 0
        self._compacted = 0  # what happened up to here is not known any more
        self.watchers: set[Watcher] = set()
        self.on_change: list[Callable[[str, Kind, Object], None]] = []
        self._dry = False

    # -- reading --------------------------------------------------------------------------

    def all(self, kind: Kind, namespace: str | None = None) -> Iterator[Object]:
        for (where, _), found in list(self._objects.get(kind.family, {}).items()):
            if namespace is None or where == namespace:
                yield found

    def kinds(self) -> Iterator[Kind]:
        """Of everything that is here."""
        for family, found in list(self._objects.items()):
            one = next(iter(found.values()), None)
            if one is not None:
                yield self._kind_of(family, one)

    @staticmethod
    def _kind_of(family: tuple[str, str], one: Object) -> Kind:
        for kind in BUILT_IN:
            if kind.family == family:
                return kind
        return Kind(family[0], one["apiVersion"].rpartition("/")[2], family[1], one["kind"])

    def find(self, kind: Kind, name: str, namespace: str = "") -> Object | None:
        return self._objects.get(kind.family, {}).get((namespace, name))

    def get(self, kind: Kind, name: str, namespace: str = "") -> Object:
        found = self.find(kind, name, namespace)
        if found is None:
            raise Refusal(404, "NotFound", f'{kind.full_name} "{name}" not found')
        return found

    # -- writing --------------------------------------------------------------------------

    def create(self, kind: Kind, wanted: Object, namespace: str = "") -> Object:
        made = copy.deepcopy(wanted)
        meta = made.setdefault("metadata", {})
        if "name" not in meta:
            meta["name"] = meta.get("generateName", "x-") + uuid.uuid4().hex[:5]
        if self.find(kind, meta["name"], namespace) is not None:
            text = f'{kind.full_name} "{meta["name"]}" already exists'
            raise Refusal(409, "AlreadyExists", text)
        made |= {"apiVersion": kind.api_version, "kind": kind.kind}
        meta |= {"uid": str(uuid.uuid4()), "creationTimestamp": now_text(), "generation": 1}
        if kind.namespaced:
            meta["namespace"] = namespace
        return self._put("ADDED", kind, made)

    def replace(self, kind: Kind, wanted: Object, *, status: bool = False) -> Object:
        """By PUT: whoever names a version must name the newest."""
        meta = wanted["metadata"]
        before = self.get(kind, meta["name"], meta.get("namespace", ""))
        named = meta.get("resourceVersion")
        if named is None and kind.needs_version:
            text = "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
            about = f'{kind.full_name} "{meta["name"]}" is invalid: {text}'
            raise Refusal(422, "Invalid", about)
        self._check_version(kind, before, named)
        return self._keep(kind, before, copy.deepcopy(wanted), status=status)

    def patch(
        self, kind: Kind, key: tuple[str, str], patch: Mapping[str, Any], *, status: bool = False
    ) -> Object:
        namespace, name = key
        before = self.get(kind, name, namespace)
        self._check_version(kind, before, patch.get("metadata", {}).get("resourceVersion"))
        return self._keep(kind, before, merged(before, dict(patch)), status=status)

    def change(self, kind: Kind, before: Object, **parts: Any) -> Object:
        """By the cluster's own hands, which need no version."""
        meta = before["metadata"]
        current = self.find(kind, meta["name"], meta.get("namespace", ""))
        if current is None or current["metadata"]["uid"] != meta["uid"]:
            return before
        return self._put("MODIFIED", kind, merged(current, parts))

    def delete(self, kind: Kind, before: Object, *, grace_s: int | None = None) -> None:
        """Graceful where somebody has to let go first; a grace can only be shortened."""
        meta = before["metadata"]
        current = self.find(kind, meta["name"], meta.get("namespace", ""))
        if current is None:
            return
        meta = current["metadata"]
        if kind is POD and "nodeName" in current.get("spec", {}) and not _is_over(current):
            usual = current["spec"].get("terminationGracePeriodSeconds", 30)
            wanted = usual if grace_s is None else grace_s
            known = meta.get("deletionGracePeriodSeconds", wanted)
            marks = {"deletionTimestamp": now_text()}
            self.change(
                kind,
                current,
                metadata=marks | {"deletionGracePeriodSeconds": min(wanted, known)},
            )
        elif meta.get("finalizers"):
            if "deletionTimestamp" not in meta:
                self.change(kind, current, metadata={"deletionTimestamp": now_text()})
        else:
            self._put("DELETED", kind, copy.deepcopy(current))

    def remove(self, kind: Kind, before: Object) -> None:
        """Whoever had to let go of it has: a finalizer still holds it."""
        meta = before["metadata"]
        current = self.find(kind, meta["name"], meta.get("namespace", ""))
        if current is None:
            return
        if current["metadata"].get("finalizers"):
            self.change(kind, current, metadata={"deletionTimestamp": now_text()})
        else:
            self._put("DELETED", kind, copy.deepcopy(current))

    def _keep(self, kind: Kind, before: Object, after: Object, *, status: bool) -> Object:
        """The status is written only where it has an address of its own, and only there."""
        if kind.has_status:
            if status:
                after = {**before, "status": after.get("status", {})}
            elif "status" in before:
                after["status"] = before["status"]
            else:
                after.pop("status", None)
        after["apiVersion"] = kind.api_version  # it is stored as the version that counts now
        old, meta = before["metadata"], dict(after["metadata"])
        fixed = ("uid", "creationTimestamp", "deletionTimestamp", "namespace", "generation")
        meta |= {name: old[name] for name in fixed if name in old}
        if not status and before.get("spec") != after.get("spec"):
            meta["generation"] = old.get("generation", 1) + 1
        if {**after, "metadata": {}} == {**before, "metadata": {}} and meta == old:
            return before  # nothing changed: no version, no event
        kept = self._put("MODIFIED", kind, {**after, "metadata": meta})
        if "deletionTimestamp" in meta and not meta.get("finalizers") and kind is not POD:
            self._put("DELETED", kind, copy.deepcopy(kept))
        return kept

    def _check_version(self, kind: Kind, before: Object, named: str | None) -> None:
        meta = before["metadata"]
        if named is not None and named != meta["resourceVersion"]:
            text = (
                f'Operation cannot be fulfilled on {kind.full_name} "{meta["name"]}": the object '
                "has been modified; please apply your changes to the latest version and try again"
            )
            raise Refusal(409, "Conflict", text)

    @contextlib.contextmanager
    def rehearsing(self, *, dry: bool) -> Iterator[None]:
        """Everything as usual, and nothing of it stays."""
        self._dry = dry
        try:
            yield
        finally:
            self._dry = False

    def _put(self, what: str, kind: Kind, found: Object) -> Object:
        if self._dry:
            return found
        version = self.newest = next(self._version)
        found["metadata"] = {**found["metadata"], "resourceVersion": str(version)}
        meta = found["metadata"]
        shelf = self._objects.setdefault(kind.family, {})
        key = (meta.get("namespace", ""), meta["name"])
        before = shelf.get(key)
        if what == "DELETED":
            shelf.pop(key, None)
        else:
            shelf[key] = found
        if len(self._history) == self._history.maxlen:
            self._compacted = self._history[0][0][0]
        past = (version, what, kind, found), before
        self._history.append(past)
        for watcher in self.watchers:
            told = watcher.told(past)
            if told is not None:
                watcher.changes.put_nowait(told)
        for tell in self.on_change:
            tell(what, kind, found)
        return found

    # -- watching -------------------------------------------------------------------------

    def since(self, version: int, watcher: Watcher) -> list[Change]:
        """What a watcher missed. 410 Gone: too much of it is forgotten."""
        if not self.remembers(version):
            text = f"too old resource version: {version} ({self._compacted})"
            raise Refusal(410, "Expired", text)
        told = [watcher.told(past) for past in self._history if past[0][0] > version]
        return [change for change in told if change is not None]

    def remembers(self, version: int) -> bool:
        return version >= self._compacted

    def compact(self) -> None:
        """As etcd does every five minutes: a watch from before begins anew."""
        self._compacted = self.newest
        self._history.clear()

    def drop_watches(self) -> None:
        for watcher in list(self.watchers):
            watcher.changes.put_nowait(None)


def _is_over(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
