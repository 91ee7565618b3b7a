"""The write-ahead log has its length from the start, and what it is paved with is never read."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from paddock.storage.opening import PAVED_BYTES
from paddock.storage.sqlite import SqliteStore, open_store
from tests.kit.disks import a_small_disk
from tests.kit.remembering import numbered, submitted
from tests.kit.waiting import until

# Says each number when it is kept, and empties the log every now and then.
WRITER = """
import sys
from pathlib import Path
from paddock.storage.sqlite import open_store
from tests.kit.remembering import numbered, submitted
store = open_store(Path(sys.argv[1]))
for n in range(int(sys.argv[2]), 100_000):
    store.remember(submitted(numbered(n)))
    print(n, flush=True)
    if n % 7 == 0:
        store.tidy(now_at=1.0)
"""


def wal_of(store: SqliteStore) -> Path:
    return Path(f"{store.path}-wal")


def test_commits_do_not_let_it_grow(path: Path) -> None:
    store = open_store(path)
    assert wal_of(store).stat().st_size == PAVED_BYTES
    for n in range(1, 1500):  # more pages than a log holds before it begins anew
        store.remember(submitted(numbered(n)))
    assert wal_of(store).stat().st_size == PAVED_BYTES
    store.tidy(now_at=1.0)
    assert wal_of(store).read_bytes() == bytes(PAVED_BYTES)
    store.close()
    again = open_store(path)
    assert len(again.load().runs) == 1499
    again.close()


def test_where_room_is_scarce_it_takes_none(tmp_path: Path) -> None:
    with a_small_disk(tmp_path, size="16m") as disk:
        store = open_store(disk.root / "state" / "fleet.db")
        assert wal_of(store).stat().st_size == 0
        store.remember(submitted(numbered(1)))
        assert 0 < wal_of(store).stat().st_size < 1_000_000
        store.close()


def test_zeros_that_a_killed_daemon_left_are_an_empty_log(path: Path) -> None:
    store = open_store(path)
    store.remember(submitted(numbered(1)))
    store.close()
    Path(f"{path}-wal").write_bytes(bytes(100_000))  # killed while it paved
    again = open_store(path)
    assert [run.id for run in again.load().runs] == [numbered(1).id]
    again.close()


def test_what_was_kept_is_there_after_every_kill(path: Path) -> None:
    kept = 0
    for after in (3, 8, 15, 2):  # also right behind a tidying
        kept = max(kept, said_before_a_kill(path, begin=kept + 1, after=after))
        store = open_store(path)
        known = {run.id for run in store.load().runs}
        store.close()
        assert {numbered(n).id for n in range(1, kept + 1)} <= known
        kept = len(known)  # the last may be kept and not yet said


def said_before_a_kill(path: Path, *, begin: int, after: int) -> int:
    said = path.parent.parent / f"said-{begin}"
    with said.open("wb") as output:
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(begin)],
            stdout=output,
            cwd=Path(__file__).parents[3],
        )
    try:
        until(lambda: len(said.read_bytes().splitlines()) > after, within_s=60)
    finally:
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
    return int(said.read_bytes().rpartition(b"\n")[0].splitlines()[-1])
