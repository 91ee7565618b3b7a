"""What is written down, as state: the same from the journal and while it is written."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.stream.ledger import Ledger


def seal(link: int, number: int, at: int, size: int, **more: Any) -> dict[str, Any]:
    said = {"link": link, "n": number, "at": at, "bytes": size, "sha256": "00" * 32}
    return {"seal": said, **more}


def ack(link: int, upto: int, out: int | None = None) -> dict[str, Any]:
    return {"ack": {"link": link, "upto": upto, "out": out}}


def a_ledger(*records: dict[str, Any], steps: int = 2) -> Ledger:
    ledger = Ledger(steps)
    for record in records:
        ledger.apply(record)
    return ledger


def test_only_chunks_that_are_wholly_acknowledged_go() -> None:
    ledger = a_ledger(seal(0, 0, 0, 100), seal(0, 1, 100, 50))
    assert ledger.apply(ack(0, 99)) == []
    assert [chunk.number for _, chunk in ledger.apply(ack(0, 149))] == [0]
    link = ledger.links[0]
    assert (link.acked, link.first, link.is_lost) == (149, 100, False)


def test_less_than_before_changes_nothing() -> None:
    ledger = a_ledger(seal(0, 0, 0, 100), ack(0, 60), ack(0, 40))
    assert ledger.links[0].acked == 60


def test_what_is_dropped_without_a_word_is_lost_until_the_word_comes() -> None:
    ledger = a_ledger(seal(0, 0, 0, 100), seal(0, 1, 100, 50), {"drop": 0})
    assert ledger.links[0].is_lost
    ledger.apply(ack(0, 120))
    assert not ledger.links[0].is_lost


def test_a_chunk_and_what_it_was_made_of_are_one_line() -> None:
    ledger = a_ledger(seal(0, 0, 0, 100), seal(1, 0, 0, 7), steps=3)
    gone = ledger.apply(seal(1, 1, 7, 3, **ack(0, 100, out=10)))
    assert [(link.index, chunk.number) for link, chunk in gone] == [(0, 0)]
    after = ledger.links[1]
    assert (after.base, after.past, after.sealed) == (10, [], 10)


def test_who_is_done_needs_no_input() -> None:
    ledger = a_ledger(seal(0, 0, 0, 100))
    assert len(ledger.apply({"done": 1})) == 1
    assert ledger.done == {1}


def test_beginning_at_zero_forgets_all_but_how_far_it_was() -> None:
    ledger = a_ledger(seal(0, 0, 0, 100), {"done": 0}, {"drop": 0}, {"zero": 0})
    link = ledger.links[0]
    assert (link.sealed, link.number, link.reached, ledger.done) == (0, 0, 100, set())


def test_a_chunk_that_does_not_follow_the_last_is_no_record() -> None:
    with pytest.raises(ValueError, match="not where it should be"):
        a_ledger(seal(0, 0, 0, 100), seal(0, 2, 100, 1))
