"""A conversation that outlives a restart of the daemon, and knows when it was stopped."""

from __future__ import annotations

import pytest

from paddock.cli import staying
from paddock.cli.staying import Staying
from paddock.client.errors import NoDaemon
from tests.unit.cli.fake_daemon import FakeDaemon


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staying, "PAUSE_S", 0.001)
    monkeypatch.setattr(staying, "GRACE_S", 0.01)
    monkeypatch.setattr(staying, "PATIENCE_S", 0.1)


def test_a_daemon_that_died_is_started_again_after_a_moment(daemon: FakeDaemon) -> None:
    daemon.add("a")
    with Staying(daemon.door, stopped=lambda: False) as talk:
        daemon.running = False
        assert talk.view("a").name == "a"
    assert daemon.starts == 1


def test_a_daemon_that_was_stopped_is_left_stopped(daemon: FakeDaemon) -> None:
    daemon.add("a")
    daemon.running = False
    with Staying(daemon.door, stopped=lambda: True) as talk, pytest.raises(NoDaemon):
        talk.view("a")
    assert daemon.starts == 0


def test_a_stream_that_ends_before_the_run_does_is_taken_up_again(daemon: FakeDaemon) -> None:
    daemon.add("a")
    seen = []
    with Staying(daemon.door, stopped=lambda: False) as talk:
        daemon.lives["a"] = daemon.life("r0001")
        daemon.lives["a"].output = b"0123456789"
        daemon.breaks_at = [4, 8]
        seen = [record.data for record in talk.records("r0001")]
    assert b"".join(seen) == b"0123456789"
