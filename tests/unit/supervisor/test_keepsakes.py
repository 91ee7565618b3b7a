"""What lies between two attempts: whose it is, and that no attempt speaks for another."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.core.run import Attempt
from paddock.ports import Launch
from paddock.supervisor.keepsakes import AFTER_LABEL, LATER, VARIABLE, Keepsakes
from paddock.supervisor.later import Stated


def a_launch(run: str, number: int, *, after: str | None = None) -> Launch:
    return Launch(
        attempt=Attempt(run, number),
        command=("true",),
        environment={},
        directory=Path("/"),
        limit_bytes=1 << 20,
        labels={} if after is None else {AFTER_LABEL: after},
    )


def say_later(given: Launch, text: str) -> None:
    Path(given.ours[LATER]).write_text(text, encoding="ascii")


def test_each_attempt_states_its_own_time_and_may_be_asked_twice(tmp_path: Path) -> None:
    kept = Keepsakes(tmp_path)
    first = kept.given(a_launch("a", 1))
    assert kept.stated(first.attempt) == Stated()
    say_later(first, "3600")
    for _ in range(2):  # a daemon that died before it remembered the end looks once more
        assert kept.stated(first.attempt).after_s == pytest.approx(3600, abs=600)
    second = kept.given(a_launch("a", 2))
    assert kept.stated(second.attempt) == Stated()
    assert not Path(first.ours[LATER]).exists()


def test_what_the_run_before_said_is_not_said_by_the_one_that_goes_on_with_it(
    tmp_path: Path,
) -> None:
    kept = Keepsakes(tmp_path)
    first = kept.given(a_launch("a", 1))
    say_later(first, "3600")
    (Path(first.ours[VARIABLE]) / "work").touch()
    again = kept.given(a_launch("b", 1, after="a"))
    assert kept.stated(again.attempt) == Stated()
    assert (Path(again.ours[VARIABLE]) / "work").exists()


def test_a_stated_time_is_no_checkpoint(tmp_path: Path) -> None:
    """Who only asked to be tried later may know nothing of checkpoints, and is not waited for."""
    kept = Keepsakes(tmp_path)
    given = kept.given(a_launch("a", 1))
    say_later(given, "5")
    assert not kept.is_used("a")
    (Path(given.ours[VARIABLE]) / "state").touch()
    assert kept.is_used("a")
