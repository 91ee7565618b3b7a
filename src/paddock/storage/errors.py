"""What can go wrong with the store: one type and one line each, and what to do about it.

Nothing is ever destroyed: a store that cannot be read stays where it is, as it is.
"""

from __future__ import annotations

from pathlib import Path


class StoreError(Exception):
    """The store cannot do what was asked of it."""


class StoreDamaged(StoreError):
    def __init__(self, path: Path, found: str) -> None:
        super().__init__(
            f"the store {path} is damaged ({found}) and was left as it is; "
            f"to begin anew: mv {path} {path}.damaged (and {path}-wal beside it)"
        )


class StoreForeign(StoreError):
    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is a database of another program and was left alone; "
            "choose another state directory"
        )


class StoreTooNew(StoreError):
    def __init__(self, path: Path, *, found: int, known: int) -> None:
        super().__init__(
            f"the store {path} was written by a newer paddock (version {found}, this one knows "
            f"{known}) and was left as it is; install that paddock again"
        )


class StoreInUse(StoreError):
    def __init__(self, path: Path, *, by: str) -> None:
        super().__init__(f"the store {path} is in use by {by}; there is one daemon for a store")


class StoreFull(StoreError):
    def __init__(self, path: Path) -> None:
        super().__init__(
            f"no room left on the disk of {path}; nothing was lost, make room and it goes on"
        )


class StoreReadOnly(StoreError):
    def __init__(self, path: Path, found: str) -> None:
        super().__init__(
            f"the store {path} cannot be written ({found}); "
            "make it writable or choose another state directory"
        )


class StoreUnsafe(StoreError):
    def __init__(self, directory: Path) -> None:
        super().__init__(
            f"other users may write to {directory}, where the store is; run: chmod 700 {directory}"
        )


class StoreGone(StoreError):
    def __init__(self, path: Path, *, missing: str) -> None:
        super().__init__(
            f"{missing} was removed or replaced while the store {path} was open; it is put back "
            "from what is still open, so leave the daemon running"
        )


class StoreFailed(StoreError):
    def __init__(self, path: Path, found: str) -> None:
        super().__init__(f"the store {path} failed ({found}); look at the disk and the system log")


class Unfit(StoreError):
    """What was handed over cannot be kept, whatever the store's state: the request is at fault.

    `of`: the run or heartbeat whose recipe it is, where only the store could know that.
    """

    def __init__(self, found: str, *, of: str | None = None) -> None:
        super().__init__(found)
        self.of = of
