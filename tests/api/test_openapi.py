"""The OpenAPI document says what is true: real answers fit its schemas."""

from __future__ import annotations

import re
from typing import Any

import jsonschema
import pytest

from paddock.api.openapi import document
from paddock.api.routes import ROUTES
from paddock.client import Client
from tests.architecture.source import PROJECT
from tests.kit.desk import ServedDesk, an_agent
from tests.kit.raw_http import ask
from tests.kit.repositories import a_repository

DOCUMENT = document(ROUTES)


def test_every_route_is_in_it_with_its_parameters() -> None:
    for route in ROUTES:
        operation = DOCUMENT["paths"][route.path][route.method.lower()]
        named = {each["name"] for each in operation["parameters"]}
        assert named == {*re.findall(r"{(\w+)}", route.path), *(q.name for q in route.query)}
        assert operation["summary"].endswith(".")
        assert {"200", "400", "500", "503"} <= operation["responses"].keys()
        assert ("requestBody" in operation) == (route.takes is not None)


def test_its_parts_are_there_and_its_operations_have_names_of_their_own() -> None:
    assert DOCUMENT["openapi"] == "3.1.0" and DOCUMENT["info"]["title"] == "paddock"
    names = [route.name for route in ROUTES]
    assert len(set(names)) == len(names)
    for ref in re.findall(r"'#/components/schemas/(\w+)'", str(DOCUMENT)):
        assert ref in DOCUMENT["components"]["schemas"]
    for schema in DOCUMENT["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_environment_goes_in_and_never_comes_out() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    with_it = {name for name, schema in schemas.items() if "environment" in str(schema)}
    assert with_it == {"Submit", "Again"}


@pytest.mark.parametrize("route", [r for r in ROUTES if r.method == "GET"], ids=lambda r: r.name)
def test_real_answers_fit(desk: ServedDesk, client: Client, route: Any) -> None:
    if isinstance(route.gives, str):
        return
    runs = [an_agent("one", "exit=1"), an_agent("two", "sleep=60"), an_agent("bad", "exit=2")]
    answered = client.submit(desk.order(*runs, an_agent("top", needs=("two",))))
    assert desk.room is not None
    desk.room.prepare(answered.runs[0].id, repository=a_repository(desk.home / "repository"))
    client.wait(["one", "bad"])
    answer = ask(desk.places.socket, "GET", route.path.replace("{run}", "one"))
    _check(route.gives, answer.json, route)
    missing = ask(desk.places.socket, "GET", "/v1/runs/nobody")
    _check_problem(missing.json)


def test_answers_to_changes_fit(desk: ServedDesk, client: Client) -> None:
    [one] = client.submit(desk.order(an_agent("one", "sleep=60"))).runs
    assert desk.room is not None
    desk.room.prepare(one.id, repository=a_repository(desk.home / "repository"))
    for path, body in (
        ("/v1/runs/one/priority", b'{"priority": "high"}'),
        ("/v1/kill", b'{"runs": ["one"]}'),
        ("/v1/wait", b'{"runs": ["one"]}'),
        ("/v1/runs/one/retry", b'{"key": "another-key"}'),
        ("/v1/workspaces/check", b""),
        ("/v1/workspaces/gc", b'{"dry_run": true}'),
    ):
        route = next(r for r in ROUTES if r.path.replace("{run}", "one") == path)
        answer = ask(desk.places.socket, "POST", path, body)
        assert answer.status == 200, answer.body
        _check(route.gives, answer.json, route)


def test_it_is_served(desk: ServedDesk) -> None:
    answer = ask(desk.places.socket, "GET", "/v1/openapi.json")
    assert answer.json["paths"].keys() == DOCUMENT["paths"].keys()


def _check(_shape: Any, value: Any, route: Any) -> None:
    operation = DOCUMENT["paths"][route.path][route.method.lower()]
    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    _validate(schema, value)


def _check_problem(value: Any) -> None:
    _validate({"$ref": "#/components/schemas/Problem"}, value)


def _validate(schema: dict[str, Any], value: Any) -> None:
    whole = {**schema, "components": DOCUMENT["components"]}
    jsonschema.Draft202012Validator(whole).validate(value)


def test_the_reference_page_has_every_path_and_code() -> None:
    page = (PROJECT / "docs/reference/api.md").read_text(encoding="utf-8")
    for route in ROUTES:
        # The page joins what is below one run in a row: /story, /why.
        shown = route.path if route.path in page else "/" + route.path.rpartition("/")[2]
        assert f"{shown}`" in page or f"{shown}?" in page, route.path
        for query in route.query:
            assert f"{query.name}=" in page, query.name
    source = (PROJECT / "src/paddock/api/problems.py").read_text(encoding="utf-8")
    for code in re.findall(r'Declined\(\d+, "(\w+)"', source):
        assert f"`{code}`" in page, code
