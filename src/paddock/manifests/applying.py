"""Telling a cluster all of it, in an order that works.

By server-side apply: a second time changes nothing, and what others have set is theirs until
somebody says otherwise.
"""

from __future__ import annotations

import copy
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from paddock.cluster.client import FIELD_MANAGER, NAMESPACE, Api, Kind, Object, Refused
from paddock.cluster.discovery import Discovery

from .differences import differences
from .kinds import prepare, settle
from .problems import space_of, where

# What others need comes first: a namespace before what is in it, an account before its pods.
ORDER: Final = (
    *("Namespace", "CustomResourceDefinition", "PriorityClass", "ServiceAccount", "Role"),
    *("RoleBinding", "LimitRange", "ResourceQuota", "NetworkPolicy", "ConfigMap"),
    *("PodDisruptionBudget", "Deployment"),
)
FIRST: Final = ORDER[:2]  # without these nothing else has a place
# Who brings the kinds that a cluster may lack, and how to do without.
BROUGHT_BY: Final = {
    "autoscaling.k8s.io": "the vertical pod autoscaler; --no-vpa leaves this out",
    "monitoring.coreos.com": "the Prometheus operator; --no-monitoring leaves this out",
}
_CONFLICT: Final = re.compile(r'with "([^"]+)"')
_PATH: Final = re.compile(r"(?:^|[\s:])(\.[\w.\[\]=\"{}/:-]+)")


class Did(StrEnum):
    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    LEFT_OUT = "left out"
    REFUSED = "refused"
    REMOVED = "removed"
    KEPT = "kept"


@dataclass(frozen=True, slots=True)
class Deed:
    where: str
    did: Did
    what: str = ""  # what changed, or why not


class Applier:
    def __init__(
        self, api: Api, *, dry_run: bool = False, force: bool = False, patience_s: float = 30.0
    ) -> None:
        self._api, self._dry_run, self._force = api, dry_run, force
        self._patience_s = patience_s
        self.discovery = Discovery(api, patience_s=patience_s)
        self._spaces: dict[str, bool] = {}  # which namespaces are there

    async def apply(self, objects: Iterable[Object]) -> AsyncIterator[Deed]:
        """Told as it happens. What one object is refused keeps no other back, but the first."""
        for wanted in sorted(objects, key=place):
            deed = await self._one(wanted)
            yield deed
            if deed.did is Did.REFUSED and wanted["kind"] in FIRST:
                yield Deed("everything else", Did.LEFT_OUT, f"needs {where(wanted)}")
                return

    async def _one(self, wanted: Object) -> Deed:
        at = where(wanted)
        try:
            kind = await self.discovery.kind(wanted["apiVersion"], wanted["kind"])
            if kind is None:
                return Deed(at, Did.LEFT_OUT, _unknown(wanted))
            space = space_of(wanted)
            if space is not None and not await self._is_there(space):
                return self._homeless(at, space)
            return await self._known(kind, wanted)
        except Refused as refused:
            return Deed(at, Did.REFUSED, why(refused))

    async def _known(self, kind: Kind, wanted: Object) -> Deed:
        before = await self._find(kind, wanted)
        if before is not None and (fixed := _fixed(before, wanted)):
            return Deed(where(wanted), Did.REFUSED, fixed)
        if kind.kind == "CustomResourceDefinition":
            wanted = prepare(before, wanted)
        wanted = _unscaled(before, wanted)
        after = await self._api.apply(
            kind, wanted, force=self._force, dry_run=self._dry_run, patience_s=self._patience_s
        )
        if kind.kind == "CustomResourceDefinition" and not self._dry_run:
            after = await settle(self._api, wanted, force=self._force, patience_s=self._patience_s)
            self.discovery.forget(f"{wanted['spec']['group']}/v1")
        if kind.kind == "Namespace":
            self._spaces[wanted["metadata"]["name"]] = before is not None or not self._dry_run
        if before is None:
            return Deed(where(wanted), Did.CREATED)
        changed = list(differences(before, after))
        return Deed(where(wanted), Did.CHANGED if changed else Did.UNCHANGED, shortened(changed))

    async def _find(self, kind: Kind, wanted: Object) -> Object | None:
        name, space = wanted["metadata"]["name"], space_of(wanted)
        return await self._api.find(kind, name, namespace=space, patience_s=self._patience_s)

    async def _is_there(self, space: str) -> bool:
        if space not in self._spaces:
            wanted = {"metadata": {"name": space}}
            self._spaces[space] = await self._find(NAMESPACE, wanted) is not None
        return self._spaces[space]

    def _homeless(self, at: str, space: str) -> Deed:
        """In a dry run a namespace of ours is not there yet, and nobody can be asked about it."""
        if self._dry_run and space in self._spaces:
            return Deed(at, Did.CREATED, "not asked: its namespace is not there yet")
        return Deed(at, Did.LEFT_OUT, f"there is no namespace {space}")


def place(one: Object) -> int:
    """In the order in which things are made."""
    kind = one["kind"]
    return ORDER.index(kind) if kind in ORDER else len(ORDER)


def _unknown(wanted: Object) -> str:
    group = wanted["apiVersion"].rpartition("/")[0]
    told = f"the cluster knows no {wanted['apiVersion']} {wanted['kind']}"
    return f"{told}: it comes with {BROUGHT_BY[group]}" if group in BROUGHT_BY else told


def _fixed(before: Object, wanted: Object) -> str:
    """What nobody can change, also not with force; who set it does not matter then."""
    if wanted["kind"] != "PriorityClass" or before["value"] == wanted["value"]:
        return ""
    name, found = wanted["metadata"]["name"], before["value"]
    mend = f"where nobody needs it, kubectl delete priorityclass {name}, and apply again"
    return f"its value is {found}, not {wanted['value']}, and may not be changed; {mend}"


def _unscaled(before: Object | None, wanted: Object) -> Object:
    """How many replicas there are is an autoscaler's to say, once it has said so: we would be
    refused for another number, and would put its own back with force."""
    if before is None or wanted["kind"] != "Deployment":
        return wanted
    if _owns(before, FIELD_MANAGER, "replicas"):
        return wanted
    found = copy.deepcopy(wanted)
    found["spec"].pop("replicas", None)
    return found


def _owns(one: Object, manager: str, field: str) -> bool:
    """By an apply of ours, of the object itself."""
    return any(
        f"f:{field}" in (entry.get("fieldsV1") or {}).get("f:spec", {})
        for entry in one["metadata"].get("managedFields", [])
        if entry.get("manager") == manager and entry.get("operation") == "Apply"
    )


def why(refused: Refused) -> str:
    """In one line, with what to do about it."""
    said = " ".join(str(refused).split())
    if refused.code == 409 and "conflict with" in said.replace("conflicts", "conflict"):
        who = ", ".join(dict.fromkeys(_CONFLICT.findall(said)))
        what = ", ".join(path.strip() for path in _PATH.findall(said))
        return f"{what or 'something'} was set by {who}: --force takes it over"
    if refused.for_want_of_rights:
        return f"for want of rights: {said}"
    return said or f"HTTP {refused.code}"


def shortened(changed: Sequence[str], most: int = 3) -> str:
    more = len(changed) - most
    return ", ".join(changed[:most]) + (f" and {more} more" if more > 0 else "")


def plain(deed: Deed) -> dict[str, Any]:
    return {"where": deed.where, "did": str(deed.did), "what": deed.what}
