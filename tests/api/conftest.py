"""A served desk for every test that asks for one, a line to it, and a repository."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.client import Client
from tests.kit.desk import ServedDesk, a_desk, an_agent
from tests.kit.raw_http import connect
from tests.kit.repositories import a_repository


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[ServedDesk]:
    with a_desk(tmp_path) as served:
        yield served


@pytest.fixture
def client(desk: ServedDesk) -> Iterator[Client]:
    with desk.client() as one:
        yield one


@pytest.fixture
def line(desk: ServedDesk) -> Iterator[socket.socket]:
    """Of a desk that has looked at the directory: from now on nothing has to be waited for."""
    desk.submit(an_agent("first"))
    with connect(desk.places.socket) as made:
        yield made


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_repository(tmp_path / "shop")
