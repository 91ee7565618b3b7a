"""What `kubectl get agentruns` shows: columns that lead to what controllers really write."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.cluster.agent_run import STATES, crd
from paddock.core.run import Ended, Outcome, Queued
from paddock.storage.agent_runs import status_of
from tests.kit.factories import a_run

[VERSION] = crd()["spec"]["versions"]
COLUMNS = {one["name"]: one for one in VERSION["additionalPrinterColumns"]}
SCHEMA = VERSION["schema"]["openAPIV3Schema"]


def at(path: str, one: dict[str, Any]) -> Any:
    """As a JSONPath of plain names leads."""
    assert path.startswith(".")
    found: Any = one
    for name in path[1:].split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def shown(status: dict[str, Any], **spec: str) -> dict[str, Any]:
    one = {"metadata": {"creationTimestamp": "2026-11-17T12:00:00Z"}, "spec": spec}
    return {
        name: at(column["jsonPath"], {**one, "status": status}) for name, column in COLUMNS.items()
    }


def test_the_columns_are_those_that_people_ask_for_in_that_order() -> None:
    assert list(COLUMNS) == ["State", "Outcome", "Attempt", "Priority", "Role", "Because", "Age"]


@pytest.mark.parametrize("name", COLUMNS)
def test_every_column_leads_to_a_field_of_the_schema_of_its_type(name: str) -> None:
    column = COLUMNS[name]
    if column["jsonPath"].startswith(".metadata."):
        assert (column["jsonPath"], column["type"]) == (".metadata.creationTimestamp", "date")
        return
    field: dict[str, Any] = SCHEMA
    for part in column["jsonPath"][1:].split("."):
        field = field["properties"][part]
    assert field["type"] == column["type"]


def test_a_run_that_waits_and_one_that_ended_are_shown_with_their_reasons() -> None:
    run = a_run(state=Queued(since_at=1.0))
    waiting = shown(status_of(run, "at place 2", (), term=1), priority="high", role="quality")
    assert waiting["State"] in STATES and waiting["State"] == "queued"
    assert (waiting["Because"], waiting["Outcome"]) == ("at place 2", None)
    assert (waiting["Priority"], waiting["Role"]) == ("high", "quality")
    end = Ended(since_at=2.0, outcome=Outcome.FAILED, because="exit code 7", exit_code=7)
    ended = shown(status_of(a_run(state=end), "", (), term=1))
    assert (ended["State"], ended["Outcome"], ended["Because"]) == (
        "ended",
        "failed",
        "exit code 7",
    )
    assert isinstance(ended["Attempt"], int) and ended["Age"]
