"""Scratch space: a directory an attempt, closed to others, gone the moment it ends."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Final

from .errors import UnsafePlace, WorkspaceError
from .in_advance import InAdvance
from .records import check_run
from .removal import delete_tree, sweep

VARIABLE: Final = "PADDOCK_SCRATCH"


class Scratch:
    """Under one directory that nobody else writes to."""

    def __init__(self, top: Path) -> None:
        self._top = top
        self._in_advance = InAdvance(top)

    def path(self, name: str) -> Path:
        check_run(name)
        return self._top / name

    def make(self, name: str) -> Path:
        """Empty. What an earlier life of the same attempt left is removed first."""
        path = self.path(name)
        if self._in_advance.take(path):
            return path
        try:
            os.mkdir(path, 0o700)  # noqa: PTH102 - nearly always, and this is done for every start
        except FileNotFoundError:
            self._top.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.mkdir(mode=0o700)
        except FileExistsError:
            self.remove(name)
            path.mkdir(mode=0o700)
        return path

    def is_gone(self, name: str) -> bool:
        """Removed if it is empty, which takes no time; else there is more to do."""
        try:
            os.rmdir(self.path(name))  # noqa: PTH106 - likewise
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    def remove(self, name: str) -> list[str]:
        """What could not be deleted, each with the reason. One that is not there is no mistake."""
        path = self.path(name)
        if path.is_symlink():
            path.unlink()
            return []
        if not path.exists():
            return []
        if not path.is_dir():
            raise UnsafePlace(f"{path} is no directory; look at it, and remove it by hand")
        return delete_tree(self._top, path)

    def set_aside(self, name: str) -> str | None:
        """Under a name that nobody is ever given: it may be removed at any time, also when the same
        attempt has begun once more and has a new one of the old name. None: it stays, and must not
        be removed by that name; `make` does that first, or the next daemon."""
        aside = f"left-{uuid.uuid4().hex}"
        with suppress(OSError, WorkspaceError):
            os.rename(self.path(name), self.path(aside))  # noqa: PTH104 - likewise
            return aside
        return None

    def names(self) -> list[str]:
        """All that are there, so that those of ended attempts can go."""
        if not self._top.is_dir():
            return []
        return sorted(p.name for p in self._top.iterdir() if not p.name.startswith("."))

    def close(self) -> None:
        self._in_advance.close()

    def sweep(self) -> list[str]:
        """What a deletion that was killed left."""
        return sweep(self._top, self._top) if self._top.is_dir() else []
