"""Requests made from the OpenAPI document, right ones and wrong ones, against a served desk.

None of them is a bug, each answer is what the document says, and what is declined is told in one
line. `make hunt` makes many more of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import load_all_checks
from schemathesis.specs.openapi import checks as openapi_checks

from paddock.api.openapi import document
from paddock.api.routes import ROUTES, Route
from tests.kit.desk import ServedDesk, a_desk, an_agent

IS_HUNT: Final = os.environ.get("HYPOTHESIS_PROFILE") == "long"
EXAMPLES: Final = 600 if IS_HUNT else 10
WITHIN_S: Final = 30.0
LONGEST_MESSAGE: Final = 400
SCHEMA: Final = schemathesis.openapi.from_dict(document(ROUTES))
# A stream of events has no end; that it begins and what it says is shown in test_streaming.
ASKED: Final = [route for route in ROUTES if route.name != "events"]
# What says nothing but its path cannot be wrong.
CASES: Final = [(route, GenerationMode.POSITIVE) for route in ASKED] + [
    (route, GenerationMode.NEGATIVE) for route in ASKED if route.query or route.takes is not None
]
IDS: Final = [f"{route.name}-{mode.value}" for route, mode in CASES]
CHECKS: Final = [
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_headers_conformance,
    openapi_checks.response_schema_conformance,
]


class Door:
    """The desk over TCP, with its token."""

    def __init__(self, desk: ServedDesk) -> None:
        port = desk.server._listeners[0]._socket.getsockname()[1]  # noqa: SLF001
        self.address = f"http://127.0.0.1:{port}"
        token = desk.places.token.read_text(encoding="ascii").strip()
        self.headers = {"Authorization": f"Bearer {token}"}
        self.session = requests.Session()


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    with a_desk(tmp_path_factory.mktemp("asked"), listen="127.0.0.1:0") as desk:
        desk.submit(an_agent("works", "print=hello", "sleep=6000"))
        desk.submit(an_agent("ended", "print=hello", "exit=3"))
        opened = Door(desk)
        with opened.session:
            yield opened


def asks(route: Route, mode: GenerationMode) -> st.SearchStrategy[Case[Any]]:
    return SCHEMA[route.path][route.method].as_strategy(generation_mode=mode)


def ask(door: Door, case: Case[Any], run: str | None) -> Any:
    if run is not None and "run" in (case.path_parameters or {}):
        case.path_parameters = {**case.path_parameters, "run": run}
    if isinstance(case.query, dict):
        case.query.pop("follow", None)  # it would be answered when the run has ended
    if isinstance(case.body, dict):
        timeout_s = case.body.get("timeout_s")
        if isinstance(timeout_s, int | float) and 0 <= timeout_s <= 3600:
            case.body["timeout_s"] = 0
    return case.call(
        base_url=door.address, session=door.session, headers=door.headers, timeout=WITHIN_S
    )


def is_told_in_one_line(answer: Any) -> bool:
    said = answer.json()
    message = said["message"]
    is_plain = message.isprintable() and 0 < len(message) <= LONGEST_MESSAGE
    return is_plain and said["code"] != "internal"


@pytest.mark.timeout(3600 if IS_HUNT else 120)
@pytest.mark.parametrize(("route", "mode"), CASES, ids=IDS)
def test_an_answer_is_as_the_document_says(door: Door, route: Route, mode: GenerationMode) -> None:
    load_all_checks()

    @settings(
        max_examples=EXAMPLES,
        derandomize=not IS_HUNT,
        database=None,
        deadline=None,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(case=asks(route, mode), run=st.sampled_from([None, "works", "ended"]))
    def check(case: Case[Any], run: str | None) -> None:
        answer = ask(door, case, run)
        assert answer.status_code < 500, answer.content
        assert answer.status_code < 400 or is_told_in_one_line(answer), answer.content
        case.validate_response(answer, checks=[*CHECKS, openapi_checks.negative_data_rejection])

    check()


def test_after_all_of_that_it_still_answers(door: Door) -> None:
    found = door.session.get(f"{door.address}/v1/status", headers=door.headers, timeout=WITHIN_S)
    assert found.status_code == 200 and found.json()["driver"] == "fake"
