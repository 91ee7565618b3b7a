"""Whatever is sent: one line back, nothing taken, and the daemon goes on."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paddock.api.routes import ROUTES
from paddock.client import NotFound, Refused
from tests.kit.desk import ServedDesk, a_desk, an_agent
from tests.kit.raw_http import Answer, ask, connect, read_answer

SECRET = "hunter2-do-not-tell"


def _submit(desk: ServedDesk, body: bytes | dict[str, Any]) -> Answer:
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    return ask(desk.places.socket, "POST", "/v1/runs", data)


def _order(**changes: Any) -> dict[str, Any]:
    run = {"name": "a", "command": ["exit=0"]} | changes.pop("run", {})
    usual = {"key": "k" * 16, "directory": "/", "runs": [run], "environment": {"KEY": SECRET}}
    return usual | changes


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"\xff\xfe",
        b'{"key": NaN}',
        b'{"key": "kkkkkkkkkkkk", "directory": "/", "runs": [{"name": "a\\ud800"}]}',
        b'{"key": "kkkkkkkkkkkk", "directory": "\xff/"}',
        b'{"x":' + b"[" * 200_000,
        b'{"key": ' + b"9" * 100_000 + b"}",
    ],
)
def test_what_is_no_submission_is_declined_in_one_line(desk: ServedDesk, body: bytes) -> None:
    answer = _submit(desk, body)
    assert answer.status == 400 and answer.json["code"] == "bad_request"
    assert "\n" not in answer.message and len(answer.message) < 300


@pytest.mark.parametrize(
    "run",
    [
        {"name": ""},
        {"name": "../etc"},
        {"name": "a/b"},
        {"name": "a\nb"},
        {"name": "x" * 65},
        {"name": 5},
        {"command": []},
        {"command": [""]},
        {"command": ["a\0b"]},
        {"command": "true"},
        {"command": ["x" * 200_000]},
        {"command": ["x"] * 10_001},
        {"priority": "URGENT"},
        {"memory_bytes": 1},
        {"memory_bytes": -5},
        {"memory_bytes": 10**30},
        {"memory_bytes": 10**5000},
        {"memory_bytes": True},
        {"memory_high_bytes": 1 << 40, "memory_bytes": 1 << 30},
        {"memory_high_percent": 100},
        {"cpu": 0},
        {"cpu": 1e308},
        {"cpu": "lots"},
        {"pids": 1},
        {"timeout_s": 0},
        {"timeout_s": -1},
        {"timeout_s": 1e300},
        {"timeout_s": "never"},
        {"soft_timeout_s": 10, "timeout_s": 5},
        {"retries": -1},
        {"retries": 101},
        {"needs": ["a b"]},
        {"needs": ["x"] * 1001},
        {"env": {"A=B": "c"}},
        {"env": {"": "c"}},
        {"env": {"PADDOCK_RUN": "c"}},
        {"env": {"A": "b\0c"}},
        {"env": {"A": 5}},
        {"dir": "a\0b"},
        {"dir": "/" + "x" * 5000},
        {"group": "a\nb"},
        {"role": "../x"},
        {"on_end": "\0"},
        {"driver": "magic"},
        {"performance_profile": "../../x"},
        {"agent": "claude"},
        {"prompt": "alone"},
        {"agent": "claude", "prompt": "x"},
        {"stdin": "yes"},
    ],
)
def test_a_run_that_no_fleet_file_could_hold_is_declined(
    desk: ServedDesk, run: dict[str, Any]
) -> None:
    body = _order(run=run)
    try:
        data = json.dumps(body)
    except ValueError:  # Python itself refuses to write numbers of 5,000 digits
        data = json.dumps(_order(run={"memory_bytes": 0})).replace('": 0', '": 1' + "0" * 5000)
    answer = _submit(desk, data.encode())
    assert answer.status == 400, answer.body
    assert "\n" not in answer.message and len(answer.message) < 400
    assert SECRET not in answer.message
    assert ask(desk.places.socket, "GET", "/v1/runs?all=1").json == []


@pytest.mark.parametrize(
    "changes",
    [
        {"key": "short"},
        {"key": "k" * 201},
        {"key": "with space in it"},
        {"key": "kkkkkkkk\0kkkkkk"},
        {"directory": ""},
        {"directory": "relative"},
        {"directory": "/\0"},
        {"environment": {"A=": "b"}},
        {"environment": {"A": f"{SECRET}\0"}},
        {"environment": {"A": SECRET * 10_000}},
        {"environment": {"A": [SECRET]}},
        {"environment": SECRET},
        {"umask": 512},
        {"umask": -1},
        {"fleet": "../x"},
        {"profile": "../../etc/passwd"},
        {"profile": SECRET[:5] + "\n"},
        {"runs": []},
        {"heartbeats": [{"every_s": 0.001, "run": {"name": "h", "command": ["x"]}}]},
        {"heartbeats": [{"every_s": 5, "run": {"name": "h", "command": ["x"], "needs": ["a"]}}]},
        {"stdin": "../../etc/passwd"},
    ],
)
def test_a_submission_with_nonsense_in_it_is_declined(
    desk: ServedDesk, changes: dict[str, Any]
) -> None:
    answer = _submit(desk, _order(**changes))
    assert answer.status == 400, answer.body
    assert SECRET not in answer.message and len(answer.message) < 400
    assert ask(desk.places.socket, "GET", "/v1/runs?all=1").json == []


def test_what_is_too_large_is_declined_before_it_is_read(desk: ServedDesk) -> None:
    where = desk.places.socket
    with connect(where) as line:
        head = "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        line.sendall(f"{head}Content-Length: {65 << 20}\r\n\r\n".encode())
        assert read_answer(line).status == 413
    answer = ask(where, "POST", "/v1/kill", b" " * (2 << 20))
    assert answer.status == 413 and answer.json["code"] == "too_large"


def test_chunks_that_never_end_are_cut_off(desk: ServedDesk) -> None:
    with connect(desk.places.socket) as line:
        head = "POST /v1/kill HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        line.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        try:
            for _ in range(64):
                line.sendall(chunk)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert read_answer(line).status == 413


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=10,
)
FIELDS = st.sampled_from(
    (
        *("key", "runs", "directory", "environment", "stdin", "profile", "umask", "heartbeats"),
        *("kill", "force", "timeout_s", "priority", "group", "name", "command", "needs", "env"),
    )
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with a_desk(tmp_path_factory.mktemp("shared")) as desk:
        desk.submit(an_agent("victim", "sleep=600"))
        yield desk


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    route=st.sampled_from([route for route in ROUTES if route.method == "POST"]),
    body=st.dictionaries(FIELDS, JSON, max_size=5) | JSON,
)
def test_no_request_breaks_the_daemon(shared: ServedDesk, route: Any, body: Any) -> None:
    data = json.dumps(body).encode()
    answer = ask(shared.places.socket, "POST", route.path.replace("{run}", "victim"), data)
    assert answer.status in (200, 400, 404, 409), answer.body
    assert answer.json is not None


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ref=st.text(st.characters(min_codepoint=1, max_codepoint=0x2FF), min_size=1, max_size=30))
def test_no_name_of_a_run_breaks_the_daemon(shared: ServedDesk, ref: str) -> None:
    with shared.client() as client:
        for method in (client.run, client.story, client.why, client.freeze):
            with suppress(NotFound, Refused):
                method(ref)
        assert client.status().host is not None  # it is still there, and none of these was a bug


def test_a_bug_is_a_problem_too_and_its_log_holds_no_values(
    desk: ServedDesk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(SECRET)

    monkeypatch.setattr("paddock.api.views_of.status_view", broken)
    answer = ask(desk.places.socket, "GET", "/v1/status")
    assert (answer.status, answer.json["code"]) == (500, "internal")
    assert SECRET not in answer.message and SECRET not in caplog.text
    assert "RuntimeError" in caplog.text and "views_of" not in answer.message


def test_secrets_appear_in_no_answer_and_no_log(
    desk: ServedDesk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    secret = {"TOKEN": SECRET}
    run = an_agent("keeps", "print=hello", "exit=1", env={"OWN": SECRET + "-own"})
    waits = an_agent("waits", "sleep=600", memory_bytes=11 << 30)
    [keeps, _] = desk.submit(run, waits, environment=secret).runs
    with desk.client() as client:
        client.wait([keeps.id])
        client.retry("keeps", environment=secret)
        told = [repr(item) for item, _ in zip(client.events(after=0), range(5), strict=False)]
    for route in ROUTES:
        if route.method == "GET" and route.path != "/v1/events":
            for name in ("keeps", "waits"):
                answer = ask(desk.places.socket, "GET", route.path.replace("{run}", name))
                # They have no repository, so they have changed nothing in one.
                wanted = 404 if route.name == "diff" else 200
                assert answer.status == wanted, (route.path, answer.body)
                told.append(answer.body.decode())
    everything = "".join(told) + caplog.text
    assert SECRET not in everything
    assert "keeps" in everything
