"""Every event, outcome, state and priority is on its page."""

from __future__ import annotations

import re
from typing import get_args

from paddock.core import events
from paddock.core.run import ALLOWED_MOVES, Outcome, Priority
from tests.architecture.source import PROJECT


def words_of(page: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", (PROJECT / "docs" / page).read_text(encoding="utf-8")))


def test_every_event_is_on_the_page_of_events() -> None:
    names = {kind.__name__ for kind in get_args(events.Event)}
    assert names
    assert names - words_of("develop/events.md") == set()


def test_every_outcome_state_and_priority_is_on_its_page() -> None:
    told = words_of("reference/states.md")
    assert {str(outcome) for outcome in Outcome} - told == set()
    assert {priority.name.lower() for priority in Priority} - told == set()
    states = {state.__name__.lower() for state in ALLOWED_MOVES}
    assert states - told == set()
