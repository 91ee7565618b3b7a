"""A custom kind that is there already, perhaps as an older version: brought to today's.

A version that objects were ever stored as cannot be taken from a CRD: the API server refuses it.
So the old one stays, served as before, until every object was written anew; then it may go.
"""

from __future__ import annotations

import asyncio
import copy
from typing import Any, Final

from paddock.cluster.client import EVERYWHERE, Api, ClusterTrouble, Kind, Object, Refused

CRD: Final = Kind(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)
LOOK_S: Final = 0.2


def stored(crd: Object) -> list[str]:
    """As which versions objects may still lie in the store."""
    return list((crd.get("status") or {}).get("storedVersions") or [])


def prepare(before: Object | None, wanted: Object) -> Object:
    """With the versions that objects are still stored as, beside those that are wanted."""
    if before is None:
        return wanted
    ours = {one["name"] for one in wanted["spec"]["versions"]}
    older = [
        {**one, "storage": False}
        for one in before["spec"]["versions"]
        if one["name"] in stored(before) and one["name"] not in ours
    ]
    if not older:
        return wanted
    found = copy.deepcopy(wanted)
    found["spec"]["versions"] += older
    return found


async def settle(api: Api, applied: Object, *, force: bool, patience_s: float) -> Object:
    """Established; and where older versions were stored, every object written anew."""
    name = applied["metadata"]["name"]
    found = await _established(api, name, patience_s)
    storage = next(one["name"] for one in applied["spec"]["versions"] if one["storage"])
    if set(stored(found)) <= {storage}:
        return found
    await _rewrite(api, applied, storage, patience_s)
    await api.patch(
        CRD, name, {"status": {"storedVersions": [storage]}}, status=True, patience_s=patience_s
    )
    wanted = copy.deepcopy(applied)
    wanted["spec"]["versions"] = [
        one for one in wanted["spec"]["versions"] if one["name"] == storage
    ]
    return await api.apply(CRD, wanted, force=force, patience_s=patience_s)


async def _established(api: Api, name: str, patience_s: float) -> Object:
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + patience_s
    while True:
        found = await api.get(CRD, name, patience_s=patience_s)
        said = {one["type"]: one for one in (found.get("status") or {}).get("conditions") or []}
        if said.get("Established", {}).get("status") == "True":
            return found
        refused = said.get("NamesAccepted", {})
        if refused.get("status") == "False":
            message = " ".join(str(refused.get("message", "")).split())
            raise Refused(409, "Conflict", f"its names are taken: {message}")
        if loop.time() > give_up_at:
            raise ClusterTrouble(f"{name} was not Established within {patience_s:g} s")
        await asyncio.sleep(LOOK_S)


async def _rewrite(api: Api, crd: Object, storage: str, patience_s: float) -> None:
    """To write an object as it is stores it as the version that counts now."""
    spec: dict[str, Any] = crd["spec"]
    names = spec["names"]
    kind = Kind(
        spec["group"], storage, names["kind"], names["plural"], spec["scope"] == "Namespaced"
    )
    space = EVERYWHERE if kind.namespaced else None
    found, _ = await api.list(kind, namespace=space, patience_s=patience_s)
    for one in found:
        try:
            await api.replace(kind, one, patience_s=patience_s)
        except Refused as refused:
            if refused.code not in (404, 409):  # gone, or written by somebody else meanwhile
                raise
