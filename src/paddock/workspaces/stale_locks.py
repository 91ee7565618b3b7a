"""What a killed agent or daemon left: locks that nobody can hold any more, and gits at work."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from .errands import LOOK_S, current
from .errors import Busy, GitLocked
from .git import patiently
from .inhabitants import gits_at, holders_of
from .records import Record

_WAIT_S: Final = 2.0
_GITS_WAIT_S: Final = 60.0
T = TypeVar("T")


def over_stale_locks(record: Record, work: Callable[[], T]) -> T:
    """Waits a little, as for any lock; then one of this run's own that nobody has open is broken.

    Only for a run whose processes are gone: they alone had a reason to lock these.
    """
    for _ in range(len(_own_locks(record))):
        try:
            return patiently(work, within_s=_WAIT_S)
        except GitLocked as error:
            lock = Path(error.lock).resolve() if error.lock else None
            if lock not in _own_locks(record) or holders_of(lock):
                raise
            lock.unlink(missing_ok=True)
    return patiently(work)


def break_index_lock(record: Record) -> None:
    """Before a later attempt: its git would refuse every change."""
    lock = Path(record.git_dir) / "index.lock"
    with suppress(FileNotFoundError):
        if lock.is_file() and not holders_of(lock):
            lock.unlink()


def await_gits(path: Path) -> None:
    """A daemon that was killed takes its gits not along: one that still makes this workspace would
    put back what is taken away, or register it once more."""
    give_up_at = time.monotonic() + _GITS_WAIT_S
    while found := gits_at(path):
        if time.monotonic() > give_up_at:
            who = ", ".join(map(str, found))
            raise Busy(f"{path} is still being made by {who}; wait until it has ended, or end it")
        current().check()
        time.sleep(LOOK_S)


def _own_locks(record: Record) -> tuple[Path, ...]:
    git_dir, common = Path(record.git_dir).resolve(), Path(record.common).resolve()
    branch = common / "refs/heads" / f"{record.branch}.lock"
    return git_dir / "index.lock", git_dir / "HEAD.lock", branch
