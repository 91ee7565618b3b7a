"""Answers that get lost on a real socket: a submission is taken once all the same."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

from paddock.client import Client
from paddock.config.places import Places
from tests.kit.desk import ServedDesk, a_desk, an_agent
from tests.kit.raw_http import connect


class Thief:
    """Stands between client and daemon, and hangs up instead of handing over the first answer."""

    def __init__(self, desk: ServedDesk, directory: Path) -> None:
        self.places = Places(directory)
        self.stolen = 0
        self._to = desk.places.socket
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(self.places.socket))
        self._door.listen()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        for number in range(2):
            client, _ = self._door.accept()
            with client, connect(self._to) as daemon:
                daemon.sendall(client.recv(1 << 20))
                answer = b""
                while not answer.endswith(b"}"):
                    answer += daemon.recv(1 << 20)
                if number == 0:
                    self.stolen = len(answer)
                else:
                    client.sendall(answer)

    def close(self) -> None:
        self._thread.join(10)
        self._door.close()


def test_a_submission_whose_answer_was_lost_is_taken_once(tmp_path: Path) -> None:
    with a_desk(tmp_path) as desk:
        between = tmp_path / "between"
        between.mkdir()
        thief = Thief(desk, between)
        with Client(thief.places) as client:
            [run] = client.submit(desk.order(an_agent("once", "sleep=60"))).runs
        thief.close()
        assert thief.stolen > 0
        with desk.client() as client:
            assert [view.id for view in client.runs(all=True)] == [run.id]
