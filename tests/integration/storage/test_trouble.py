"""Disks that are full, read-only or lie; files of others; two daemons: one clear line each."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw
import pytest

from paddock.core.run import Queued
from paddock.ports import Step
from paddock.storage import schema
from paddock.storage.errors import (
    StoreDamaged,
    StoreError,
    StoreForeign,
    StoreFull,
    StoreGone,
    StoreInUse,
    StoreReadOnly,
    StoreTooNew,
    StoreUnsafe,
)
from paddock.storage.sqlite import SqliteStore, open_store
from tests.kit.disks import SmallDisk
from tests.kit.remembering import moved, numbered, submitted

PAGE = 4096
NOBODY = 65534
OPEN = """
import os, pathlib, sys
from paddock.storage.sqlite import open_store
if os.geteuid() == 0:  # whose rights know no limit
    os.seteuid(int(sys.argv[2]))
try:
    open_store(pathlib.Path(sys.argv[1]))
except Exception as error:
    print(type(error).__name__)
"""

WAL_HEAD, WAL_FRAME = 32, 24 + 4096


def filled(path: Path, *, runs: int = 200) -> SqliteStore:
    store = open_store(path)
    store.remember(submitted(*(numbered(n) for n in range(1, runs + 1))))
    return store


def left_behind(path: Path, *, runs: int = 200) -> None:
    """As after a crash: most of it is still in the WAL."""
    store = filled(path.with_name("living"), runs=runs)
    for end in ("", "-wal"):
        shutil.copy(f"{store.path}{end}", f"{path}{end}")
    store.close()


def contents(path: Path) -> dict[str, bytes]:
    """All but the lock and an empty WAL, which say nothing."""
    found = {p.name: p.read_bytes() for p in path.parent.iterdir() if p.suffix != ".lock"}
    return {name: data for name, data in found.items() if data or not name.endswith("-wal")}


def refused(path: Path, kind: type[StoreError]) -> str:
    """Opening fails with this error in one line, and no byte of any file changes."""
    before = contents(path)
    with pytest.raises(kind) as caught:
        open_store(path)
    assert contents(path) == before
    text = str(caught.value)
    assert "\n" not in text
    assert str(path) in text or str(path.parent) in text
    return text


# -- who may read it ----------------------------------------------------------------------------


def test_directory_and_files_are_the_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = filled(tmp_path / "new" / "state" / "fleet.db")
    finally:
        os.umask(before)
    modes = {p.name: p.stat().st_mode & 0o777 for p in store.path.parent.iterdir()}
    assert modes == {"fleet.db": 0o600, "fleet.db-wal": 0o600, "fleet.db.lock": 0o600}
    assert store.path.parent.stat().st_mode & 0o777 == 0o700
    store.close()


def test_a_file_that_others_could_read_is_closed_to_them(path: Path) -> None:
    filled(path).close()
    path.chmod(0o644)
    open_store(path).close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_directory_in_which_others_may_write_is_refused(tmp_path: Path) -> None:
    directory = tmp_path / "open"
    directory.mkdir()
    directory.chmod(0o777)
    with pytest.raises(StoreUnsafe, match="chmod 700"):
        open_store(directory / "fleet.db")
    assert list(directory.iterdir()) == []


# -- one daemon ---------------------------------------------------------------------------------


def opened_elsewhere(path: Path, *, user: int = 0) -> str:
    """What another process is told; root's, of another user."""
    command = [sys.executable, "-c", OPEN, str(path), str(user)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_second_daemon_finds_the_first(path: Path) -> None:
    store = filled(path)
    with pytest.raises(StoreInUse, match=f"process {os.getpid()}"):
        open_store(path)
    code = (
        "import sys, pathlib, paddock.storage.sqlite as s; s.open_store(pathlib.Path(sys.argv[1]))"
    )
    other = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False
    )
    assert "StoreInUse" in other.stderr
    store.remember(submitted(numbered(999)))
    store.close()
    again = open_store(path)
    assert again.run("r999") is not None
    again.close()


def test_whoever_only_looks_at_the_lock_is_not_taken_for_a_daemon(path: Path) -> None:
    """As a client does that waits for one to begin (`client/starting.py`)."""
    filled(path).close()
    glance = os.open(f"{path}.lock", os.O_RDONLY)
    fcntl.flock(glance, fcntl.LOCK_SH)
    over = threading.Timer(0.02, os.close, (glance,))
    over.start()
    open_store(path).close()
    assert over.finished.is_set()
    over.join()


def test_a_removed_lock_file_lets_nobody_in(path: Path) -> None:
    """Seen from another process: SQLite's own lock still holds."""
    store = filled(path)
    Path(f"{path}.lock").unlink()
    code = (
        "import sys, pathlib, paddock.storage.sqlite as s; s.open_store(pathlib.Path(sys.argv[1]))"
    )
    other = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False
    )
    assert "StoreInUse" in other.stderr
    store.close()


def test_the_lock_is_not_handed_on_to_children(path: Path) -> None:
    store = filled(path)
    child = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False
    )
    store.close()
    again = open_store(path)
    again.close()
    child.communicate(b"\n")
    assert child.returncode == 0


# -- what is found there ------------------------------------------------------------------------


def test_what_a_crash_left_in_the_wal_is_there(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    left_behind(path)
    store = open_store(path)
    assert len(store.load().runs) == 200
    assert not any(Path(f"{path}-wal").read_bytes())
    store.close()


def test_a_torn_end_of_the_wal_loses_only_what_was_never_acknowledged(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    left_behind(path)
    wal = Path(f"{path}-wal")
    written = wal.read_bytes().rstrip(b"\0")  # the rest is what it was paved with
    frames = -(-(len(written) - WAL_HEAD) // WAL_FRAME)
    with wal.open("r+b") as file:
        file.seek(WAL_HEAD + frames * WAL_FRAME)
        file.write(os.urandom(10_000))
    store = open_store(path)
    assert len(store.load().runs) == 200
    store.close()


def test_a_damaged_page_is_refused_and_left_as_it_is(path: Path) -> None:
    filled(path, runs=500).close()
    with path.open("r+b") as file:
        for page in range(8, 40, 3):
            file.seek(page * PAGE)
            file.write(b"\xff" * 64)
    text = refused(path, StoreDamaged)
    assert "mv " in text


@pytest.mark.parametrize(
    "harm",
    [
        lambda data: os.urandom(len(data)),
        lambda data: b"a letter to a friend".ljust(len(data)),
        lambda data: data[: len(data) // 2],
        lambda data: data[:100],
    ],
    ids=["noise", "text", "half", "only a header"],
)
def test_a_file_that_is_no_whole_database_is_refused(
    path: Path, harm: Callable[[bytes], bytes]
) -> None:
    filled(path, runs=500).close()
    path.write_bytes(harm(path.read_bytes()))
    refused(path, StoreDamaged)


def test_a_row_that_makes_no_sense_is_named(path: Path) -> None:
    filled(path, runs=3).close()
    db = apsw.Connection(str(path))
    db.execute("UPDATE runs SET facts = '{\"since_at\": \"yesterday\"}' WHERE id = 'r2'")
    db.close()
    store = open_store(path)
    with pytest.raises(StoreDamaged, match="since_at"):
        store.load()
    assert store.run("r1") is not None
    store.close()


def test_a_newer_version_is_left_as_it_is(path: Path) -> None:
    filled(path).close()
    db = apsw.Connection(str(path))
    db.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    shutil.copy(path, path.with_name("copy.db"))
    shutil.copy(f"{path}-wal", f"{path.with_name('copy.db')}-wal")
    db.close()
    assert "newer paddock" in refused(path.with_name("copy.db"), StoreTooNew)
    assert "newer paddock" in refused(path, StoreTooNew)


def test_the_database_of_another_program_is_left_alone(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE cookies (jar TEXT)")
    db.close()
    path.chmod(0o600)
    assert "another program" in refused(path, StoreForeign)


# -- disks --------------------------------------------------------------------------------------


def test_a_full_disk_is_told_and_the_store_goes_on_when_there_is_room(
    small_disk: SmallDisk,
) -> None:
    path = small_disk.root / "state" / "fleet.db"
    store = filled(path, runs=20)
    small_disk.fill(leave_bytes=60_000)
    run, kept = numbered(1), 1
    with suppress(StoreFull):
        while kept < 1000:
            store.remember(moved(run, Queued(float(kept), because="x" * 2000), at=float(kept)))
            kept += 1
    assert kept < 1000
    for _ in range(3):
        with pytest.raises(StoreFull, match="make room"):
            store.remember(submitted(*(numbered(n) for n in range(100, 200))))
    assert store.load().at == float(kept - 1)
    small_disk.make_room()
    store.remember(moved(run, Queued(float(kept)), at=float(kept)))
    store.close()
    again = open_store(path)
    assert len(again.story("r1")) == kept + 1
    assert again.load().at == float(kept)
    again.close()


def test_what_is_there_can_be_opened_and_read_on_a_full_disk(small_disk: SmallDisk) -> None:
    path = small_disk.root / "state" / "fleet.db"
    path.parent.mkdir(mode=0o700)
    left_behind(path, runs=50)
    small_disk.fill()
    store = open_store(path)
    assert len(store.load().runs) == 50
    small_disk.make_room()
    store.remember(submitted(numbered(51)))
    store.close()


def test_a_new_store_on_a_full_disk_is_refused_and_made_when_there_is_room(
    small_disk: SmallDisk,
) -> None:
    path = small_disk.root / "state" / "fleet.db"
    small_disk.fill(leave_bytes=8192)
    with pytest.raises(StoreFull):
        open_store(path)
    small_disk.make_room()
    filled(path, runs=1).close()


def test_a_read_only_disk_is_told(small_disk: SmallDisk) -> None:
    path = small_disk.root / "state" / "fleet.db"
    filled(path).close()
    small_disk.make_read_only()
    refused(path, StoreReadOnly)
    with pytest.raises(StoreReadOnly):
        open_store(small_disk.root / "elsewhere" / "fleet.db")


@contextmanager
def within_reach(directory: Path) -> Iterator[None]:
    """Of a user who may pass through, and no more."""
    modes = {place: place.stat().st_mode & 0o7777 for place in (directory, *directory.parents)}
    closed = {place: mode for place, mode in modes.items() if not mode & 0o001}
    for place, mode in closed.items():
        place.chmod(mode | 0o011)
    try:
        yield
    finally:
        for place, mode in closed.items():
            place.chmod(mode)


def test_a_directory_without_the_right_to_write_is_told(path: Path) -> None:
    filled(path).close()
    if os.geteuid() == 0:
        for place in (path, path.parent):
            os.chown(place, NOBODY, NOBODY)
    path.chmod(0o400)
    path.parent.chmod(0o500)
    with within_reach(path.parent.parent):
        told = opened_elsewhere(path, user=NOBODY)
    path.parent.chmod(0o700)
    assert told == "StoreReadOnly\n"


# -- under its feet -----------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["", "-wal"])
def test_a_file_removed_under_it_is_told_at_the_next_write(path: Path, end: str) -> None:
    store = filled(path)
    Path(f"{path}{end}").unlink()
    with pytest.raises(StoreGone, match="removed"):
        store.remember(Step(at=3.0))
    assert len(store.load().runs) == 200  # what it still holds can be read
    store.close()


def test_a_file_replaced_under_it_is_told(path: Path) -> None:
    store = filled(path)
    filled(path.with_name("other"), runs=1).close()
    path.with_name("other").replace(path)
    with pytest.raises(StoreGone, match="replaced"):
        store.remember(Step(at=3.0))
    store.close()
