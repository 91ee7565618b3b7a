"""Between a test and a real API server: counts what is asked, and makes the trouble it is told to.

What the server answers is passed on as it is, byte by byte. `forget` is no lie either: a watch from
before is asked for from the first version on, and the server itself says that this is too old.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.kit.cluster.objects import Refusal
from tests.kit.cluster.paths import Place, verb_of
from tests.kit.cluster.server import Trouble

if TYPE_CHECKING:
    import httpx2

VERBS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
KEPT = ("content-type", "retry-after", "warning")


class Proxy:
    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=2048)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.trouble = Trouble()
        self.calls: Counter[str] = Counter()
        self.refused: list[str] = []  # for want of rights, to who came with a token
        self._cut = asyncio.Event()  # set, and replaced: who streams is cut off
        self._forgotten = 0
        self._open: set[httpx2.Response] = set()
        app = Starlette(routes=[Route("/{path:path}", self._serve, methods=VERBS)])
        config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]

    async def serve(self) -> None:
        await self._server.serve(sockets=[self._socket])
        self._socket.close()
        for answer in list(self._open):  # of whoever was cut off at the very end
            await answer.aclose()

    def stop(self) -> None:
        self.cut()
        self._server.should_exit = True

    def cut(self) -> None:
        """Every stream that is open breaks off."""
        self._cut.set()
        self._cut = asyncio.Event()

    def forget(self, version: int) -> None:
        self._forgotten = version

    async def _serve(self, request: Request) -> Response:
        if (nothing := await self.trouble.silence()) is not None:
            return nothing
        path = request.path_params["path"]
        query = dict(request.query_params)
        if path.startswith("api"):
            try:
                place = Place.of(path)
            except Refusal:  # what is there to be found: nothing that we make trouble with
                return await self._passed_on(request, path, query)
            verb = verb_of(request.method, query, place)
            self.calls[f"{verb} {place.plural}{'/' + place.sub if place.sub else ''}"] += 1
            refusal = self.trouble.hook(verb, path)
            if refusal is not None:
                after = refusal.retry_after
                headers = {"Retry-After": str(after)} if after else {}
                return JSONResponse(refusal.status(), refusal.code, headers=headers)
            version = query.get("resourceVersion", "")
            if verb == "watch" and version.isdigit() and int(version) <= self._forgotten:
                query["resourceVersion"] = "1"
        return await self._passed_on(request, path, query)

    async def _passed_on(self, request: Request, path: str, query: dict[str, str]) -> Response:
        import httpx2

        said = request.headers
        passed = ("content-type", "accept", "authorization")
        headers = {name: said[name] for name in passed if name in said}
        asked = self._http.build_request(
            request.method,
            f"/{path}",
            params=query,
            headers={**headers, "accept-encoding": "identity"},
            content=await request.body(),
            timeout=httpx2.Timeout(None, connect=10.0),
        )
        if "authorization" in said:
            answer = await self._http.send(asked, stream=True, auth=None)
        else:  # who does not say who he is may do what we may
            answer = await self._http.send(asked, stream=True)
        found = {name: answer.headers[name] for name in KEPT if name in answer.headers}
        if not answer.is_error:
            return StreamingResponse(
                self._pieces(answer, self._cut), answer.status_code, headers=found
            )
        body = await answer.aread()
        if "authorization" in said and answer.status_code == 403 and b" cannot " in body:
            self.refused.append(body.decode())
        return Response(body, answer.status_code, headers=found)

    async def _pieces(self, answer: httpx2.Response, cut: asyncio.Event) -> AsyncIterator[bytes]:
        pieces = answer.aiter_raw().__aiter__()
        self._open.add(answer)
        cutting = asyncio.ensure_future(cut.wait())
        coming: asyncio.Future[bytes | None] | None = None
        try:
            while True:
                coming = asyncio.ensure_future(anext(pieces, None))
                await asyncio.wait({coming, cutting}, return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    raise ConnectionResetError("cut off")
                piece = coming.result()
                if piece is None:
                    return
                yield piece
        finally:  # whoever still reads ends first: a line that is closed under it is left open
            left = [one for one in (coming, cutting) if one is not None]
            for one in left:
                one.cancel()
            await asyncio.gather(*left, return_exceptions=True)
            await answer.aclose()
            self._open.discard(answer)
