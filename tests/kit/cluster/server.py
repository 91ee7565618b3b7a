"""The stand-in's HTTP side: paths, verbs, watches and logs; and the trouble a test asks for."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.kit.cluster.amounts import text_of
from tests.kit.cluster.definitions import Definitions
from tests.kit.cluster.evicting import evict
from tests.kit.cluster.jobs import JobController
from tests.kit.cluster.kubelet import Kubelet
from tests.kit.cluster.managed import applied, updated
from tests.kit.cluster.namespaces import check_open
from tests.kit.cluster.objects import (
    BUILT_IN,
    CRD,
    EVENT,
    JOB,
    LEASE,
    POD,
    QUOTA,
    VOLUME,
    Kind,
    Object,
    Refusal,
    Shelves,
    merged,
)
from tests.kit.cluster.paths import Place, has_list, selector, verb_of
from tests.kit.cluster.quotas import used
from tests.kit.cluster.rights import Rights, Wish, review
from tests.kit.cluster.rules import check, check_fixed, check_names, fill
from tests.kit.cluster.schemas import check_custom, check_schema
from tests.kit.cluster.serving import discovered, is_discovery
from tests.kit.cluster.streams import Watches, log_stream, silence

METRICS = "metrics.k8s.io"
POD_METRICS = Kind(METRICS, "v1beta1", "pods", "PodMetrics")
REVIEWS = "selfsubjectaccessreviews"
APPLY = "application/apply-patch+yaml"
# Of what is written all the time nobody keeps who said what: it would be most of it.
OF_NOBODY = (POD, JOB, VOLUME, EVENT, LEASE)


class Trouble:
    """What is to go wrong: calls that are answered with an error, or not at all."""

    def __init__(self) -> None:
        self.down = False  # nobody answers
        self.hangs = False  # lines are taken, and nothing ever comes
        self.unheard = 0  # what was asked while it was so
        self.hook: Callable[[str, str], Refusal | None] = lambda _verb, _path: None

    def over(self) -> None:
        self.down = self.hangs = False

    async def silence(self) -> Response | None:
        """None: all is well. What is asked of one that hangs is never heard, also not later."""
        if not (self.down or self.hangs):
            return None
        self.unheard += 1
        while self.hangs:
            await asyncio.sleep(0.05)
        return silence()


class Api:
    def __init__(self, shelves: Shelves, kubelet: Kubelet, jobs: JobController) -> None:
        self.shelves, self.kubelet, self._jobs = shelves, kubelet, jobs
        self._rests: dict[str, tuple[str, list[Object]]] = {}  # of lists, by how to go on
        self.trouble = Trouble()
        self.rights = Rights(shelves)
        self.metrics = True  # a metrics server is there
        self._counting = False
        self._log_epoch = 0
        self.calls: Counter[str] = Counter()  # "verb plural[/sub]" → how often
        self._watches = Watches(shelves, self._shown)
        known = Definitions(shelves)
        self.kinds, self.versions = known.kinds, known.versions
        shelves.on_change.append(self._heard)
        routes = [
            Route("/version", self._version),
            Route("/{path:path}", self._serve, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
        ]
        self.app = Starlette(routes=routes)

    def _heard(self, _what: str, kind: Kind, _found: Object) -> None:
        if kind in (POD, VOLUME, QUOTA) and not self._counting:
            self._counting = True
            asyncio.get_running_loop().call_soon(self._count)

    def _count(self) -> None:
        """What is used is in the quotas' own status, for who watches them."""
        self._counting = False
        for quota in list(self.shelves.all(QUOTA)):
            shown = self._quota_status(quota)["status"]
            if quota.get("status") != shown:
                self.shelves.change(QUOTA, quota, status=shown)

    async def _version(self, _: Request) -> Response:
        if (nothing := await self.trouble.silence()) is not None:
            return nothing
        return JSONResponse({"major": "1", "minor": "36", "gitVersion": "v1.36.0-stand-in"})

    async def _serve(self, request: Request) -> Response:
        if (nothing := await self.trouble.silence()) is not None:
            return nothing
        try:
            return await self._answer(request)
        except Refusal as refusal:
            headers = {"Retry-After": str(refusal.retry_after)} if refusal.retry_after else {}
            return JSONResponse(refusal.status(), refusal.code, headers=headers)

    async def _answer(self, request: Request) -> Response:
        if is_discovery(request.path_params["path"]):
            return self._discovery(request.path_params["path"])
        place = Place.of(request.path_params["path"])
        verb = verb_of(request.method, request.query_params, place)
        self.calls[f"{verb} {place.plural}{'/' + place.sub if place.sub else ''}"] += 1
        trouble = self.trouble.hook(verb, request.path_params["path"])
        if trouble is not None:
            raise trouble
        user = request.headers.get("authorization", "").removeprefix("Bearer ")
        if place.plural == REVIEWS:
            return JSONResponse(review(self.rights, user, await request.json()), 201)
        resource = "/".join(filter(None, (place.plural, place.sub)))
        wish = Wish(verb, place.group, resource, place.namespace)
        self.rights.check(user, wish, place.name)
        if place.group == METRICS and self.metrics:
            return JSONResponse(self._metrics(place.namespace))
        kind = self.kinds.get((place.group, place.plural))
        if kind is None or not self._is_served(kind, place):
            raise Refusal(404, "NotFound", "the server could not find the requested resource")
        if place.sub == "log":
            return self._log(place, request)
        if verb == "watch":
            return self._watches.watch(kind, place, request)
        body = json.loads(await request.body() or b"null")
        with self.shelves.rehearsing(dry=request.query_params.get("dryRun") == "All"):
            return self._do(verb, kind, place, request, body)

    def _discovery(self, path: str) -> Response:
        kinds = [(kind.version, kind) for kind in BUILT_IN]
        kinds += [(version, self.kinds[group, name]) for group, version, name in self.versions]
        kinds += [(POD_METRICS.version, POD_METRICS)] if self.metrics else []
        found = discovered(path, kinds)
        if found is None:
            return Response("404 page not found\n", 404, media_type="text/plain")
        return JSONResponse(found)

    def _is_served(self, kind: Kind, place: Place) -> bool:
        if kind in BUILT_IN:
            return kind.version == place.version
        return (place.group, place.version, place.plural) in self.versions

    def _do(self, verb: str, kind: Kind, place: Place, request: Request, body: Any) -> Response:
        shelves, query, status = self.shelves, request.query_params, place.sub == "status"
        match verb:
            case "list":
                return JSONResponse(self._list(kind, place, query))
            case "get":
                found = shelves.get(kind, place.name, place.namespace)
                return JSONResponse(self._shown(kind, place, found))
            case "create":
                self._own(kind, None, body, request)
                return JSONResponse(self._create(kind, place, body), 201)
            case "update":
                wanted = self._checked(kind, place, body)
                if not status:
                    before = shelves.get(kind, place.name, place.namespace)
                    check_fixed(kind, before, wanted)
                    self._own(kind, before, wanted, request)
                kept = shelves.replace(kind, wanted, status=status)
                return JSONResponse(self._shown(kind, place, kept))
            case "patch":
                return JSONResponse(self._patch(kind, place, request, body))
            case _:
                self._delete(kind, place, {**query, **(body or {})})
                return JSONResponse({"kind": "Status", "apiVersion": "v1", "status": "Success"})

    def _delete(self, kind: Kind, place: Place, options: Object) -> None:
        found = self.shelves.get(kind, place.name, place.namespace)
        wanted = options.get("preconditions", {}).get("uid")
        if wanted not in (None, found["metadata"]["uid"]):
            text = f'Operation cannot be fulfilled on {kind.full_name} "{place.name}": Precondition'
            raise Refusal(409, "Conflict", f"{text} failed: UID in precondition: {wanted}")
        # A Job that nobody says this of leaves its pods behind, as it has always done.
        usual = "Orphan" if kind is JOB else "Background"
        if options.get("propagationPolicy", usual) == "Orphan":
            self._jobs.orphan(found["metadata"]["uid"])
        grace = options.get("gracePeriodSeconds")
        self.shelves.delete(kind, found, grace_s=None if grace is None else int(grace))

    def _create(self, kind: Kind, place: Place, body: Object) -> Object:
        if kind is POD and place.sub == "eviction":
            evict(self.shelves, self.kubelet, self.shelves.get(POD, place.name, place.namespace))
            return {"kind": "Status", "apiVersion": "v1", "status": "Success"}
        if kind.namespaced:
            check_open(self.shelves, kind, body["metadata"].get("name", ""), place.namespace)
        check_names(kind, body)
        wanted = self._checked(kind, place, body)
        meta = wanted["metadata"]
        if "name" not in meta:
            meta["name"] = meta["generateName"] + uuid.uuid4().hex[:5]
        if kind.has_status and kind is not CRD and kind.family != ("", "nodes"):
            wanted.pop("status", None)
        fill(self.shelves, kind, wanted, place.namespace)
        if self.shelves.find(kind, wanted["metadata"]["name"], place.namespace) is None:
            check(self.shelves, kind, wanted, place.namespace)
        return self._shown(kind, place, self.shelves.create(kind, wanted, place.namespace))

    def _patch(self, kind: Kind, place: Place, request: Request, body: Object) -> Object:
        how = request.headers.get("content-type", "")
        if how == APPLY:
            return self._apply(kind, place, request, body)
        if how not in ("application/merge-patch+json", "application/strategic-merge-patch+json"):
            raise Refusal(415, "UnsupportedMediaType", f"the stand-in does not know {how}")
        if how.startswith("application/strategic") and (kind not in BUILT_IN or has_list(body)):
            raise Refusal(415, "UnsupportedMediaType", "strategic patches of lists or custom kinds")
        key, status = (place.namespace, place.name), place.sub == "status"
        before = self.shelves.get(kind, place.name, place.namespace)
        if kind not in BUILT_IN:
            part = {"status": body.get("status", {})} if status else body
            self._checked(kind, place, merged(before, part))
        elif not status:
            after = merged(before, body)
            check_fixed(kind, before, after)
            self._own(kind, before, after, request)
            if kind not in OF_NOBODY:
                owned = {"managedFields": after["metadata"].get("managedFields", [])}
                body = {**body, "metadata": {**body.get("metadata", {}), **owned}}
        kept = self.shelves.patch(kind, key, body, status=status)
        return self._shown(kind, place, kept)

    def _own(self, kind: Kind, before: Object | None, after: Object, request: Request) -> None:
        """Whoever writes a field has it from then on."""
        if kind in OF_NOBODY or kind not in BUILT_IN or "metadata" not in after:
            return
        manager = request.query_params.get("fieldManager", "unknown")
        told = {**after, "apiVersion": kind.api_version}
        after["metadata"] = {**after["metadata"], "managedFields": updated(before, told, manager)}

    def _apply(self, kind: Kind, place: Place, request: Request, body: Object) -> Object:
        """Server-side: made where it is not there, else joined with what others say of it."""
        query, meta = request.query_params, body.get("metadata", {})
        if not query.get("fieldManager"):
            text = 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value'
            raise Refusal(422, "Invalid", text)
        if "managedFields" in meta or (meta.get("name"), body.get("kind")) != (
            place.name,
            kind.kind,
        ):
            raise Refusal(400, "BadRequest", "the object is not the one of its address")
        if kind in BUILT_IN:
            check_schema(kind, body)
        before = self.shelves.find(kind, place.name, place.namespace)
        force = query.get("force") == "true"
        after = applied(before, body, manager=query["fieldManager"], force=force)
        if before is None:
            return self._create(kind, place, after)
        after = self._checked(kind, place, after)
        if meta.get("resourceVersion"):
            after["metadata"]["resourceVersion"] = meta["resourceVersion"]
        check_fixed(kind, before, after)
        fill(self.shelves, kind, after, place.namespace)
        return self._shown(kind, place, self.shelves.replace(kind, after))

    def _checked(self, kind: Kind, place: Place, wanted: Object) -> Object:
        wanted = {**wanted, "metadata": dict(wanted.get("metadata", {}))}
        if kind.namespaced:
            wanted["metadata"]["namespace"] = place.namespace
        schema = self.versions.get((place.group, place.version, place.plural))
        return wanted if schema is None else check_custom(kind, schema, wanted)

    def _shown(self, kind: Kind, place: Place, found: Object) -> Object:
        if kind is QUOTA:
            found = self._quota_status(found)
        if kind not in BUILT_IN:
            found = {**found, "apiVersion": f"{place.group}/{place.version}"}
        return found

    def _quota_status(self, found: Object) -> Object:
        hard = found["spec"].get("hard", {})
        taken = used(self.shelves, found["metadata"]["namespace"], found)
        shown = {name: text_of(name, value) for name, value in taken.items()}
        return {**found, "status": {"hard": hard, "used": shown}}

    def _list(self, kind: Kind, place: Place, query: Any) -> Object:
        """In pieces where that is asked for, all of them as it was when the first was given."""
        more = query.get("continue")
        if more:
            version, left = self._rests.pop(more, ("", []))
            if not version or not self.shelves.remembers(int(version)):
                text = "The provided continue parameter is too old to display a consistent list"
                raise Refusal(410, "Expired", text)
        else:
            wants = selector(kind, query)
            version = str(self.shelves.newest)
            left = [one for one in self.shelves.all(kind, place.namespace or None) if wants(one)]
        most = int(query.get("limit") or len(left) or 1)
        items, rest = left[:most], left[most:]
        meta: Object = {"resourceVersion": version}
        if rest:
            meta |= {"continue": uuid.uuid4().hex, "remainingItemCount": len(rest)}
            self._rests[meta["continue"]] = version, rest
        shown = [self._shown(kind, place, one) for one in items]
        return {"kind": f"{kind.kind}List", "apiVersion": "v1", "metadata": meta, "items": shown}

    # -- logs -----------------------------------------------------------------------------

    def _log(self, place: Place, request: Request) -> Response:
        pod = self.shelves.get(POD, place.name, place.namespace)
        log = self.kubelet.logs.get(pod["metadata"]["uid"])
        if pod["spec"].get("nodeName") in self.kubelet.lost:
            raise Refusal(500, "InternalError", 'Get "https://node:10250": connection refused')
        if log is None:
            text = f'container "agent" in pod "{place.name}" is waiting to start: ContainerCreating'
            raise Refusal(400, "BadRequest", text)
        return log_stream(log, request.query_params, lambda: self._log_epoch)

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
