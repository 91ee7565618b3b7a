"""Taking paddock out of a cluster again: all that it put there, and no work that somebody may want.

A volume that is still there belongs to a run that has not succeeded: what is in it may be nowhere
else. So volumes stay unless somebody says otherwise, and their namespace with them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from paddock.cluster.agent_run import crd
from paddock.cluster.client import (
    AGENT_RUN,
    CLAIM,
    CONFIG,
    DEPLOYMENT,
    EVERYWHERE,
    JOB,
    NAMESPACE,
    POD,
    SECRET,
    Api,
    Kind,
    Object,
    Refused,
)
from paddock.cluster.discovery import Discovery
from paddock.cluster.labels import AGENT, MANAGED

from .applying import Deed, Did, place, why
from .kinds import CRD
from .objects import NAME, controller_labels
from .problems import where
from .rendering import all_of, render
from .revisions import RECORD
from .values import Values

OURS: Final = {NAME: "paddock", MANAGED: "paddock"}
PATIENCE_S: Final = 30.0
SERVICE: Final = Kind("", "v1", "Service", "services")
# Where others' work may be: these make the pods, which count as theirs.
MAKERS: Final = (
    *(DEPLOYMENT, JOB),
    Kind("apps", "v1", "StatefulSet", "statefulsets"),
    Kind("apps", "v1", "DaemonSet", "daemonsets"),
    Kind("batch", "v1", "CronJob", "cronjobs"),
)
# Of what somebody else was quicker with.
GOING: Final = "it was going already, and goes when nothing holds it any more"
GONE: Final = "it had gone by itself"
# What every namespace has by itself.
BORN: Final = {"kube-root-ca.crt"}


class AgentsRun(Exception):
    """There are agents at work; removing would end them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Going:
    namespace: str
    argo_namespace: str = "argo"
    volumes: bool = False  # also the volumes of runs
    force: bool = False  # also while agents run
    dry_run: bool = False


async def stale(
    api: Api, discovery: Discovery, values: Values, wanted: Sequence[Object], *, dry_run: bool
) -> AsyncIterator[Deed]:
    """What carries our labels and is rendered no more goes."""
    known = {_key(one) for one in wanted}
    async for kind, one in _ours(api, discovery, (values.namespace, values.argo_namespace)):
        if _key(one) in known or one["metadata"]["name"] == RECORD or kind == NAMESPACE:
            continue
        yield await _delete(api, kind, one, dry_run=dry_run)


class Remover:
    def __init__(self, api: Api, going: Going) -> None:
        self._api, self._going = api, going
        self._discovery = Discovery(api, patience_s=PATIENCE_S)
        self._kept: list[str] = []  # why the namespace stays

    async def run(self) -> AsyncIterator[Deed]:
        """Told as it happens; a second time it goes on with what is left."""
        await self._nobody_works()
        others = await self._others()
        async for deed in self._controllers():
            yield deed
        async for deed in self._runs():
            yield deed
        async for deed in self._rest():
            yield deed
        async for deed in self._shared(others):
            yield deed
        async for deed in self._namespace():
            yield deed

    async def _nobody_works(self) -> None:
        pods = await self._all(POD, {AGENT: "true"})
        at_work = [one for one in pods if not _is_over(one)]
        if at_work and not self._going.force:
            told = f"{len(at_work)} agents are at work in {self._going.namespace}"
            raise AgentsRun(f"{told}: wait for them, or say --force, which ends them")

    async def _others(self) -> list[str]:
        """Other namespaces that paddock lives in: what belongs to all of them stays."""
        found, _ = await self._api.list(NAMESPACE, labels=OURS, patience_s=PATIENCE_S)
        names = [one["metadata"]["name"] for one in found]
        return [name for name in names if name != self._going.namespace]

    async def _controllers(self) -> AsyncIterator[Deed]:
        """First, and until they are gone: they would make new Jobs of what is taken away."""
        deployments = await self._all(DEPLOYMENT, OURS)
        for one in deployments:
            yield await self._drop(DEPLOYMENT, one)
        if not deployments or self._going.dry_run:
            return
        give_up_at = asyncio.get_running_loop().time() + 2 * PATIENCE_S
        while await self._all(POD, controller_labels()):
            if asyncio.get_running_loop().time() > give_up_at:
                yield Deed("controllers", Did.KEPT, "are still ending; what they made goes anyway")
                return
            await asyncio.sleep(0.2)

    async def _runs(self) -> AsyncIterator[Deed]:
        """Volumes are let go of before their runs are deleted, or they would go with them."""
        for one in await self._all(CLAIM, {MANAGED: "paddock"}):
            if self._going.volumes or _is_going(one):
                yield await self._drop(CLAIM, one)
            elif await self._let_go_of(one):
                self._kept.append("volumes")
                yield Deed(where(one), Did.KEPT, "may hold work that is nowhere else: --volumes")
            else:
                yield Deed(where(one), Did.REMOVED, GONE)
        if await self._discovery.kind(AGENT_RUN.api_version, AGENT_RUN.kind) is not None:
            for one in await self._all(AGENT_RUN, None):
                yield await self._drop(AGENT_RUN, one)
        for one in await self._all(JOB, {MANAGED: "paddock"}):
            yield await self._drop(JOB, one)

    async def _let_go_of(self, claim: Object) -> bool:
        """Whether it is there to be kept: its run may just have succeeded."""
        if not claim["metadata"].get("ownerReferences") or self._going.dry_run:
            return True
        patch = {"metadata": {"ownerReferences": None}}
        try:
            name = claim["metadata"]["name"]
            await self._api.patch(CLAIM, name, patch, patience_s=PATIENCE_S)
        except Refused as refused:
            if refused.code != 404:
                raise
            return False
        return True

    async def _rest(self) -> AsyncIterator[Deed]:
        spaces = (self._space, self._going.argo_namespace)
        found = [pair async for pair in _ours(self._api, self._discovery, spaces)]
        for kind, one in sorted(found, key=lambda pair: -place(pair[1])):
            if kind.namespaced:
                yield await self._drop(kind, one)

    async def _shared(self, others: Sequence[str]) -> AsyncIterator[Deed]:
        found = [pair async for pair in _ours(self._api, self._discovery, ())]
        classes = [(kind, one) for kind, one in found if kind != NAMESPACE]
        custom = await self._custom()
        for kind, one in [*classes, *custom]:
            if others:
                yield Deed(where(one), Did.KEPT, f"paddock lives in {', '.join(others)}, too")
            elif kind == CRD and (left := await self._agent_runs_left()):
                yield Deed(where(one), Did.KEPT, f"there are AgentRuns in {', '.join(left)}")
            else:
                yield await self._drop(kind, one)

    async def _custom(self) -> list[tuple[Kind, Object]]:
        found = await self._api.find(CRD, crd()["metadata"]["name"], patience_s=PATIENCE_S)
        return [] if found is None else [(CRD, {"kind": CRD.kind, **found})]

    async def _agent_runs_left(self) -> list[str]:
        found, _ = await self._api.list(AGENT_RUN, namespace=EVERYWHERE, patience_s=PATIENCE_S)
        spaces = {one["metadata"]["namespace"] for one in found} - {self._space}
        return sorted(spaces)

    async def _namespace(self) -> AsyncIterator[Deed]:
        found = await self._api.find(NAMESPACE, self._space, patience_s=PATIENCE_S)
        if found is None:
            return
        labels = found["metadata"].get("labels") or {}
        foreign = await self._foreign()
        if not OURS.items() <= labels.items():
            yield Deed(where(found), Did.KEPT, "paddock did not make it")
        elif self._kept:
            yield Deed(where(found), Did.KEPT, "volumes are in it")
        elif foreign:
            yield Deed(where(found), Did.KEPT, f"{foreign[0]} is in it, which is not paddock's")
        else:
            yield await self._drop(NAMESPACE, found)

    async def _foreign(self) -> list[str]:
        """What would go with the namespace and is somebody else's."""
        return [
            where({"kind": kind.kind, **one})
            for kind in (*MAKERS, CLAIM, SERVICE, SECRET, CONFIG, POD)
            for one in await self._all(kind, None)
            if one["metadata"]["name"] not in BORN
            and (one["metadata"].get("labels") or {}).get(MANAGED) != "paddock"
            and not one["metadata"].get("ownerReferences")
            and AGENT not in (one["metadata"].get("labels") or {})
            and not _is_going(one)
        ]

    @property
    def _space(self) -> str:
        return self._going.namespace

    async def _all(self, kind: Kind, labels: dict[str, str] | None) -> list[Object]:
        found, _ = await self._api.list(
            kind, labels=labels, namespace=self._space, patience_s=PATIENCE_S
        )
        return [{"kind": kind.kind, **one} for one in found]

    async def _drop(self, kind: Kind, one: Object) -> Deed:
        return await _delete(self._api, kind, one, dry_run=self._going.dry_run)


async def _delete(api: Api, kind: Kind, one: Object, *, dry_run: bool) -> Deed:
    meta = one["metadata"]
    at = where({"kind": kind.kind, **one})
    if _is_going(one):
        return Deed(at, Did.REMOVED, GOING)
    if dry_run:
        return Deed(at, Did.REMOVED)
    try:
        space = meta.get("namespace")
        was_there = await api.delete(kind, meta["name"], namespace=space, patience_s=PATIENCE_S)
    except Refused as refused:
        return Deed(at, Did.REFUSED, why(refused))
    return Deed(at, Did.REMOVED, "" if was_there else GONE)


async def _ours(
    api: Api, discovery: Discovery, spaces: Iterable[str]
) -> AsyncIterator[tuple[Kind, Object]]:
    """By our labels, of every kind that is ever rendered and the cluster knows."""
    every = all_of(render(Values(argo=True)))
    for api_version, name in dict.fromkeys((one["apiVersion"], one["kind"]) for one in every):
        kind = await discovery.kind(api_version, name)
        if kind is None or name == CRD.kind:
            continue
        for space in spaces if kind.namespaced else (None,):
            found, _ = await api.list(kind, labels=OURS, namespace=space, patience_s=PATIENCE_S)
            for one in found:
                yield kind, {"apiVersion": api_version, "kind": name, **one}


def _key(one: Object) -> tuple[str, str | None, str]:
    meta = one["metadata"]
    return one["kind"], meta.get("namespace"), meta["name"]


def _is_going(one: Object) -> bool:
    """Somebody deleted it, and something still holds it: asking again changes nothing."""
    return "deletionTimestamp" in one["metadata"]


def _is_over(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
