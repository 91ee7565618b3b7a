"""What fails beside the loop is told once, and goes on."""

from __future__ import annotations

import logging

import pytest

from paddock.supervisor.steady import Steady

log = logging.getLogger("paddock.test")


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, bool]]:
    """With whether it says where."""
    return [(one.getMessage(), one.exc_info is not None) for one in caplog.records]


def test_each_kind_is_told_once_until_all_went_well(caplog: pytest.LogCaptureFixture) -> None:
    steady = Steady(log)
    turns: list[Exception | None] = [OSError("full"), OSError("full"), KeyError(), KeyError()]
    for error in (*turns, None, OSError("full")):
        with steady.turn("no report"):
            if error is not None:
                raise error
    full = ("no report: full", False)
    assert told(caplog) == [full, ("no report: KeyError", True), full]


def test_what_the_loop_calls_fails_alone(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[int] = []

    def hear(number: int) -> None:
        heard.append(10 // number)

    guarded = Steady(log).guarded("not counted", hear)
    for number in (1, 0, 0, 2):
        guarded(number)
    assert heard == [10, 5] and len(caplog.records) == 1


def test_being_told_to_stop_is_no_failure() -> None:
    with pytest.raises(KeyboardInterrupt), Steady(log).turn("no report"):
        raise KeyboardInterrupt
