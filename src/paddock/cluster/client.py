"""Asking the API server: every call by one door, tried again where that is harmless.

What is asked for must be safe to ask twice: names are ours, and a second create is told so.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from paddock.cluster.lines import CONNECT_S, QUIET_LOG_S, changes

if TYPE_CHECKING:
    pass

Object = dict[str, Any]
T = TypeVar("T")

FIELD_MANAGER: Final = "paddock"
FIRST_RETRY_S: Final = 0.2
LONGEST_RETRY_S: Final = 10.0
# Too many requests, and what a server says that is just starting, stopping, or behind a proxy.
TRY_AGAIN: Final = frozenset({429, 500, 502, 503, 504})
READ_S: Final = 20.0
EVERYWHERE: Final = "*"  # as the name of a namespace


class ClusterTrouble(Exception):
    """The cluster cannot be reached or used, and why; one line."""


class Refused(Exception):
    """The API server said no: `code` is HTTP's, `reason` Kubernetes' word for it."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.reason = code, reason

    @property
    def over_quota(self) -> bool:
        return self.code == 403 and "exceeded quota" in str(self)

    @property
    def for_want_of_rights(self) -> bool:
        """Whoever asked may not, whatever the object: a binding was changed, or a token is old."""
        return self.code == 401 or (self.code == 403 and " cannot " in str(self))


@dataclass(frozen=True, slots=True)
class Kind:
    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


POD: Final = Kind("", "v1", "Pod", "pods")
EVENT: Final = Kind("", "v1", "Event", "events")
CLAIM: Final = Kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
QUOTA: Final = Kind("", "v1", "ResourceQuota", "resourcequotas")
JOB: Final = Kind("batch", "v1", "Job", "jobs")
NAMESPACE: Final = Kind("", "v1", "Namespace", "namespaces", namespaced=False)
CONFIG: Final = Kind("", "v1", "ConfigMap", "configmaps")
SECRET: Final = Kind("", "v1", "Secret", "secrets")
DEPLOYMENT: Final = Kind("apps", "v1", "Deployment", "deployments")
LEASE: Final = Kind("coordination.k8s.io", "v1", "Lease", "leases")
POD_METRICS: Final = Kind("metrics.k8s.io", "v1beta1", "PodMetrics", "pods")
AGENT_RUN: Final = Kind("paddock.dev", "v1", "AgentRun", "agentruns")


@dataclass(frozen=True, slots=True)
class Where:
    """Which cluster: None is what kubectl would take, or the cluster that this runs in."""

    namespace: str | None = None
    kubeconfig: Path | None = None
    context: str | None = None


@cache
def _resource(kind: Kind) -> Any:
    """lightkube's class for it. Of plain dictionaries: its models would cost 100 MB and be read
    nowhere but here."""
    from lightkube.generic_resource import create_global_resource, create_namespaced_resource

    make = create_namespaced_resource if kind.namespaced else create_global_resource
    return make(kind.group, kind.version, kind.kind, kind.plural)


class Api:
    """In the event loop. `calls` counts what was asked, for whoever must ask little."""

    def __init__(self, where: Where) -> None:
        try:
            import httpx2

            from paddock.cluster.kubeconfig import BadKubeconfig, line_to
        except ImportError:
            text = "lightkube is not installed: pip install '.[kubernetes]' in paddock's checkout"
            raise ClusterTrouble(text) from None
        timeout = httpx2.Timeout(READ_S, connect=CONNECT_S)
        params = {"timeout": timeout, "field_manager": FIELD_MANAGER}
        try:
            found = line_to(
                where.kubeconfig, where.context, namespace=where.namespace, params=params
            )
        except BadKubeconfig as error:
            raise ClusterTrouble(f"no cluster is configured: {error}") from None
        self.calls: Counter[str] = Counter()
        self.server, self.namespace, self._client, self._raw = found

    async def close(self) -> None:
        await self._client.close()
        await self._raw.aclose()

    # -- one object -----------------------------------------------------------------------

    async def create(
        self, kind: Kind, wanted: Object, *, patience_s: float | None = None
    ) -> Object:
        whole = _resource(kind)({"apiVersion": kind.api_version, "kind": kind.kind, **wanted})
        return await self._try(
            f"create {kind.plural}", lambda: self._client.create(whole), patience_s
        )

    async def get(
        self,
        kind: Kind,
        name: str,
        *,
        namespace: str | None = None,
        patience_s: float | None = None,
    ) -> Object:
        one = _resource(kind)
        return await self._try(
            f"get {kind.plural}",
            lambda: self._client.get(one, name, namespace=namespace),
            patience_s,
        )

    async def find(
        self,
        kind: Kind,
        name: str,
        *,
        namespace: str | None = None,
        patience_s: float | None = None,
    ) -> Object | None:
        """None where there is none of that name."""
        try:
            return await self.get(kind, name, namespace=namespace, patience_s=patience_s)
        except Refused as refused:
            if refused.code == 404:
                return None
            raise

    async def apply(
        self,
        kind: Kind,
        wanted: Object,
        *,
        force: bool = False,
        dry_run: bool = False,
        patience_s: float | None = None,
    ) -> Object:
        """By the server: what we say becomes so, what others said stays. 409: they said otherwise,
        and only `force` takes it from them."""
        whole = _resource(kind)({"apiVersion": kind.api_version, "kind": kind.kind, **wanted})
        return await self._try(
            f"apply {kind.plural}",
            lambda: self._client.apply(whole, force=force, dry_run=dry_run),
            patience_s,
        )

    async def replace(
        self, kind: Kind, wanted: Object, *, patience_s: float | None = None
    ) -> Object:
        """409 where somebody was quicker: it names the version that it replaces."""
        whole = _resource(kind)({"apiVersion": kind.api_version, "kind": kind.kind, **wanted})
        return await self._try(
            f"update {kind.plural}", lambda: self._client.replace(whole), patience_s
        )

    async def patch(
        self,
        kind: Kind,
        name: str,
        patch: Object,
        *,
        status: bool = False,
        patience_s: float | None = None,
    ) -> Object:
        """A JSON merge patch, which is the same for every kind."""
        from lightkube.types import PatchType

        one = _resource(kind).Status if status else _resource(kind)
        what = f"patch {kind.plural}{'/status' if status else ''}"
        return await self._try(
            what,
            lambda: self._client.patch(one, name, patch, patch_type=PatchType.MERGE),
            patience_s,
        )

    async def delete(
        self,
        kind: Kind,
        name: str,
        *,
        grace_s: int | None = None,
        namespace: str | None = None,
        patience_s: float | None = None,
    ) -> bool:
        """Whether it was there. What it owns goes too, in the background."""
        from lightkube.types import CascadeType

        one = _resource(kind)
        try:
            await self._try(
                f"delete {kind.plural}",
                lambda: self._client.delete(
                    one,
                    name,
                    grace_period=grace_s,
                    cascade=CascadeType.BACKGROUND,
                    namespace=namespace,
                ),
                patience_s,
            )
        except Refused as refused:
            if refused.code != 404:
                raise
            return False
        return True

    # -- many -----------------------------------------------------------------------------

    async def list(
        self,
        kind: Kind,
        *,
        labels: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
        namespace: str | None = None,
        patience_s: float | None = None,
    ) -> tuple[list[Object], str]:
        """All of them, and the version at which that was so. Of every namespace: EVERYWHERE."""
        from lightkube.core.exceptions import NotReadyError

        async def whole() -> tuple[list[Object], str]:
            found = self._client.list(
                _resource(kind),
                labels=_plain(labels),
                fields=_plain(fields),
                chunk_size=500,
                namespace=namespace,
            )
            items = [item async for item in found]
            with contextlib.suppress(NotReadyError):  # lists of figures have none
                return items, found.resourceVersion
            return items, ""

        return await self._try(f"list {kind.plural}", whole, patience_s)

    async def watch(
        self, kind: Kind, *, version: str, labels: Mapping[str, str] | None = None
    ) -> AsyncGenerator[tuple[str, Object], None]:
        """What changes from that version on, until the server ends it; raises what breaks it."""
        self.calls[f"watch {kind.plural}"] += 1
        group = f"apis/{kind.group}" if kind.group else "api"
        space = f"/namespaces/{self.namespace}" if kind.namespaced else ""
        chosen = ",".join(f"{name}={value}" for name, value in (labels or {}).items())
        asked = {"resourceVersion": version, "labelSelector": chosen}
        found = changes(self._raw, f"/{group}/{kind.version}{space}/{kind.plural}", asked)
        async with contextlib.aclosing(found):
            async for line in found:
                told = json.loads(line)
                what, one = told["type"], told["object"]
                if what == "ERROR":
                    raise Refused(one.get("code", 0), one.get("reason", ""), one.get("message", ""))
                yield what, one

    @contextlib.asynccontextmanager
    async def log(
        self, pod: str, *, container: str, since: str | None = None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """What a container writes, each line after its time, until it has ended."""
        import httpx2

        self.calls["get pods/log"] += 1
        asked = {"follow": "true", "timestamps": "true", "container": container}
        asked |= {"sinceTime": since} if since is not None else {}
        path = f"/api/v1/namespaces/{self.namespace}/pods/{pod}/log"
        timeout = httpx2.Timeout(QUIET_LOG_S, connect=CONNECT_S)
        try:
            async with self._raw.stream("GET", path, params=asked, timeout=timeout) as answer:
                if answer.is_error:
                    await answer.aread()
                    raise Refused(answer.status_code, "", answer.text[:200])
                yield answer.aiter_raw()
        except httpx2.HTTPError as error:
            raise ClusterTrouble(f"the log of {pod} broke off: {_about(error)}") from None

    # -- trying ---------------------------------------------------------------------------

    async def read(self, path: str, *, patience_s: float | None = None) -> Object:
        """What is no object: which version it is, and what it serves."""

        async def whole() -> Object:
            answer = await self._raw.get(path)
            if answer.is_error and answer.status_code not in TRY_AGAIN:
                raise Refused(answer.status_code, "", " ".join(answer.text.split())[:200])
            answer.raise_for_status()
            found: Object = answer.json()
            return found

        return await self._try(f"read {path}", whole, patience_s)

    async def reachable(self, *, patience_s: float = CONNECT_S) -> None:
        """ClusterTrouble: one line that says why there is no cluster to use."""
        import httpx2

        try:
            async with asyncio.timeout(patience_s):
                answer = await self._raw.get("/version")
            answer.raise_for_status()
        except (httpx2.HTTPError, TimeoutError, ValueError, OSError) as error:
            text = f"the cluster at {self.server} cannot be reached: {_about(error)}"
            raise ClusterTrouble(text) from None

    async def _try(self, what: str, do: Callable[[], Awaitable[T]], patience_s: float | None) -> T:
        """Again and again while nobody answers, for so long; None: for ever."""
        import httpx2
        from lightkube.core.exceptions import ApiError

        loop = asyncio.get_running_loop()
        give_up_at = None if patience_s is None else loop.time() + patience_s
        pause_s = FIRST_RETRY_S
        while True:
            self.calls[what] += 1
            try:
                return await do()
            except ApiError as error:
                code = error.status.code or error.response.status_code
                if code not in TRY_AGAIN:
                    reason, message = error.status.reason or "", error.status.message or ""
                    raise Refused(code, reason, message) from None
                about, asked_s = f"{what}: {error.status.message}", _retry_after(error)
            except httpx2.HTTPError as error:
                about, asked_s = f"{what}: {_about(error)}", None
            wait_s = asked_s if asked_s is not None else pause_s * random.uniform(0.8, 1.2)
            if give_up_at is not None and loop.time() + wait_s > give_up_at:
                raise ClusterTrouble(f"the cluster at {self.server} does not answer ({about})")
            await asyncio.sleep(wait_s)
            pause_s = min(2 * pause_s, LONGEST_RETRY_S)


def _plain(labels: Mapping[str, str] | None) -> Any:
    return dict(labels) if labels else None


def _retry_after(error: Any) -> float | None:
    text = error.response.headers.get("Retry-After", "") if error.response is not None else ""
    return min(float(text), LONGEST_RETRY_S) if text.isdigit() else None


def _about(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
