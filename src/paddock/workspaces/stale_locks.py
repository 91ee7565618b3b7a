"""Lock files of git that a killed agent left: broken where nobody can hold them any more."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from .errors import GitLocked
from .git import patiently
from .inhabitants import holders_of
from .records import Record

_WAIT_S: Final = 2.0
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


def _own_locks(record: Record) -> tuple[Path, ...]:
    git_dir, common = Path(record.git_dir).resolve(), Path(record.common).resolve()
    branch = common / "refs/heads" / f"{record.branch}.lock"
    return git_dir / "index.lock", git_dir / "HEAD.lock", branch
