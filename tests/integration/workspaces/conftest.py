"""A repository and a room for each test; afterwards no process, descriptor or lock is left."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.workspaces.room import Room
from tests.kit import leaks
from tests.kit.repositories import a_repository
from tests.kit.waiting import until


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nor do settings of whoever runs the tests change anything."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    before = leaks.descriptors()
    yield
    until(lambda: not leaks.commanded(str(tmp_path)))
    left = {fd: what for fd, what in leaks.descriptors().items() if before.get(fd) != what}
    assert left == {}, "descriptors are left"
    names = [path.name for path in tmp_path.rglob(".deleting-*")]
    assert names == [], "a deletion was not finished"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_repository(tmp_path / "repository")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return tmp_path / "state" / "workspaces"


@pytest.fixture
def room(top: Path) -> Room:
    """One in which a workspace is idle enough to go as soon as it is released."""
    return Room(top, idle_days=0)


@pytest.fixture
def path(room: Room, repository: Path) -> Path:
    """A workspace that was given back; whatever a test does in it is what an agent left."""
    path = room.prepare("run1", repository=repository)
    room.release("run1")
    return path


@pytest.fixture
def as_somebody() -> int:
    """A user id that is not root's, for what root is always allowed."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    return 65534
