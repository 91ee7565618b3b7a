"""One suite, every store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.ports import Store
from paddock.storage.memory import MemoryStore
from paddock.storage.sqlite import open_store


class Shelf:
    """A store that can be closed and opened again; what was forgotten by then is a failure."""

    def __init__(self, kind: str, directory: Path) -> None:
        self._kind = kind
        self._path = directory / "state" / "fleet.db"
        self.store: Store = self._open()

    def reopened(self) -> Store:
        if self._kind == "memory":
            return self.store  # it lives as long as the process
        self.store.close()
        self.store = self._open()
        return self.store

    def _open(self) -> Store:
        return MemoryStore() if self._kind == "memory" else open_store(self._path)


@pytest.fixture(params=["memory", "sqlite"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shelf]:
    found = Shelf(request.param, tmp_path)
    yield found
    found.store.close()


@pytest.fixture
def store(shelf: Shelf) -> Store:
    return shelf.store
