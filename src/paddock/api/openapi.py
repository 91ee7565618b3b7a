"""The OpenAPI 3.1 document of the table of routes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from paddock import __version__
from paddock.wire.views import VERSION, Happening, Problem

from .asking import FLAGS
from .routes import Query, Route

PATH: Final = f"/{VERSION}/openapi.json"
# A name alone is as good as 1.
_FLAG: Final = {"type": "string", "enum": sorted(FLAGS)}
_ABOUT: Final = {
    400: "what was asked for cannot be understood, or is not allowed",
    404: "there is no such thing",
    409: "refused; or more than one is meant; or it has, or has not, ended",
    413: "too large",
    500: "a bug in paddock",
    503: "the store cannot be written, so nothing new is taken",
}


def document(routes: Iterable[Route]) -> dict[str, Any]:
    routes = tuple(routes)
    shapes = [shape for route in routes for shape in (route.takes, route.gives) if _is_shape(shape)]
    every = [*shapes, Problem, Happening]
    found, components = msgspec.json.schema_components(
        every, ref_template="#/components/schemas/{name}"
    )
    schemas = dict(zip(map(repr, every), found, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "paddock",
            "version": __version__,
            "description": "Over a Unix socket, or TCP with a token. Keys are only ever added.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _is_shape(shape: Any) -> bool:
    return shape is not None and not isinstance(shape, str)


def _operation(route: Route, schemas: dict[str, Any]) -> dict[str, Any]:
    answers = {"200": {"description": route.about, "content": _content(route.gives, schemas)}}
    problem = {"application/json": {"schema": schemas[repr(Problem)]}}
    for status in sorted({400, 500, 503, *route.problems}):
        answers[str(status)] = {"description": _ABOUT[status], "content": problem}
    found: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.about,
        "parameters": [
            *map(_in_path, re.findall(r"{(\w+)}", route.path)),
            *map(_in_query, route.query),
        ],
        "responses": answers,
    }
    if route.takes is not None:
        found["requestBody"] = {"required": True, "content": _content(route.takes, schemas)}
    return found


def _content(shape: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    if isinstance(shape, str):
        return {kind: {"schema": {"type": "string"}} for kind in shape.split(" or ")}
    return {"application/json": {"schema": schemas[repr(shape)]}}


def _in_path(name: str) -> dict[str, Any]:
    about = "an id, a name (the newest of it), or the beginning of an id"
    schema = {"type": "string"}
    return {"name": name, "in": "path", "required": True, "description": about, "schema": schema}


def _in_query(query: Query) -> dict[str, Any]:
    return {
        "name": query.name,
        "in": "query",
        "description": query.about,
        "schema": _FLAG if query.type == "boolean" else {"type": query.type},
    }
