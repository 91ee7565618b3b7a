"""The codes that scripts rely on, held against the words of those who write them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from paddock.cli.ends import code_of, in_words
from paddock.core.run import Outcome
from paddock.drivers.local.keeper.protocol import Order
from paddock.drivers.local.keeper.shim import why_failed
from paddock.wire.views import RunView
from tests.unit.cli.fake_daemon import FakeDaemon


def ended(**facts: Any) -> RunView:
    return FakeDaemon().add("x", state="ended", **facts)


@pytest.mark.parametrize("number", [1, 9, 11, 15, 64])
def test_death_by_a_signal_is_128_and_its_number(number: int) -> None:
    assert code_of(ended(outcome="failed", signal=number, because="whatever")) == 128 + number


@pytest.mark.parametrize(("code", "expected"), [(126, 126), (127, 127), (1, 127)])
def test_a_command_that_could_not_be_started_is_known_from_the_shims_own_words(
    code: int, expected: int
) -> None:
    order = cast("Order", SimpleNamespace(argv=["./x"], cwd="/", cgroups=[]))
    because = f"could not be started: {why_failed('exec', code, order)}"
    assert code_of(ended(outcome="spawn_failed", because=because)) == expected


@pytest.mark.parametrize("step", ["cwd", "cgroup", "start"])
def test_what_paddock_could_not_do_is_125(step: str) -> None:
    order = cast("Order", SimpleNamespace(argv=["./x"], cwd="/no: not found", cgroups=["/c"]))
    because = f"could not be started: {why_failed(step, 125, order)} "
    assert code_of(ended(outcome="spawn_failed", because=because)) == 125


def test_an_agents_own_code_is_passed_on_whatever_it_is() -> None:
    for code in (1, 2, 3, 124, 130, 255):
        assert code_of(ended(outcome="failed", exit_code=code)) == code


def test_failed_in_spite_of_exit_code_0_is_1() -> None:
    assert code_of(ended(outcome="failed", exit_code=0)) == 1


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_has_a_code_and_only_success_is_0(outcome: Outcome) -> None:
    code = code_of(ended(outcome=str(outcome), because="why"))
    assert (code == 0) == (outcome is Outcome.SUCCEEDED)


def test_an_end_in_words() -> None:
    assert in_words(ended(outcome="succeeded", exit_code=0)) == "succeeded (exit code 0)"
    assert in_words(ended(outcome="failed", exit_code=7)) == "failed (exit code 7)"
    assert in_words(ended(outcome="lost", because="who knows")) == "lost: who knows"
