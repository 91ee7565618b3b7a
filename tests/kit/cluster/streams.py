"""What goes on until it is cut: watches and logs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tests.kit.cluster.lives import Log
from tests.kit.cluster.objects import Kind, Object, Refusal, Shelves, Watcher
from tests.kit.cluster.paths import Place, selector

Show = Callable[[Kind, Place, Object], Object]


class Watches:
    """`show`: an object as whoever asks at that place is to see it."""

    def __init__(self, shelves: Shelves, show: Show) -> None:
        self._shelves, self._show = shelves, show

    def watch(self, kind: Kind, place: Place, request: Request) -> Response:
        query = request.query_params
        selected = selector(kind, query)
        namespace = place.namespace

        def wants(found: Object) -> bool:
            return selected(found) and (
                not namespace or found["metadata"].get("namespace") == namespace
            )

        watcher = Watcher(kind, wants)
        version = query.get("resourceVersion", "")
        if version in ("", "0"):
            found = self._shelves.all(kind, namespace or None)
            missed = [(0, "ADDED", kind, one) for one in found if wants(one)]
        else:
            try:
                missed = self._shelves.since(int(version), watcher)
            except Refusal as refusal:  # said within the watch, which was granted
                line = json.dumps({"type": "ERROR", "object": refusal.status()}) + "\n"
                return Response(line, media_type="application/json")
        self._shelves.watchers.add(watcher)
        timeout = float(query.get("timeoutSeconds", 3600))
        told = self._stream(watcher, missed, place, timeout)
        if query.get("allowWatchBookmarks", "").lower() == "true":
            told = self._marked(told, kind)
        return StreamingResponse(told, media_type="application/json")

    async def _marked(self, told: AsyncIterator[bytes], kind: Kind) -> AsyncIterator[bytes]:
        """When its time is over it says how far it has come."""
        async for line in told:
            yield line
        meta = {"resourceVersion": str(self._shelves.newest)}
        mark = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta}
        yield json.dumps({"type": "BOOKMARK", "object": mark}).encode() + b"\n"

    async def _stream(
        self, watcher: Watcher, missed: list[Any], place: Place, timeout: float
    ) -> AsyncIterator[bytes]:
        until = asyncio.get_running_loop().time() + timeout
        try:
            for change in missed:
                yield self._line(change, place)
            while True:
                left = max(0.0, until - asyncio.get_running_loop().time())
                try:
                    change = await asyncio.wait_for(watcher.changes.get(), left)
                except TimeoutError:
                    if watcher.changes.empty():
                        return
                    change = watcher.changes.get_nowait()
                if change is None:
                    raise ConnectionResetError("the watch is dropped")
                yield self._line(change, place)
        finally:
            self._shelves.watchers.discard(watcher)

    def _line(self, change: Any, place: Place) -> bytes:
        _, what, kind, found = change
        shown = self._show(kind, place, found)
        return json.dumps({"type": what, "object": shown}).encode() + b"\n"


def silence() -> Response:
    """As if nobody were there any more: the line breaks before anything was said."""

    async def cut() -> AsyncIterator[bytes]:
        for piece in (b"",):
            yield piece
        raise ConnectionResetError("the API is down")

    return StreamingResponse(cut(), headers={"content-length": "1"})


def log_stream(log: Log, query: Mapping[str, str], epoch: Callable[[], int]) -> Response:
    """What a container wrote and writes; it breaks off when the epoch is another."""
    follow = query.get("follow", "").lower() == "true"
    stamped = query.get("timestamps", "").lower() == "true"
    source, begin = (log.stamped, log.since(query.get("sinceTime"))) if stamped else (log.data, 0)
    began_in = epoch()

    async def stream() -> AsyncIterator[bytes]:
        at = begin
        while True:
            more = log.more
            if epoch() != began_in:
                raise ConnectionResetError("the log breaks off")
            if at < len(source):
                data, at = bytes(source[at:]), len(source)
                yield data
            elif log.over or not follow:
                return
            else:
                await more.wait()

    return StreamingResponse(stream(), media_type="text/plain")
