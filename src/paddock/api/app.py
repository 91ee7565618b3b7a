"""The application: the table of routes, put to work on a supervisor."""

from __future__ import annotations

from typing import Any, cast

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as HttpRoute

from paddock.supervisor.loop import Supervisor

from .answering import Endpoint, Ready, Send
from .asking import Asked, Message, Receive
from .desk import Desk, Facts, Output
from .openapi import PATH, document
from .problems import Declined
from .routes import ROUTES


class Switch:
    """In front of the application: a path without a name in it needs no search through the table.

    What it does not know the application answers; both go to the same endpoints.
    """

    def __init__(self, app: Starlette) -> None:
        self._app = app
        self._plain: dict[tuple[str, str], Endpoint] = {
            (method, route.path): cast(Endpoint, route.endpoint)
            for route in app.routes
            if isinstance(route, HttpRoute) and "{" not in route.path
            for method in route.methods or ()
        }

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        endpoint = self._plain.get((scope["method"], scope["path"]))
        if endpoint is not None:
            await endpoint(scope, receive, send)
        else:
            await self._app(scope, receive, cast(Any, send))


def create_app(supervisor: Supervisor, facts: Facts, output: Output) -> Starlette:
    """Nothing in it asks who is calling: that is the guard's, in front of it."""
    desk = Desk(supervisor, facts, output)
    routes = [
        HttpRoute(
            route.path,
            Endpoint(desk, route.handle, [query.name for query in route.query]),
            methods=[route.method],
            name=route.name,
        )
        for route in ROUTES
    ]
    routes.append(HttpRoute(PATH, Endpoint(desk, _openapi(), ()), methods=["GET"]))
    handlers: dict[Any, Any] = {HTTPException: _no_route}
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    app.state.desk = desk
    return app


def _openapi() -> Any:
    kept: list[Ready] = []

    async def openapi(_desk: Desk, _asked: Asked) -> Ready:
        if not kept:
            kept.append(Ready(msgspec.json.encode(document(ROUTES))))
        return kept[0]

    return openapi


def _no_route(request: Request, error: Exception) -> Response:
    """No such path, or not with this method."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == 405:
        declined = Declined(405, "bad_request", f"{request.method} is not for this path")
    else:
        declined = Declined(status, "not_found", f"there is nothing here; {PATH} lists all paths")
    return Response(declined.body(), status, media_type="application/json")
