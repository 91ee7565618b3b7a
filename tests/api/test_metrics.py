"""`/metrics`: on the socket for its owner, on TCP for whoever has the token."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from paddock.client import Client
from paddock.storage.sqlite import open_store
from tests.kit.desk import ServedDesk, a_desk, an_agent
from tests.kit.raw_http import ask


def _read(body: bytes) -> dict[str, float]:
    """Those without labels, or with the sum of all."""
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(body.decode()):
        for sample in family.samples:
            found[sample.name] = found.get(sample.name, 0.0) + sample.value
    return found


def test_the_socket_answers_in_the_text_format(desk: ServedDesk, client: Client) -> None:
    client.submit(desk.order(an_agent("one", "exit=0"), an_agent("two", "exit=1")))
    client.wait(["one", "two"])
    answer = ask(desk.places.socket, "GET", "/metrics")
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = _read(answer.body)
    assert found["paddock_runs_submitted_total"] == 2.0
    assert found["paddock_runs_ended_total"] == 2.0
    assert found["paddock_host_memory_size_bytes"] > 0


def test_the_client_gets_the_same(desk: ServedDesk, client: Client) -> None:
    client.submit(desk.order(an_agent("one", "sleep=60")))
    found = _read(b"".join(client.metrics()))
    assert found["paddock_agents"] == 1.0
    assert found["paddock_agent_memory_limit_bytes"] > 0


def test_over_tcp_the_token_is_asked_for(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    where = ("127.0.0.1", port)
    with a_desk(tmp_path, listen=f"127.0.0.1:{port}") as desk:
        token = desk.places.token.read_text(encoding="ascii").strip()
        assert ask(where, "GET", "/metrics").status == 401
        assert ask(where, "GET", "/metrics", authorization="Bearer wrong").status == 401
        # As Prometheus says it: with the port in the Host.
        bearer, host = f"Bearer {token}", f"127.0.0.1:{port}"
        answer = ask(where, "GET", "/metrics", authorization=bearer, host=host)
        assert answer.status == 200
        assert b"paddock_build_info" in answer.body
        assert token.encode() not in answer.body


def test_many_scrapes_at_once_are_all_answered(desk: ServedDesk) -> None:
    with ThreadPoolExecutor(8) as many:
        answers = list(many.map(lambda _: ask(desk.places.socket, "GET", "/metrics"), range(16)))
    assert {answer.status for answer in answers} == {200}


def test_counters_begin_at_zero_with_every_daemon(tmp_path: Path) -> None:
    file = tmp_path / "paddock.db"
    with a_desk(tmp_path, store=open_store(file)) as desk, desk.client() as client:
        client.submit(desk.order(an_agent("one")))
        client.wait(["one"])
    with a_desk(tmp_path, store=open_store(file)) as desk:
        found = _read(ask(desk.places.socket, "GET", "/metrics").body)
        assert found["paddock_runs_submitted_total"] == 0.0


def test_no_secret_of_a_run_is_in_it(desk: ServedDesk, client: Client) -> None:
    client.submit(
        desk.order(an_agent("one", "sleep=60"), environment={"TOKEN": "sehr-geheim", "A": "b"})
    )
    assert b"sehr-geheim" not in b"".join(client.metrics())
