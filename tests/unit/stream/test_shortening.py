"""A journal written anew says the same: whatever was in it, and whatever comes after."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from paddock.stream import shortening
from paddock.stream.ends import Trouble
from paddock.stream.journal import NAME, NEW_NAME, Journal
from paddock.stream.ledger import Ledger, Link
from paddock.stream.spec import parse
from tests.unit.stream.test_ledger import ack, seal

STAGE = parse({"steps": [{"name": name, "command": ["x"]} for name in ("a", "b", "c")]})
LINKS = 2


def standing(ledger: Ledger) -> list[Any]:
    """All of it that counts."""
    return [sorted(ledger.done), *map(_of_link, ledger.links)]


def _of_link(link: Link) -> tuple[Any, ...]:
    kept, past = link.kept, link.past or []
    facts = (link.number, link.sealed, link.acked, link.base, link.reached)
    return (*facts, *([(c.number, c.at, c.size, c.sha256) for c in each] for each in (kept, past)))


def something(ledger: Ledger, random: Random) -> dict[str, Any]:
    """A record that may come next."""
    link = ledger.links[random.randrange(LINKS)]
    size = random.randint(1, 50)
    sealed = seal(link.index, link.number, link.sealed, size)
    match random.randrange(12):
        case 0 if link.kept:
            return {"drop": link.index}
        case 1:
            return {"done": random.randrange(LINKS + 1)}
        case 2 if random.random() < 0.3:
            return {"zero": link.index}
        case 3 if link.index == 1:  # what it was made of, in the same line
            out = link.sealed + size
            return sealed | ack(0, random.randint(0, ledger.links[0].sealed), out=out)
        case 4 | 5 | 6:
            return ack(link.index, random.randint(0, link.sealed))
        case _:
            return sealed


def opened(directory: Path) -> tuple[Journal, Ledger]:
    journal = Journal(str(directory), STAGE)
    return journal, journal.load()


@pytest.mark.parametrize("seed", range(30))
def test_it_leads_to_the_same_ledger_again_and_again(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    journal, ledger = opened(tmp_path)
    for _ in range(4):
        for _ in range(random.randint(0, 60)):
            record = something(ledger, random)
            journal.add(record)
            ledger.apply(record)
        journal.shorten(ledger)
        journal.close()
        # Another life, which has all of the past in its memory; the last had it on disk.
        before = standing(ledger)
        journal, ledger = opened(tmp_path)
        assert standing(ledger) == before
        for link in ledger.links:
            assert [chunk.at for chunk in link.past or []] == sorted(
                {chunk.at for chunk in link.past or []}
            )
    journal.close()


def test_while_a_stage_runs_its_past_is_only_in_the_journal_and_stays(tmp_path: Path) -> None:
    journal, ledger = opened(tmp_path)
    for link in ledger.links:
        link.past = None
    for number in range(5):
        record = seal(0, number, 10 * number, 10)
        journal.add(record)
        ledger.apply(record)
    ledger.apply(ack(0, 50))
    journal.shorten(ledger)
    journal.close()
    _, again = opened(tmp_path)
    assert [chunk.number for chunk in again.links[0].past or []] == [0, 1, 2, 3, 4]
    assert (list(again.links[0].kept), again.links[0].acked) == ([], 50)


def test_a_long_one_of_acknowledgements_becomes_a_few_lines(tmp_path: Path) -> None:
    journal, ledger = opened(tmp_path)
    record = seal(0, 0, 0, 1 << 40)
    journal.add(record)
    ledger.apply(record)
    longest = shortened = 0
    for byte in range(0, 1 << 20, 16):
        record = ack(0, byte)
        # As the spool does it; without its syncs, which would take a minute here.
        with (tmp_path / NAME).open("ab") as file:
            file.write(b'{"ack":{"link":0,"upto":%d,"out":null}}\n' % byte)
        ledger.apply(record)
        longest = max(longest, (tmp_path / NAME).stat().st_size)
        if longest >= shortening.LONG_BYTES:
            journal.shorten(ledger)
            shortened = (tmp_path / NAME).stat().st_size
            break
    assert 0 < shortened < 1000
    assert not journal.is_long
    journal.close()
    _, again = opened(tmp_path)
    assert again.links[0].acked == ledger.links[0].acked


def test_it_is_taken_as_before_by_one_relay_alone(tmp_path: Path) -> None:
    journal, ledger = opened(tmp_path)
    journal.shorten(ledger)
    with pytest.raises(Trouble, match="another relay still works in"):
        Journal(str(tmp_path), STAGE)
    journal.close()
    Journal(str(tmp_path), STAGE).close()


def test_where_it_cannot_be_written_anew_it_goes_on_as_it_is(tmp_path: Path) -> None:
    journal, ledger = opened(tmp_path)
    (tmp_path / NEW_NAME).mkdir()
    whole = (tmp_path / NAME).read_bytes()
    journal.shorten(ledger)
    assert (tmp_path / NAME).read_bytes() == whole
    journal.add({"done": 0})
    journal.close()
    _, again = opened(tmp_path)
    assert again.done == {0}


def test_what_a_kill_left_of_one_is_not_believed(tmp_path: Path) -> None:
    journal, _ = opened(tmp_path)
    journal.add({"done": 0})
    journal.close()
    (tmp_path / NEW_NAME).write_bytes(b'{"spool":2,"steps":[["a","str')
    journal, ledger = opened(tmp_path)
    assert ledger.done == {0}
    journal.shorten(ledger)
    journal.close()
    assert not (tmp_path / NEW_NAME).exists()
    _, again = opened(tmp_path)
    assert again.done == {0}
