"""The socket: found wherever its directory lies, put back when taken away, gone at the end."""

from __future__ import annotations

import os
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from paddock.api.binding import CannotListen, bind_unix, identity, split_address
from paddock.api.serving import ApiServer
from paddock.client import Client, Failed, NoDaemon
from paddock.logs.shelf import Missing
from tests.kit.desk import ServedDesk, a_desk, an_agent
from tests.kit.waiting import until


def test_a_path_that_is_too_long_for_a_socket_works_all_the_same(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    with a_desk(deep) as desk, desk.client() as client:
        assert client.daemon().socket == str(desk.places.socket)


def test_a_socket_that_was_removed_is_there_again_within_a_second(desk: ServedDesk) -> None:
    with desk.client() as before:
        before.status()
        desk.places.socket.unlink()
        until(desk.places.socket.exists, within_s=2)
        before.status()  # a connection that was there goes on
    with desk.client() as after:
        after.status()


def test_a_socket_that_was_replaced_is_put_back(desk: ServedDesk) -> None:
    own = identity(desk.places.socket)
    bind_unix(desk.places.socket).close()
    until(lambda: identity(desk.places.socket) not in (None, own), within_s=2)
    until(lambda: _answers(desk), within_s=3)


def test_a_socket_is_not_put_back_by_a_daemon_whose_store_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its successor has the socket now; two daemons would take it from each other for ever."""
    monkeypatch.setattr("paddock.api.serving.LOOK_S", 0.02)
    ours, lost = [True], threading.Semaphore(0)
    served = partial(ApiServer, may_listen=lambda: ours[0], lost=lost.release)
    monkeypatch.setattr("tests.kit.desk.ApiServer", served)
    with a_desk(tmp_path) as desk:
        desk.places.socket.unlink()
        until(lambda: "there is a new one" in caplog.text)  # it is still ours
        ours[0] = False
        caplog.clear()
        bind_unix(desk.places.socket).close()
        another = identity(desk.places.socket)
        assert lost.acquire(timeout=5)
        ours[0] = True
        time.sleep(0.2)
        assert identity(desk.places.socket) == another
        assert not lost.acquire(blocking=False)
        desk.stop()
        assert identity(desk.places.socket) == another  # nor taken along
        desk.places.socket.unlink()
        monkeypatch.setattr(desk, "stop", lambda: None)
    assert len(caplog.records) == 1 and "not ours any more" in caplog.text


def _answers(desk: ServedDesk) -> bool:
    try:
        with desk.client() as client:
            return bool(client.daemon().pid)
    except NoDaemon:
        return False


def test_a_stale_socket_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o700)
    bind_unix(tmp_path / "state/paddock.sock").close()
    with a_desk(tmp_path) as desk, desk.client() as client:
        assert client.daemon().pid == os.getpid()


def test_something_else_at_the_sockets_place_is_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "paddock.sock"
    place.write_text("mine", encoding="ascii")
    with pytest.raises(CannotListen, match="something else of that name"):
        bind_unix(place)
    assert place.read_text(encoding="ascii") == "mine"


@pytest.mark.parametrize("text", ["7070", "host:", ":7070", "a:b", "127.0.0.1:99999"])
def test_an_address_that_is_none_is_said(text: str) -> None:
    with pytest.raises(CannotListen, match=r"127\.0\.0\.1:7070"):
        split_address(text)


def test_a_daemon_that_stops_answers_what_is_under_way_and_breaks_off_streams(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[str] = []
    with a_desk(tmp_path) as desk:
        desk.submit(an_agent("long", "print=hello", "sleep=60"))
        with desk.client() as client:  # what is told at the end is how it is then
            until(lambda: client.run("long").state == "running", within_s=30)

        def follow() -> None:
            try:
                with desk.client() as client:
                    list(client.log("long", follow=True))
            except Failed as failed:
                told.append(failed.code)

        def wait() -> None:
            with desk.client() as client:
                told.append(client.wait(["long"], timeout_s=100)[0].state)

        reader, waiter = threading.Thread(target=follow), threading.Thread(target=wait)
        reader.start()
        waiter.start()
        tasks = desk.server._state.tasks  # noqa: SLF001
        until(lambda: desk.now(lambda: len(tasks) == 2), within_s=30)
        began = time.monotonic()
    assert time.monotonic() - began < 30  # and not the 100 s that one of them would wait
    reader.join(30)
    waiter.join(30)
    assert sorted(told) == ["lost", "running"]
    assert caplog.text == ""


def test_a_stream_that_is_only_about_to_begin_is_broken_off_as_well(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its head is not sent yet when the daemon stops: the disk takes its time."""
    told: list[str] = []
    with a_desk(tmp_path) as desk:
        desk.submit(an_agent("long", "print=hello", "sleep=60"))
        looks, stops = threading.Event(), threading.Event()
        missing = desk.output.missing

        def slowly(run: str) -> Missing:
            looks.set()
            assert stops.wait(30)
            return missing(run)

        monkeypatch.setattr(desk.output, "missing", slowly)

        def follow() -> None:
            try:
                with desk.client() as client:
                    list(client.log("long", follow=True))
            except Failed as failed:
                told.append(failed.code)

        reader = threading.Thread(target=follow)
        reader.start()
        assert looks.wait(30)

        def let_go() -> None:
            until(desk.server._desk.closing.is_set, within_s=30)  # noqa: SLF001
            stops.set()

        letting = threading.Thread(target=let_go)
        letting.start()
    letting.join(30)
    reader.join(30)
    assert told == ["lost"]
    assert caplog.text == ""


def test_nobody_there_is_said_with_the_place(tmp_path: Path) -> None:
    from paddock.config.places import Places

    with Client(Places(tmp_path)) as client, pytest.raises(NoDaemon, match=r"paddock\.sock"):
        client.status()
