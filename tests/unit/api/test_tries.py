"""How often a run was begun, as people count it."""

from __future__ import annotations

from msgspec import structs

from paddock.api.views_of import tries_seen
from paddock.core.run import Outcome, Queued
from tests.kit.factories import a_spec
from tests.kit.yard import Yard


def test_who_counts_tries_does_not_count_steps() -> None:
    yard = Yard()
    yard.run(structs.replace(a_spec("a"), steps=("build", "test", "ship"), retries=1))
    assert tries_seen(yard["a"]) == 1
    yard.end("a")
    yard.confirm()
    assert (yard["a"].attempts, tries_seen(yard["a"])) == (2, 1)
    yard.end("a", code=1)
    assert tries_seen(yard["a"]) == 1  # and waits for the next
    at = yard.in_state("a", Queued).not_before_at
    assert at is not None
    yard.advance(at - yard.now)
    assert (yard["a"].attempts, tries_seen(yard["a"])) == (3, 2)
    for _ in range(2):
        yard.confirm()
        yard.end("a")
    assert yard.outcome("a") is Outcome.SUCCEEDED
    assert (yard["a"].attempts, tries_seen(yard["a"])) == (4, 2)
