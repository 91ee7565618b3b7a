"""The story of a run in words: who stopped it, why, and what came of it."""

from __future__ import annotations

import pytest

from paddock.client.story import BACK, LEFT_BEHIND, PRESSED, story_of
from paddock.wire.views import MoveView

SHORT = "host memory 86 % used; frees 1 GiB (low priority)"


def moves(*told: tuple[str, str]) -> list[MoveView]:
    return [
        MoveView(at=float(at), state=state, attempt=1, because=because)
        for at, (state, because) in enumerate(told)
    ]


def test_what_is_no_stop_is_told_as_it_is() -> None:
    told = [("queued", "submitted"), ("running", "the agent runs"), ("ended", "exit code 0")]
    assert story_of(moves(*told), "succeeded") == [because for _, because in told]


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        ("cancelled", "a user stopped it: why"),
        ("timeout_exceeded", "paddock stopped it: why"),
        (None, "is being stopped: why"),
    ],
)
def test_a_stop_says_who_and_why_and_its_reason_once(outcome: str | None, said: str) -> None:
    told = [("stopping", "why"), ("stopping", "why")]
    if outcome is not None:
        told.append(("ended", "why"))
    end = [outcome] if outcome else []
    assert story_of(moves(*told), outcome) == [said, PRESSED[0], *end]


def test_one_that_comes_back_was_stopped_by_paddock_whatever_its_end_was_later() -> None:
    told = moves(
        ("stopping", SHORT),
        ("queued", SHORT),
        ("running", "the agent runs"),
        ("stopping", "cancelled on request"),
        ("ended", "cancelled on request"),
    )
    assert story_of(told, "cancelled") == [
        f"paddock stopped it: {SHORT}",
        BACK,
        "the agent runs",
        "a user stopped it: cancelled on request",
        "cancelled",
    ]


def test_one_that_stays_is_not_pressed_harder_for_ever() -> None:
    told = moves(*[("stopping", "why")] * 5, ("ended", "why"))
    assert story_of(told, "cancelled")[1:-1] == [*PRESSED, PRESSED[-1]]


def test_one_that_ended_by_itself_was_stopped_by_nobody() -> None:
    because = f"the agent ended (exit code 0){LEFT_BEHIND}"
    told = moves(("stopping", because), ("stopping", because), ("ended", "exit code 0"))
    first, second, _ = story_of(told, "succeeded")
    assert first == f"{because}: they are killed"
    assert second == PRESSED[0]


def test_a_step_that_was_stopped_says_its_reason_once_too() -> None:
    told = moves(("stopping", SHORT), ("queued", f"step build: {SHORT}"))
    assert story_of(told, None)[1] == BACK


def test_an_end_that_the_agent_chose_itself_keeps_its_own_words() -> None:
    told = moves(("stopping", SHORT), ("ended", "exit code 0"))
    assert story_of(told, "succeeded")[1] == "exit code 0"


def test_moves_that_are_not_kept_are_counted() -> None:
    [folded] = moves(("running", "frozen"))
    folded.moves = 8
    assert story_of([folded], None) == ["frozen (and 7 moves more, not kept)"]
