"""The daemon's side of the line to a keeper."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from paddock.drivers.local.keeper.protocol import SOCKET_NAME
from paddock.drivers.local.keeper_client import KeeperClient, KeeperGone
from tests.kit.descriptors import no_descriptor_left


def test_without_a_descriptor_there_is_no_line_and_no_other_error(tmp_path: Path) -> None:
    with no_descriptor_left(), pytest.raises(KeeperGone, match="no line to a keeper"):
        KeeperClient(tmp_path)


def test_nobody_waits_at_the_door_of_a_keeper_that_stands_still(tmp_path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / SOCKET_NAME))
    listener.listen(2)
    met: list[KeeperClient] = []
    told: list[str] = []

    def knock() -> None:
        try:
            while True:
                met.append(KeeperClient(tmp_path))
        except KeeperGone as error:
            told.append(str(error))

    knocking = threading.Thread(target=knock, daemon=True)
    knocking.start()
    knocking.join(5)
    assert not knocking.is_alive(), "it waits for ever"
    assert len(met) == 3 and "no keeper listens" in told[0]
    listener.close()
    for one in met:
        one.close()
