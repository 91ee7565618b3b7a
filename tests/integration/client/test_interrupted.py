"""Whoever interrupts a request gets no other request's answer afterwards."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from types import FrameType

import pytest

from tests.kit.desk import a_desk, an_agent


class Interrupted(Exception):
    pass


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise Interrupted


def test_an_interrupted_wait_is_not_the_answer_to_what_follows(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGALRM, _interrupt)
    try:
        with a_desk(tmp_path) as desk, desk.client() as client:
            desk.submit(an_agent("long", "sleep=60"))
            assert client.status().queue is not None  # the connection is there and idle
            assert threading.current_thread() is threading.main_thread()
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with pytest.raises(Interrupted):
                client.wait(["long"], timeout_s=30)
            assert client.run("long").name == "long"
            client.kill(["long"], force=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
