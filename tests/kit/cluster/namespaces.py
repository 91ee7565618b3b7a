"""The stand-in's namespaces: one that is deleted takes nothing in, and goes when it is empty."""

from __future__ import annotations

import asyncio

from tests.kit.cluster.objects import NAMESPACE, Kind, Object, Refusal, Shelves

HELD = "kubernetes"  # as a finalizer


def hold(wanted: Object) -> None:
    wanted["metadata"]["finalizers"] = [HELD]


def check_open(shelves: Shelves, kind: Kind, name: str, namespace: str) -> None:
    found = shelves.get(NAMESPACE, namespace)
    if "deletionTimestamp" in found["metadata"]:
        why = f"unable to create new content in namespace {namespace} because it is being"
        about = f'{kind.full_name} "{name}" is forbidden: {why} terminated'
        raise Refusal(403, "Forbidden", about)


class NamespaceController:
    def __init__(self, shelves: Shelves) -> None:
        self._shelves = shelves
        self._emptying: set[str] = set()
        shelves.on_change.append(self._heard)

    def _heard(self, what: str, kind: Kind, found: Object) -> None:
        meta, loop = found["metadata"], asyncio.get_running_loop()
        if kind.family == NAMESPACE.family:
            if "deletionTimestamp" in meta and meta["name"] not in self._emptying:
                self._emptying.add(meta["name"])
                loop.call_soon(self._empty, meta["name"])
            if what == "DELETED":
                self._emptying.discard(meta["name"])
        elif what == "DELETED" and meta.get("namespace") in self._emptying:
            loop.call_soon(self._finish, meta["namespace"])

    def _inside(self, namespace: str) -> list[tuple[Kind, Object]]:
        shelves = self._shelves
        return [(kind, one) for kind in shelves.kinds() for one in shelves.all(kind, namespace)]

    def _empty(self, namespace: str) -> None:
        for kind, one in self._inside(namespace):
            self._shelves.delete(kind, one)
        self._finish(namespace)

    def _finish(self, namespace: str) -> None:
        found = self._shelves.find(NAMESPACE, namespace)
        if found is not None and not self._inside(namespace):
            found = self._shelves.change(NAMESPACE, found, metadata={"finalizers": None})
            self._shelves.remove(NAMESPACE, found)
