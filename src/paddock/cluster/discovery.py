"""Which kinds a cluster knows: asked once for each group, as `kubectl api-resources` would."""

from __future__ import annotations

import re
from typing import Final

from paddock.cluster.client import Api, Kind, Object, Refused

_NUMBER: Final = re.compile(r"[0-9]+")


class Discovery:
    def __init__(self, api: Api, *, patience_s: float) -> None:
        self._api, self._patience_s = api, patience_s
        self._served: dict[str, dict[str, Kind]] = {}  # by apiVersion, then by kind

    async def kind(self, api_version: str, kind: str) -> Kind | None:
        """None: the cluster knows no such thing."""
        return (await self._kinds(api_version)).get(kind)

    async def serves(self, api_version: str) -> bool:
        return bool(await self._kinds(api_version))

    def forget(self, api_version: str) -> None:
        """It may have more by now."""
        self._served.pop(api_version, None)

    async def version(self) -> tuple[int, int]:
        """Major and minor; what clouds put behind them (`36+`) says nothing here."""
        told = await self._api.read("/version", patience_s=self._patience_s)
        return _number(told.get("major")), _number(told.get("minor"))

    async def _kinds(self, api_version: str) -> dict[str, Kind]:
        if api_version not in self._served:
            self._served[api_version] = await self._ask(api_version)
        return self._served[api_version]

    async def _ask(self, api_version: str) -> dict[str, Kind]:
        group, _, version = api_version.rpartition("/")
        path = f"/apis/{api_version}" if group else f"/api/{version}"
        try:
            told = await self._api.read(path, patience_s=self._patience_s)
        except Refused as refused:
            if refused.code != 404:
                raise
            return {}
        return {
            one["kind"]: Kind(group, version, one["kind"], one["name"], bool(one["namespaced"]))
            for one in told.get("resources", [])
            if _is_whole(one)
        }


def _is_whole(resource: Object) -> bool:
    """No part of another, as `pods/log` is."""
    return "/" not in str(resource.get("name", "/"))


def _number(text: object) -> int:
    found = _NUMBER.match(str(text))
    return int(found[0]) if found else 0
