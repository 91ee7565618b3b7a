"""A daemon that is started when there is none: a real one, in a directory of its own."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.client import Client, ClientError, NoDaemon
from paddock.client.starting import ensure_daemon
from paddock.config.places import Places, find_places
from paddock.daemon.birth import NotFit, make_state
from paddock.drivers.local.containment.choosing import read_home
from tests.kit import leaks
from tests.kit.waiting import until


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Places]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    found = Places(tmp_path / "state")
    yield found
    pids = _pids(found)
    try:
        with Client(found) as client:
            client.stop_daemon(kill=True)
    except ClientError:
        pass
    try:
        until(lambda: not any(leaks.is_alive(pid) for pid in pids), within_s=20)
    finally:
        # Also one that was so slow to start that it found the place free again.
        leaks.end(leaks.commanded(str(found.state)))
        home = read_home(found.keeper)
        if home is not None:
            until(home.group.remove, within_s=10)


def _pids(places: Places) -> set[int]:
    """Of daemon and keeper."""
    try:
        with Client(places) as client:
            view = client.daemon()
    except ClientError:
        return set()
    return {pid for pid in (view.pid, view.keeper_pid) if pid is not None}


def test_one_is_started_and_the_second_time_found(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PADDOCK_RUN", "an agent's mark")
    ensure_daemon(places)
    with Client(places) as client:
        pid = client.daemon().pid
    ensure_daemon(places)
    with Client(places) as client:
        assert client.daemon().pid == pid
    assert pid != os.getpid() and os.getsid(pid) != os.getsid(0)
    assert b"PADDOCK_" not in Path(f"/proc/{pid}/environ").read_bytes()
    assert os.readlink(f"/proc/{pid}/cwd") == "/"  # noqa: PTH115
    assert places.state.stat().st_mode & 0o777 == 0o700


def test_many_who_start_one_at_once_get_one_and_start_no_other(places: Places) -> None:
    """One that was only late would find the place free after a stop."""
    pids: list[int] = []

    def start() -> None:
        ensure_daemon(places)
        with Client(places) as client:
            pids.append(client.daemon().pid)

    threads = [threading.Thread(target=start) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(pids) == 12 and len(set(pids)) == 1
    until(lambda: set(leaks.commanded(str(places.state))) == _pids(places), within_s=10)
    assert "already running" not in places.log.read_text(encoding="utf-8"), "none came too late"


def test_who_comes_while_another_starts_one_waits_for_its_turn(places: Places) -> None:
    places.state.mkdir(mode=0o700)
    other = os.open(places.state, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    thread = threading.Thread(target=ensure_daemon, args=(places,))
    thread.start()
    thread.join(1)
    assert thread.is_alive() and leaks.commanded(str(places.state)) == {}
    os.close(other)  # as when it dies
    thread.join(60)
    assert _pids(places)


def test_what_kept_it_from_starting_is_told(tmp_path: Path) -> None:
    places = Places(tmp_path / "state")
    places.state.mkdir(mode=0o755)
    places.state.chmod(0o755)
    with pytest.raises(NoDaemon, match=r"others can look into .*chmod 700") as none:
        ensure_daemon(places)
    assert "Traceback" not in none.value.message


def test_a_home_that_is_not_there_is_told_and_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.delenv("PADDOCK_STATE", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    places = find_places()
    told = f"the home directory {tmp_path}/nobody is not there, or closed to you: set HOME"
    with pytest.raises(NoDaemon, match=told):
        ensure_daemon(places)
    with pytest.raises(NotFit, match=told):
        make_state(places.state)
    assert not (tmp_path / "nobody").exists()


def test_a_state_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="ascii")
    with pytest.raises(NoDaemon, match="cannot be used"):
        ensure_daemon(Places(tmp_path / "file/state"))
