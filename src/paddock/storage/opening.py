"""Opening the database: who may read it, who else has it open, whether it is whole and ours."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import apsw

from . import plain, schema
from .errors import (
    StoreDamaged,
    StoreError,
    StoreFailed,
    StoreForeign,
    StoreFull,
    StoreInUse,
    StoreReadOnly,
    StoreTooNew,
    StoreUnsafe,
)

GLANCE_S: Final = 0.2  # that somebody looks at the lock takes microseconds, on a busy machine more
BUSY_MS: Final = 2000  # another daemon is found by its lock; this is for a curious sqlite3 shell
# The write-ahead log is this long from the start, and SQLite writes over it: it begins anew at
# 1,000 pages, which is a little less. A commit that lets the file grow waits for the file system's
# journal as well (one page on ext4: 0.4 ms against 0.2; 4 ms beside others who write).
PAVED_BYTES: Final = 4 * 1024 * 1024 + 128 * 1024
_AMPLE_BYTES: Final = 64 * 1024 * 1024  # below it, room is worth more than time
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_NO_WRITING: Final = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})

# Before the first look into the WAL. Exclusive: the index of the WAL then lives in our memory,
# not in a mapped file whose loss or truncation would kill the daemon with a bus error.
_BEFORE_LOOKING: Final = ("locking_mode = EXCLUSIVE", "trusted_schema = OFF", "temp_store = MEMORY")
# Written into the file, so only when it is made: an old one opens on a full disk, too.
_WHEN_MADE: Final = ("auto_vacuum = INCREMENTAL",)
_BEFORE_WRITING: Final = (
    "journal_mode = WAL",
    "synchronous = FULL",
    "fullfsync = ON",  # macOS: a plain fsync there does not reach the platter
    "foreign_keys = ON",
    "secure_delete = ON",
    f"journal_size_limit = {PAVED_BYTES}",
)


@contextmanager
def told_plainly(path: Path) -> Iterator[None]:
    """SQLite's and the system's errors as ours."""
    try:
        yield
    except apsw.FullError:
        raise StoreFull(path) from None
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise StoreDamaged(path, str(error)) from None
    except (apsw.ReadOnlyError, apsw.PermissionsError, apsw.CantOpenError) as error:
        raise StoreReadOnly(path, str(error)) from None
    except (apsw.BusyError, apsw.LockedError):
        raise StoreInUse(path, by="another program") from None
    except apsw.Error as error:
        # A full disk shows itself in many ways: a failed sync, a file that cannot grow.
        raise StoreFull(path) if _no_room(path) else StoreFailed(path, str(error)) from None
    except OSError as error:
        raise _of_system(path, error) from None


def _of_system(path: Path, error: OSError) -> StoreError:
    found = error.strerror or str(error)
    if error.errno in _NO_ROOM:
        return StoreFull(path)
    if error.errno in _NO_WRITING:
        return StoreReadOnly(path, found)
    return StoreFailed(path, found)


def _no_room(path: Path) -> bool:
    try:
        room = os.statvfs(path.parent)
    except OSError:
        return False
    return room.f_bavail * room.f_frsize < 64 * 1024


def hold(path: Path) -> int:
    """The lock that says whose store it is; held until the descriptor is closed, or by death."""
    _make_directory(path.parent)
    # Never removed: whoever waits for a lock on a removed file would hold a lock on nothing.
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _take(lock)
    except BlockingIOError:
        holder = os.read(lock, 20).decode("ascii", "replace").strip()
        os.close(lock)
        raise StoreInUse(path, by=f"process {holder or 'unknown'}") from None
    except BaseException:
        os.close(lock)
        raise
    _sign(lock)
    return lock


def _take(lock: int) -> None:
    """Raises BlockingIOError. A client that waits for a daemon looks whether somebody has the store
    by a lock of its own, for a moment (`client/starting.py`): that is nobody to give way to."""
    give_up_at = time.monotonic() + GLANCE_S
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > give_up_at:
                raise
            time.sleep(GLANCE_S / 20)


def same_file(descriptor: int, path: str) -> bool:
    """Whether the open file still has that name."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))  # noqa: PTH116
    except OSError:
        return False


def _sign(lock: int) -> None:
    """Only for the other one's error message: a full disk is no reason to fail."""
    with suppress(OSError):
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)


def _make_directory(directory: Path) -> None:
    directory.parent.mkdir(parents=True, exist_ok=True)
    try:
        directory.mkdir(mode=0o700)
    except FileExistsError:
        mode = directory.stat().st_mode
        if mode & (stat.S_IWGRP | stat.S_IWOTH) and not mode & stat.S_ISVTX:
            raise StoreUnsafe(directory) from None


def connect(path: Path) -> apsw.Connection:
    """A connection to a whole database of this version; what is not ours is left untouched."""
    _make_file(path)
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        # Until it is known to be whole and ours, closing must not move the WAL into it either.
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        _look(db, path)
        made = schema.version_of(db) == 0
        for setting in (*(_WHEN_MADE if made else ()), *_BEFORE_WRITING):
            db.execute(f"PRAGMA {setting}")
        schema.migrate(db)
        db.execute(plain.MADE_WITH_THE_CONNECTION)
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        empty_wal(db, path)
    except BaseException:
        db.close()
        raise
    return db


def mended_name(path: Path) -> Path:
    return Path(f"{path}.mended")


def copy_to(db: apsw.Connection, path: Path) -> None:
    """A whole copy under this name, or none."""
    unfinished = Path(f"{path}.part")
    unfinished.unlink(missing_ok=True)
    db.execute("VACUUM INTO ?", (str(unfinished),))
    unfinished.chmod(0o600)
    file = os.open(unfinished, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
    unfinished.replace(path)


def _make_file(path: Path) -> None:
    """Ours alone from the first byte on; SQLite gives its WAL the same rights."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if os.fstat(file).st_mode & 0o077:
            os.fchmod(file, 0o600)
    finally:
        os.close(file)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)  # the name must survive a power loss as well
    finally:
        os.close(directory)


def _look(db: apsw.Connection, path: Path) -> None:
    db.set_busy_timeout(BUSY_MS)
    for setting in _BEFORE_LOOKING:
        db.execute(f"PRAGMA {setting}")
    if db.readonly("main"):
        raise StoreReadOnly(path, "read-only file")
    if schema.is_foreign(db):
        raise StoreForeign(path)
    found = schema.version_of(db)
    if found > schema.VERSION:
        raise StoreTooNew(path, found=found, known=schema.VERSION)
    problem = db.execute("PRAGMA quick_check(1)").get
    if problem != "ok":
        raise StoreDamaged(path, " ".join(str(problem).split()))


def empty_wal(db: apsw.Connection, path: Path) -> None:
    """So that nothing that was deleted stays readable in it. Not worth failing for."""
    with suppress(apsw.FullError, apsw.IOError, apsw.BusyError):
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        _pave(Path(f"{path}-wal"))


def _pave(wal: Path) -> None:
    """Zeros for SQLite to write over: a log that begins with them is an empty one to it.

    So a death at any point of this leaves nothing that could be taken for a commit.
    """
    try:
        file = os.open(wal, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return  # it comes with the first write
    try:
        room = os.fstatvfs(file)
        if os.fstat(file).st_size or room.f_bavail * room.f_frsize < _AMPLE_BYTES:
            return  # somebody reads it, so it could not be emptied; or the disk is nearly full
        _fill_with_zeros(file)
    finally:
        os.close(file)


def _fill_with_zeros(file: int) -> None:
    zeros = bytes(64 * 1024)
    try:
        for offset in range(0, PAVED_BYTES, len(zeros)):
            os.pwrite(file, zeros, offset)
        os.fdatasync(file)
    except OSError:
        os.ftruncate(file, 0)
