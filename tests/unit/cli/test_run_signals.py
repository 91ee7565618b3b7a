"""`paddock run` and the signals of a terminal: who stops it, who leaves it running."""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import partial
from typing import Any

import pytest

from paddock.cli import following
from paddock.wire.views import Killed
from tests.kit.waiting import until
from tests.unit.cli.conftest import Paddock
from tests.unit.cli.fake_client import FakeClient
from tests.unit.cli.fake_daemon import FakeDaemon, Life

# A busy machine takes long to import a command. Not longer than the fake run waits for its end:
# after that it ends by itself.
PATIENCE_S = 60.0


def _is_heard(number: int) -> bool:
    return signal.getsignal(number) is not signal.SIG_DFL


def signal_once_followed(daemon: FakeDaemon, *numbers: int) -> threading.Thread:
    """Sends signals to this process, each once the one before was acted upon."""

    def send() -> None:
        for number in (signal.SIGQUIT, *numbers):
            until(partial(_is_heard, number), within_s=PATIENCE_S)
        until(lambda: bool(daemon.runs), within_s=PATIENCE_S)
        for count, number in enumerate(numbers):
            os.kill(os.getpid(), number)
            if count + 1 < len(numbers):
                until(lambda seen=count: len(daemon.killed) > seen, within_s=PATIENCE_S)  # type: ignore[misc]

    thread = threading.Thread(target=send)
    thread.start()
    return thread


def test_ctrl_c_stops_it_and_ends_with_130(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.lives["sleep"] = Life(output=b"abcdefgh", endless=True)
    thread = signal_once_followed(daemon, signal.SIGINT)
    called = paddock("run", "--", "sleep", "9")
    thread.join()
    assert (called.code, called.out) == (130, "abcdefgh")
    assert daemon.killed == [("r0001", False)]
    assert "stopping sleep; Ctrl-C again kills it" in called.err


def test_sigterm_stops_it_and_ends_with_143(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.lives["sleep"] = Life(endless=True)
    thread = signal_once_followed(daemon, signal.SIGTERM)
    called = paddock("run", "--", "sleep", "9")
    thread.join()
    assert called.code == 143
    assert called.err.startswith("paddock: stopping sleep\n")
    assert daemon.killed == [("r0001", False)]


def test_a_sigterm_right_after_another_is_the_same_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    """`timeout` signals its child and then the group."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    heard: list[int] = []
    with following.listening(heard.append):
        for number, later_s in (
            (signal.SIGTERM, 0.005),
            (signal.SIGTERM, 0.0),
            (signal.SIGINT, 0.0),
            (signal.SIGINT, 2.0),
            (signal.SIGTERM, 0.0),
        ):
            signal.raise_signal(number)
            now[0] += later_s
    assert heard == [signal.SIGTERM, signal.SIGINT, signal.SIGINT, signal.SIGTERM]


def test_two_sigterms_at_once_do_not_kill_without_grace(
    paddock: Paddock, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "ONE_WISH_S", 3600.0)  # however long a busy machine takes
    daemon.lives["sleep"] = Life(endless=True)

    def twice(client: FakeClient, *refs: Any, **more: Any) -> Killed:
        os.kill(os.getpid(), signal.SIGTERM)  # before the first one has done anything
        return kill(client, *refs, **more)

    kill = FakeClient.kill
    monkeypatch.setattr(FakeClient, "kill", twice)
    thread = signal_once_followed(daemon, signal.SIGTERM)
    called = paddock("run", "--", "sleep", "9")
    thread.join()
    assert (called.code, daemon.killed) == (143, [("r0001", False)])


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGHUP])
def test_ctrl_backslash_or_a_lost_terminal_leaves_it_running(
    paddock: Paddock, daemon: FakeDaemon, number: int
) -> None:
    daemon.lives["sleep"] = Life(endless=True)
    before = signal.signal(number, signal.SIG_DFL)  # under nohup it would be ignored, rightly
    try:
        thread = signal_once_followed(daemon, number)
        called = paddock("run", "--", "sleep", "9")
        thread.join()
    finally:
        signal.signal(number, before)
    daemon.stopping.set()
    assert called.code == 131
    assert called.err == "paddock: left running: paddock logs -f r0001\n"
    assert daemon.killed == []


def test_signals_are_as_before_afterwards(paddock: Paddock) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGQUIT)]
    paddock("run", "--", "true")
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGQUIT)] == before
