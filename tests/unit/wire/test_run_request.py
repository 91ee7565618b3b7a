"""From a request to what the core sees, and over the wire and back."""

from __future__ import annotations

import math

import msgspec
import pytest

from paddock.config.policy import run_defaults
from paddock.core.run import Complexity, Priority
from paddock.core.units import GIB
from paddock.wire.run_request import RunRequest, Step, memory_high_bytes, to_spec
from tests.unit.config.files import settings

DEFAULTS = run_defaults(settings(), 64 * GIB)


def test_a_request_that_says_nothing_gets_the_defaults() -> None:
    spec = to_spec(RunRequest(name="a", command=("x",)), DEFAULTS, ids={"a": "r1"})
    assert (spec.id, spec.name, spec.group) == ("r1", "a", "x")
    assert (spec.limit_bytes, spec.soft_limit_bytes) == (4 * GIB, None)
    assert (spec.priority, spec.complexity) == (Priority.NORMAL, Complexity.MEDIUM)
    assert (spec.hard_timeout_s, spec.soft_timeout_s) == (None, None)


def test_what_a_request_says_reaches_the_core() -> None:
    request = RunRequest(
        name="a",
        command=("x",),
        priority="critical",
        memory_bytes=GIB,
        timeout_s=7200.0,
        soft_timeout_s=60.0,
        complexity="complex",
        needs=("b", "r7"),
        retries=2,
        group="g",
    )
    spec = to_spec(request, DEFAULTS, ids={"a": "r1", "b": "r2"})
    assert (spec.priority, spec.complexity) == (Priority.CRITICAL, Complexity.COMPLEX)
    assert (spec.limit_bytes, spec.group, spec.retries) == (GIB, "g", 2)
    assert (spec.hard_timeout_s, spec.soft_timeout_s) == (7200.0, 60.0)
    assert spec.needs == ("r2", "r7")


def test_no_timeout_is_infinite_and_a_configured_soft_one_counts() -> None:
    defaults = run_defaults(settings("performance: {soft_timeout: 5m}"), 64 * GIB)
    spec = to_spec(RunRequest(name="a", timeout_s="none"), defaults, ids={"a": "a"})
    assert (spec.hard_timeout_s, spec.soft_timeout_s) == (math.inf, 300.0)


def test_the_soft_limit_is_only_for_drivers_without_walls_and_follows_what_was_asked() -> None:
    def soft(request: RunRequest) -> int | None:
        return to_spec(request, DEFAULTS, ids={"a": "a"}, hard_wall=False).soft_limit_bytes

    assert soft(RunRequest(name="a")) == 2 * GIB
    assert soft(RunRequest(name="a", memory_bytes=GIB)) == GIB
    assert soft(RunRequest(name="a", memory_bytes=8 * GIB)) == 8 * GIB


def test_the_high_mark_is_always_below_the_limit() -> None:
    assert memory_high_bytes(RunRequest(name="a"), DEFAULTS) == 3 * GIB
    half = RunRequest(name="a", memory_bytes=2 * GIB, memory_high_percent=50.0)
    assert memory_high_bytes(half, DEFAULTS) == GIB
    above = RunRequest(name="a", memory_bytes=2 * GIB, memory_high_bytes=3 * GIB)
    assert memory_high_bytes(above, DEFAULTS) == 3 * GIB // 2


@pytest.mark.parametrize(
    ("repo", "group"),
    [
        ("https://me:secret@host/team/shop.git", "x/shop"),
        ("https://me:secret@host", "x/host"),
        ("https://host/shop.git?private_token=secret", "x/shop"),
        ("git@host:team/shop.git", "x/shop"),
    ],
)
def test_a_password_in_an_address_is_in_no_group_and_no_repr(repo: str, group: str) -> None:
    request = RunRequest(name="a", command=("x",), repo=repo)
    assert request.group_in("here") == group
    assert "secret" not in repr(request)


def test_without_a_repository_the_project_is_in_the_group_and_a_group_that_was_said_stays() -> None:
    tests = RunRequest(name="a", command=("make", "test"), role="testing")
    assert tests.group_in("shop") == "make/shop/testing"
    assert tests.group_in("") == "make/testing"
    assert RunRequest(name="a", command=("x",), group="mine").group_in("shop") == "mine"
    spec = to_spec(tests, DEFAULTS, ids={"a": "a"}, project="shop")
    assert spec.group == "make/shop/testing"


def test_a_request_survives_json() -> None:
    request = RunRequest(
        name="a",
        steps=(Step(name="s", command=("x", "y")),),
        cpu="unlimited",
        timeout_s="none",
        env={"A": "1"},
        memory_high_percent=60.0,
    )
    assert msgspec.json.decode(msgspec.json.encode(request), type=RunRequest) == request


@pytest.mark.parametrize(
    ("command", "group"),
    [
        (("claude", "-p", "do it"), "claude"),
        (("/usr/bin/python3", "train.py", "--fast"), "train.py"),
        (("python3.11", "-I", "/opt/agent.py"), "agent.py"),
        (("bash", "-x", "./review.sh"), "review.sh"),
        (("sh",), "sh"),
        (("python3", "-"), "python3"),
    ],
)
def test_a_group_is_named_by_what_runs_not_by_what_runs_it(
    command: tuple[str, ...], group: str
) -> None:
    assert RunRequest(name="a", command=command).group_in("") == group


def test_two_lines_of_shell_are_two_groups_and_the_same_line_is_one() -> None:
    """Three failures of one must not close the door on the others."""
    groups = [
        RunRequest(name="a", command=("sh", "-c", text)).group_in("")
        for text in ("exit 1", "exit 2", "exit 1")
    ]
    assert groups[0] == groups[2] != groups[1]
