"""What came of the last submission serves the next, and nothing that differs is overlooked."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, cast

import pytest
from msgspec import structs

from paddock.api import projects
from paddock.api.alike import Alike
from paddock.api.submitting import Plan
from paddock.core.run import RunSpec
from paddock.drivers.fake.driver import FakeDriver
from paddock.ports import Driver, Guarantees, Recipe
from paddock.wire.run_request import RunRequest
from paddock.wire.views import Submit
from tests.api.test_at_once import USUAL
from tests.kit.desk import ServedDesk, look_around
from tests.kit.raw_http import connect, next_answer, submission
from tests.kit.waiting import until

SLEEP = ("sleep=60",)


@pytest.fixture
def line(desk: ServedDesk, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    look_around(desk, monkeypatch)
    with connect(desk.places.socket) as made:
        yield made


@pytest.fixture
def alike(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of every submission that comes plainly: whether it was like the one before."""
    found: list[bool] = []
    plan = Alike.plan

    def noted(self: Alike, body: Submit) -> Plan | None:
        made = plan(self, body)
        found.append(made is not None)
        return made

    monkeypatch.setattr(Alike, "plan", noted)
    return found


def asked(desk: ServedDesk, name: str, run: Any, order: Any) -> Submit:
    words = {"command": SLEEP, "memory_bytes": 64 << 20, **run}
    return desk.order(RunRequest(name=name, **words), **order)


def taken(
    desk: ServedDesk, line: socket.socket, order: Submit, more: bytes = b""
) -> tuple[RunSpec, Recipe]:
    """What the core and the store were told of it, without what differs every time."""
    line.sendall(submission(order, more))
    status, said = next_answer(line)
    assert status == 200, said
    run = said["runs"][0]["id"]
    spec = desk.now(lambda: desk.supervisor.fleet.runs[run].spec)
    assert (spec.id, spec.name) == (run, order.runs[0].name)
    recipe = desk.store.recipe(run)
    assert recipe is not None
    assert recipe.labels["key"] == order.key
    labels = {name: value for name, value in recipe.labels.items() if name != "key"}
    return structs.replace(spec, id="", name=""), replace(recipe, labels=labels)


def test_a_loop_of_the_same_is_looked_at_once(
    desk: ServedDesk, line: socket.socket, alike: list[bool]
) -> None:
    found = [taken(desk, line, asked(desk, f"run-{n}", {}, {})) for n in range(4)]
    usual = taken(desk, line, asked(desk, "usual", {}, {}), USUAL)
    assert alike == [False, True, True, True]
    assert found == [usual] * 4


CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "command": ({"command": ("sleep=61",)}, {}),
    "priority": ({"priority": "high"}, {}),
    "memory": ({"memory_bytes": 65 << 20}, {}),
    "no memory": ({"memory_bytes": None}, {}),
    "memory_high": ({"memory_high_percent": 50.0}, {}),
    "cpu": ({"cpu": 1.5}, {}),
    "cpu unlimited": ({"cpu": "unlimited"}, {}),
    "pids": ({"pids": 77}, {}),
    "timeout": ({"timeout_s": 77.0}, {}),
    "no timeout": ({"timeout_s": "none"}, {}),
    "soft timeout": ({"soft_timeout_s": 7.0}, {}),
    "complexity": ({"complexity": "simple"}, {}),
    "resume": ({"resume": ("sleep=62",)}, {}),
    "role": ({"role": "review"}, {}),
    "model": ({"model": "large"}, {}),
    "group": ({"group": "mine"}, {}),
    "retries": ({"retries": 2}, {}),
    "env": ({"env": {"A": "own"}}, {}),
    "on_end": ({"on_end": "true"}, {}),
    "profile": ({"performance_profile": "low"}, {}),
    "strict": ({"strict": True}, {}),
    "environment": ({}, {"environment": {"A": "c"}}),
    "one more variable": ({}, {"environment": {"A": "b", "B": ""}}),
    "profile of all": ({}, {"profile": "low"}),
    "profile in the environment": ({}, {"environment": {"A": "b", "PADDOCK_PROFILE": "low"}}),
    "fleet": ({}, {"fleet": "payments"}),
    "umask": ({}, {"umask": 0o27}),
}


def test_whatever_differs_is_taken_as_it_is_said(
    desk: ServedDesk, line: socket.socket, alike: list[bool]
) -> None:
    plain = taken(desk, line, asked(desk, "plain", {}, {}))
    for change, (run, order) in CHANGES.items():
        alike.clear()
        found = [taken(desk, line, asked(desk, f"other-{n}", run, order)) for n in range(2)]
        usual = taken(desk, line, asked(desk, "usual", run, order), USUAL)
        again = taken(desk, line, asked(desk, "plain-again", {}, {}))
        assert found == [usual, usual], change
        assert again == plain, change
        assert alike == [False, True, False], change


def test_every_word_of_a_run_is_among_the_changes_or_never_alike() -> None:
    """A field that is added later has to be thought of, here and in `alike`."""
    tried = {name for run, _ in CHANGES.values() for name in run}
    apart = {"name", "steps", "dir", "repo", "needs", "stdin", "driver"}
    of_agent = {"agent", "prompt", "arguments", "program"}
    of_repo = {"branch", "shallow", "sparse", "submodules", "any_size", "ready_marker"}
    high = {"memory_high_bytes"}
    assert set(RunRequest.__struct_fields__) == tried | apart | of_agent | of_repo | high


def test_settings_that_change_meanwhile_count(
    desk: ServedDesk, line: socket.socket, alike: list[bool]
) -> None:
    silent = {"memory_bytes": None}
    before = taken(desk, line, asked(desk, "a", silent, {}))
    assert taken(desk, line, asked(desk, "b", silent, {})) == before
    project = desk.home / ".paddock/config.yaml"
    project.parent.mkdir()
    project.write_text("sandbox:\n  memory_limit: 96M\n", encoding="utf-8")

    def counts() -> bool:  # files are looked at every 20 ms
        return taken(desk, line, asked(desk, "c", silent, {}))[0].limit_bytes == 96 << 20

    until(counts, within_s=60)
    assert alike[:2] == [False, True]


class Weaker(FakeDriver):
    """Without walls: what a run may use is only watched."""

    @property
    def guarantees(self) -> Guarantees:
        return replace(super().guarantees, hard_memory_wall=False)


def test_policy_project_and_driver_that_change_meanwhile_count(
    desk: ServedDesk, line: socket.socket, alike: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    def after(name: str, change: Callable[[], object]) -> RunSpec:
        taken(desk, line, asked(desk, f"{name}-before", {}, {}))
        taken(desk, line, asked(desk, f"{name}-alike", {}, {}))
        desk.now(change)
        found = taken(desk, line, asked(desk, f"{name}-after", {}, {}))
        assert alike[-2:] == [True, False]
        assert found == taken(desk, line, asked(desk, f"{name}-usual", {}, {}), USUAL)
        return found[0]

    policy = replace(desk.supervisor.fleet.policy, ageing_s=77.0)
    after("policy", lambda: desk.supervisor.set_policy(policy))

    monkeypatch.setattr(projects, "project_of", lambda _: "moved-here")
    here = [str(desk.home)]
    found = after("project", lambda: desk.server._desk.projects.look_at(here))  # noqa: SLF001
    assert "moved-here" in found.group

    drivers = cast(dict[str, Driver], desk.supervisor.drivers)
    weaker = Weaker(write=desk.output.append)
    assert after("driver", lambda: drivers.update(fake=weaker)).soft_limit_bytes is not None


def test_after_a_while_its_program_is_looked_for_again(
    desk: ServedDesk, line: socket.socket, alike: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Alike, "known_s", 0.0)
    for name in ("one", "two"):
        taken(desk, line, asked(desk, name, {}, {}))
    monkeypatch.undo()
    assert alike == [False, False]


def test_a_run_whose_group_is_its_name_is_like_no_other(
    desk: ServedDesk, line: socket.socket, alike: list[bool]
) -> None:
    """Neither its program nor its directory has a name."""
    for name in ("zero", "one", "two"):  # the first looks at the directory
        found, _ = taken(desk, line, asked(desk, name, {"command": ("/",)}, {"directory": "/"}))
        assert found.group == name
    assert alike == [False] * 3


def test_a_bad_name_is_declined_whatever_came_before(
    desk: ServedDesk, line: socket.socket, alike: list[bool]
) -> None:
    taken(desk, line, asked(desk, "good", {}, {}))
    for name in ("", "a b", "../a", "x" * 200):
        found = []
        for more in (b"", USUAL):
            line.sendall(submission(asked(desk, name, {}, {}), more))
            found.append(next_answer(line))
        assert found[0] == found[1] and found[0][0] == 400
    assert not any(alike)
