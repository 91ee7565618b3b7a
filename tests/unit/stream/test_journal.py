"""The journal on disk: whole lines count, a torn one is as if it had never been."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.stream.ends import Trouble
from paddock.stream.journal import Journal
from paddock.stream.spec import parse
from tests.unit.stream.test_ledger import ack, seal

STAGE = parse({"steps": [{"name": "a", "command": ["x"]}, {"name": "b", "command": ["y"]}]})
RECORDS = [seal(0, 0, 0, 100), seal(0, 1, 100, 50), ack(0, 100), {"done": 0}]


def a_journal(directory: Path) -> bytes:
    journal = Journal(str(directory), STAGE)
    journal.load()
    for record in RECORDS:
        journal.add(record)
    journal.close()
    return (directory / "journal").read_bytes()


def test_what_is_written_is_read(tmp_path: Path) -> None:
    a_journal(tmp_path)
    ledger = Journal(str(tmp_path), STAGE).load()
    assert (ledger.links[0].sealed, ledger.links[0].acked, ledger.done) == (150, 100, {0})


def test_cut_anywhere_it_is_as_after_its_last_whole_line(tmp_path: Path) -> None:
    whole = a_journal(tmp_path)
    for size in range(len(whole)):
        (tmp_path / "journal").write_bytes(whole[:size])
        journal = Journal(str(tmp_path), STAGE)
        ledger = journal.load()
        lines = max(0, whole[:size].count(b"\n") - 1)
        assert ledger.links[0].number == min(2, lines)
        journal.add({"done": 1})  # goes on a line of its own
        journal.close()
        again = Journal(str(tmp_path), STAGE)
        assert again.load().done >= {1}
        again.close()


def test_zeros_at_the_end_are_a_torn_line(tmp_path: Path) -> None:
    """As a power cut leaves them."""
    whole = a_journal(tmp_path)
    (tmp_path / "journal").write_bytes(whole + bytes(300))
    assert Journal(str(tmp_path), STAGE).load().done == {0}
    assert (tmp_path / "journal").read_bytes() == whole


def test_one_relay_at_a_time(tmp_path: Path) -> None:
    first = Journal(str(tmp_path), STAGE)
    with pytest.raises(Trouble, match="another relay still works in"):
        Journal(str(tmp_path), STAGE)
    first.close()
    Journal(str(tmp_path), STAGE).close()
