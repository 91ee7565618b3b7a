"""Asking a real API server for a test: what it refuses is a `Refusal`, as the stand-in's own."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.kit.cluster.objects import Object, Refusal

if TYPE_CHECKING:
    import httpx2

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
AGAIN_S = 0.2


def client_of(kubeconfig: Path) -> httpx2.AsyncClient:
    import httpx2
    from lightkube import KubeConfig
    from lightkube.config import client_adapter

    config = KubeConfig.from_file(kubeconfig).get()
    assert config is not None, f"{kubeconfig} names no current context"
    timeout = httpx2.Timeout(60.0, connect=10.0)
    return client_adapter.AsyncClient(config, client_adapter.ConnectionParams(timeout=timeout))


async def ask(
    http: httpx2.AsyncClient,
    method: str,
    path: str,
    body: Object | None = None,
    *,
    how: str = "application/json",
    **params: str,
) -> Object:
    content = None if body is None else json.dumps(body)
    answer = await http.request(
        method, path, content=content, params=params, headers={"content-type": how}
    )
    if answer.is_error:
        raise refusal_of(answer.status_code, answer.text)
    found: Object = answer.json()
    return found


def refusal_of(code: int, text: str) -> Refusal:
    status: Any = None
    with contextlib.suppress(ValueError):
        status = json.loads(text)
    if not isinstance(status, dict) or "message" not in status:
        return Refusal(code, "", text[:500])
    details = status.get("details") or {}
    causes = tuple(details.get("causes") or ())
    after = details.get("retryAfterSeconds")
    return Refusal(code, status.get("reason", ""), status["message"], after, causes)


async def watched(http: httpx2.AsyncClient, path: str) -> AsyncIterator[tuple[str, Object]]:
    """What is there and what changes, for ever; after a break what is there is told again."""
    import httpx2

    timeout = httpx2.Timeout(None, connect=10.0)
    while True:
        try:
            asked = {"watch": "true"}
            async with http.stream("GET", path, params=asked, timeout=timeout) as answer:
                answer.raise_for_status()
                async for line in answer.aiter_lines():
                    event = json.loads(line)
                    yield event["type"], event["object"]
        except httpx2.HTTPError:
            pass
        await asyncio.sleep(AGAIN_S)
