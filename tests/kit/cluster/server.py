"""The stand-in's HTTP side: paths, verbs, watches and logs; and the trouble a test asks for."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.kit.cluster.kubelet import Kubelet
from tests.kit.cluster.objects import (
    BUILT_IN,
    CRD,
    JOB,
    POD,
    QUOTA,
    VOLUME,
    Kind,
    Object,
    Refusal,
    Shelves,
    Watcher,
)
from tests.kit.cluster.rules import check, check_custom, check_names, fill, used

METRICS = "metrics.k8s.io"


class Trouble:
    """What is to go wrong: calls that are answered with an error, or not at all."""

    def __init__(self) -> None:
        self.down = False  # nobody answers
        self.hook: Callable[[str, str], Refusal | None] = lambda _verb, _path: None


class Api:
    def __init__(self, shelves: Shelves, kubelet: Kubelet) -> None:
        self.shelves, self.kubelet = shelves, kubelet
        self.trouble = Trouble()
        self._counting = False
        self._log_epoch = 0
        self.calls: Counter[str] = Counter()  # "verb plural[/sub]" → how often
        self.kinds: dict[tuple[str, str], Kind] = {kind.family: kind for kind in BUILT_IN}
        self.versions: dict[tuple[str, str, str], Object] = {}  # served, of custom ones: schema
        shelves.on_change.append(self._heard)
        routes = [
            Route("/version", self._version),
            Route("/{path:path}", self._serve, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
        ]
        self.app = Starlette(routes=routes)

    def _heard(self, what: str, kind: Kind, found: Object) -> None:
        if kind in (POD, VOLUME, QUOTA) and not self._counting:
            self._counting = True
            asyncio.get_running_loop().call_soon(self._count)
        if kind.family != CRD.family:
            return
        spec = found["spec"]
        family = (spec["group"], spec["names"]["plural"])
        for key in [key for key in self.versions if key[0] == family[0] and key[2] == family[1]]:
            del self.versions[key]
        if what == "DELETED":
            self.kinds.pop(family, None)
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
        )

    def _count(self) -> None:
        """What is used is in the quotas' own status, for who watches them."""
        self._counting = False
        for quota in list(self.shelves.all(QUOTA)):
            shown = self._quota_status(quota)["status"]
            if quota.get("status") != shown:
                self.shelves.change(QUOTA, quota, status=shown)

    async def _version(self, _: Request) -> Response:
        if self.trouble.down:
            return await self._silence()
        return JSONResponse({"major": "1", "minor": "36", "gitVersion": "v1.36.0-stand-in"})

    async def _silence(self) -> Response:
        """As if nobody were there: the connection is closed without an answer."""
        raise ConnectionResetError("the API is down")

    async def _serve(self, request: Request) -> Response:
        if self.trouble.down:
            return await self._silence()
        try:
            return await self._answer(request)
        except Refusal as refusal:
            headers = {"Retry-After": str(refusal.retry_after)} if refusal.retry_after else {}
            return JSONResponse(refusal.status(), refusal.code, headers=headers)

    async def _answer(self, request: Request) -> Response:
        place = _Place.of(request.path_params["path"])
        verb = _verb(request, place)
        self.calls[f"{verb} {place.plural}{'/' + place.sub if place.sub else ''}"] += 1
        trouble = self.trouble.hook(verb, request.path_params["path"])
        if trouble is not None:
            raise trouble
        if place.group == METRICS:
            return JSONResponse(self._metrics(place.namespace))
        kind = self.kinds.get((place.group, place.plural))
        if kind is None or not self._is_served(kind, place):
            raise Refusal(404, "NotFound", "the server could not find the requested resource")
        if place.sub == "log":
            return self._log(place, request)
        if verb == "watch":
            return self._watch(kind, place, request)
        body = await request.json() if request.method in ("POST", "PUT", "PATCH") else None
        return self._do(verb, kind, place, request, body)

    def _is_served(self, kind: Kind, place: _Place) -> bool:
        if kind in BUILT_IN:
            return kind.version == place.version
        return (place.group, place.version, place.plural) in self.versions

    def _do(self, verb: str, kind: Kind, place: _Place, request: Request, body: Any) -> Response:
        shelves, query, status = self.shelves, request.query_params, place.sub == "status"
        match verb:
            case "list":
                return JSONResponse(self._list(kind, place, query))
            case "get":
                found = shelves.get(kind, place.name, place.namespace)
                return JSONResponse(self._shown(kind, place, found))
            case "create":
                return JSONResponse(self._create(kind, place, body), 201)
            case "update":
                wanted = self._checked(kind, place, body)
                kept = shelves.replace(kind, wanted, status=status)
                return JSONResponse(self._shown(kind, place, kept))
            case "patch":
                return JSONResponse(self._patch(kind, place, request, body))
            case _:
                grace = query.get("gracePeriodSeconds")
                found = shelves.get(kind, place.name, place.namespace)
                shelves.delete(kind, found, grace_s=None if grace is None else int(grace))
                return JSONResponse({"kind": "Status", "apiVersion": "v1", "status": "Success"})

    def _create(self, kind: Kind, place: _Place, body: Object) -> Object:
        check_names(kind, body)
        wanted = self._checked(kind, place, body)
        if kind.has_status and kind is not CRD and kind.family != ("", "nodes"):
            wanted.pop("status", None)
        if kind is POD:
            fill(self.shelves, kind, wanted, place.namespace)
        if self.shelves.find(kind, wanted["metadata"]["name"], place.namespace) is None:
            check(self.shelves, kind, wanted, place.namespace)
        return self._shown(kind, place, self.shelves.create(kind, wanted, place.namespace))

    def _patch(self, kind: Kind, place: _Place, request: Request, body: Object) -> Object:
        how = request.headers.get("content-type", "")
        if how not in ("application/merge-patch+json", "application/strategic-merge-patch+json"):
            raise Refusal(415, "UnsupportedMediaType", f"the stand-in does not know {how}")
        if how.startswith("application/strategic") and (kind not in BUILT_IN or _has_list(body)):
            raise Refusal(415, "UnsupportedMediaType", "strategic patches of lists or custom kinds")
        key, status = (place.namespace, place.name), place.sub == "status"
        before = self.shelves.get(kind, place.name, place.namespace)
        if kind not in BUILT_IN:
            from tests.kit.cluster.objects import merged

            part = {"status": body.get("status", {})} if status else body
            after = merged(before, part)
            self._checked(kind, place, after)
        kept = self.shelves.patch(kind, key, body, status=status)
        return self._shown(kind, place, kept)

    def _checked(self, kind: Kind, place: _Place, wanted: Object) -> Object:
        wanted = {**wanted, "metadata": dict(wanted.get("metadata", {}))}
        if kind.namespaced:
            wanted["metadata"]["namespace"] = place.namespace
        schema = self.versions.get((place.group, place.version, place.plural))
        return wanted if schema is None else check_custom(kind, schema, wanted)

    def _shown(self, kind: Kind, place: _Place, found: Object) -> Object:
        if kind is QUOTA:
            found = self._quota_status(found)
        if kind not in BUILT_IN:
            found = {**found, "apiVersion": f"{place.group}/{place.version}"}
        return found

    def _quota_status(self, found: Object) -> Object:
        hard = found["spec"].get("hard", {})
        taken = used(self.shelves, found["metadata"]["namespace"], found)
        shown = {name: f"{value:f}" for name, value in taken.items()}
        return {**found, "status": {"hard": hard, "used": shown}}

    def _list(self, kind: Kind, place: _Place, query: Any) -> Object:
        wants = _selector(query)
        found = self.shelves.all(kind, place.namespace or None)
        items = [self._shown(kind, place, one) for one in found if wants(one)]
        meta = {"resourceVersion": str(self.shelves.newest)}
        return {"kind": f"{kind.kind}List", "apiVersion": "v1", "metadata": meta, "items": items}

    # -- streams --------------------------------------------------------------------------

    def _watch(self, kind: Kind, place: _Place, request: Request) -> Response:
        query = request.query_params
        selected = _selector(query)
        namespace = place.namespace

        def wants(found: Object) -> bool:
            return selected(found) and (
                not namespace or found["metadata"].get("namespace") == namespace
            )

        watcher = Watcher(kind, wants)
        version = query.get("resourceVersion")
        if version is None:
            missed = [
                (0, "ADDED", kind, one)
                for one in self.shelves.all(kind, namespace or None)
                if wants(one)
            ]
        else:
            missed = self.shelves.since(int(version), watcher)
        self.shelves.watchers.add(watcher)
        timeout = float(query.get("timeoutSeconds", 3600))
        return StreamingResponse(
            self._stream(watcher, missed, place, timeout), media_type="application/json"
        )

    async def _stream(
        self, watcher: Watcher, missed: list[Any], place: _Place, timeout: float
    ) -> AsyncIterator[bytes]:
        until = asyncio.get_running_loop().time() + timeout
        try:
            for change in missed:
                yield self._line(change, place)
            while (left := until - asyncio.get_running_loop().time()) > 0:
                try:
                    change = await asyncio.wait_for(watcher.changes.get(), left)
                except TimeoutError:
                    return
                if change is None:
                    raise ConnectionResetError("the watch is dropped")
                yield self._line(change, place)
        finally:
            self.shelves.watchers.discard(watcher)

    def _line(self, change: Any, place: _Place) -> bytes:
        _, what, kind, found = change
        shown = self._shown(kind, place, found)
        return json.dumps({"type": what, "object": shown}).encode() + b"\n"

    def _log(self, place: _Place, request: Request) -> Response:
        pod = self.shelves.get(POD, place.name, place.namespace)
        log = self.kubelet.logs.get(pod["metadata"]["uid"])
        if pod["spec"].get("nodeName") in self.kubelet.lost:
            raise Refusal(500, "InternalError", 'Get "https://node:10250": connection refused')
        if log is None:
            text = f'container "agent" in pod "{place.name}" is waiting to start: ContainerCreating'
            raise Refusal(400, "BadRequest", text)
        query = request.query_params
        follow = query.get("follow", "").lower() == "true"
        stamped = query.get("timestamps", "").lower() == "true"
        begin = log.since(query.get("sinceTime"))

        epoch = self._log_epoch

        async def stream() -> AsyncIterator[bytes]:
            source, at = (log.stamped, begin) if stamped else (log.data, 0)
            while True:
                more = log.more
                if self._log_epoch != epoch:
                    raise ConnectionResetError("the log breaks off")
                if at < len(source):
                    data, at = bytes(source[at:]), len(source)
                    yield data
                elif log.over or not follow:
                    return
                else:
                    await more.wait()

        return StreamingResponse(stream(), media_type="text/plain")

    def break_logs(self) -> None:
        """Every line that is open breaks off, as when a node's proxy is restarted."""
        self._log_epoch += 1
        for log in self.kubelet.logs.values():
            log.ring()

    def _metrics(self, namespace: str) -> Object:
        items = []
        for pod in self.shelves.all(POD, namespace):
            life = self.kubelet.lives.get(pod["metadata"]["uid"])
            if life is not None:
                usage = {"cpu": "10m", "memory": f"{life.used_bytes() // 1024}Ki"}
                meta = {name: pod["metadata"].get(name) for name in ("name", "namespace", "labels")}
                containers = [{"name": "agent", "usage": usage}]
                items.append({"metadata": meta, "containers": containers})
        return {"kind": "PodMetricsList", "apiVersion": f"{METRICS}/v1beta1", "items": items}


class _Place:
    """/api/v1/namespaces/ns/pods/name/log, taken apart."""

    def __init__(self, group: str, version: str, rest: list[str]) -> None:
        self.group, self.version = group, version
        self.namespace = ""
        if rest[0] == "namespaces" and len(rest) > 2:
            self.namespace, rest = rest[1], rest[2:]
        self.plural = rest[0]
        self.name = rest[1] if len(rest) > 1 else ""
        self.sub = rest[2] if len(rest) > 2 else ""

    @classmethod
    def of(cls, path: str) -> _Place:
        parts = path.strip("/").split("/")
        if parts[0] == "api" and len(parts) > 2:
            return cls("", parts[1], parts[2:])
        if parts[0] == "apis" and len(parts) > 3:
            return cls(parts[1], parts[2], parts[3:])
        raise Refusal(404, "NotFound", f"the server could not find {path}")


def _verb(request: Request, place: _Place) -> str:
    if request.method == "GET":
        if request.query_params.get("watch", "").lower() == "true":
            return "watch"
        return "get" if place.name else "list"
    return {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}[request.method]


def _has_list(body: Any) -> bool:
    if isinstance(body, dict):
        return any(isinstance(each, list) or _has_list(each) for each in body.values())
    return False


def _selector(query: Any) -> Callable[[Object], bool]:
    labels = [one.partition("=") for one in query.get("labelSelector", "").split(",") if one]
    fields = [one.partition("=") for one in query.get("fieldSelector", "").split(",") if one]

    def wants(found: Object) -> bool:
        own = found["metadata"].get("labels", {})
        for name, has_value, value in labels:
            if name not in own or (has_value and own[name] != value.removeprefix("=")):
                return False
        return all(_field(found, name) == value.removeprefix("=") for name, _, value in fields)

    return wants


def _field(found: Object, path: str) -> str:
    value: Any = found
    for part in path.split("."):
        value = value.get(part, {}) if isinstance(value, dict) else {}
    return value if isinstance(value, str) else ""


__all__ = ["JOB", "Api", "Trouble"]
