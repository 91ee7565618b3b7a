"""Custom kinds, by their definitions: what is served, as what it is stored, and as what it was."""

from __future__ import annotations

import asyncio

from tests.kit.cluster.objects import BUILT_IN, CRD, Kind, Object, Shelves


class Definitions:
    def __init__(self, shelves: Shelves) -> None:
        self._shelves = shelves
        self.kinds: dict[tuple[str, str], Kind] = {kind.family: kind for kind in BUILT_IN}
        self.versions: dict[tuple[str, str, str], Object] = {}  # served, of custom ones: schema
        shelves.on_change.append(self._heard)

    def _heard(self, what: str, kind: Kind, found: Object) -> None:
        if kind.family != CRD.family:
            return
        spec = found["spec"]
        family = (spec["group"], spec["names"]["plural"])
        for key in [key for key in self.versions if key[0] == family[0] and key[2] == family[1]]:
            del self.versions[key]
        if what == "DELETED":
            custom = self.kinds.pop(family, None)
            if custom is not None:
                asyncio.get_running_loop().call_soon(self._empty, custom)
            return
        for version in spec["versions"]:
            if version["served"]:
                schema = version["schema"]["openAPIV3Schema"]
                self.versions[family[0], version["name"], family[1]] = schema
        storage = next(one for one in spec["versions"] if one["storage"])
        self.kinds[family] = Kind(
            *(spec["group"], storage["name"], spec["names"]["plural"], spec["names"]["kind"]),
            namespaced=spec["scope"] == "Namespaced",
            has_status="status" in storage.get("subresources", {}),
            needs_version=True,
        )
        asyncio.get_running_loop().call_soon(self._establish, found)

    def _empty(self, custom: Kind) -> None:
        """Objects go with their kind."""
        for one in list(self._shelves.all(custom)):
            self._shelves.delete(custom, one)

    def _establish(self, found: Object) -> None:
        """It says that it is served, and as what objects may have been stored until now."""
        current = self._shelves.find(CRD, found["metadata"]["name"])
        if current is None:
            return
        storage = next(one["name"] for one in current["spec"]["versions"] if one["storage"])
        status = current.get("status", {})
        versions = list(dict.fromkeys([*status.get("storedVersions", []), storage]))
        told = [{"type": name, "status": "True"} for name in ("NamesAccepted", "Established")]
        if (status.get("conditions"), status.get("storedVersions")) != (told, versions):
            new = {"conditions": told, "storedVersions": versions}
            self._shelves.change(CRD, current, status=new)
