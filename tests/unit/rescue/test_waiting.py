"""Whether anybody waits is read from a store that nobody has open; nothing is left beside it."""

from __future__ import annotations

from pathlib import Path

from paddock.rescue.waiting import anybody_waits
from paddock.storage.sqlite import open_store
from tests.kit.factories import a_run
from tests.kit.remembering import submitted


def test_a_store_that_was_never_made_knows_nobody(tmp_path: Path) -> None:
    assert not anybody_waits(str(tmp_path / "none.db"))


def test_who_has_not_ended_is_seen_and_no_file_is_left_beside_the_store(tmp_path: Path) -> None:
    path = tmp_path / "odd %name?.db"
    store = open_store(path)
    store.close()
    before = set(tmp_path.iterdir())
    assert not anybody_waits(str(path))
    store = open_store(path)
    store.remember(submitted(a_run()))
    store.close()
    assert anybody_waits(str(path))
    assert set(tmp_path.iterdir()) == before


def test_where_it_cannot_be_told_somebody_is_to_look(tmp_path: Path) -> None:
    path = tmp_path / "paddock.db"
    path.write_bytes(b"no database")
    assert anybody_waits(str(path))
    path.unlink()
    open_store(path).close()
    (tmp_path / "paddock.db-wal").touch()  # its daemon died
    assert anybody_waits(str(path))
