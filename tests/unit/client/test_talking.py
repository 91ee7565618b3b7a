"""The conversation with a daemon that is scripted: no socket, every way to break off."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import pytest

from paddock.client.asks import Ask, StreamAsk, as_bytes, as_happenings, packed, path_of, with_query
from paddock.client.errors import BadRequest, Failed, NoDaemon, NotFound, Refused, Trouble
from paddock.client.talking import Close, Connect, Deed, Line, Pause, Piece, Receive, Send
from paddock.wire.views import Await, DaemonView, Submit, Uploaded

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 25\r\n\r\n" + b'{"token": "t", "size": 5}'
ASK = Ask("GET", "/v1/x", Uploaded)

Step = bytes | Exception


class Script:
    """Answers each connect and each receive with what comes next; keeps all that was done."""

    def __init__(self, *steps: Step, on_connect: Sequence[Exception | None] = ()) -> None:
        self.steps = list(steps)
        self.on_connect = list(on_connect)
        self.done: list[Deed] = []

    def do(self, deed: Deed) -> bytes:
        self.done.append(deed)
        if isinstance(deed, Connect) and self.on_connect:
            _raise(self.on_connect.pop(0))
        if isinstance(deed, Receive):
            step = self.steps.pop(0)
            if isinstance(step, Exception):
                raise step
            return step
        return b""

    def count(self, kind: type[Deed]) -> int:
        return sum(isinstance(deed, kind) for deed in self.done)


def _raise(error: Exception | None) -> None:
    if error is not None:
        raise error


def talk(steps: Generator[Any, bytes, Any], script: Script) -> Any:
    pieces: list[bytes] = []
    try:
        deed = next(steps)
        while True:
            if isinstance(deed, Piece):
                pieces.append(deed.data)
                deed = steps.send(b"")
                continue
            try:
                answer = script.do(deed)
            except OSError as error:
                deed = steps.throw(error)
            else:
                deed = steps.send(answer)
    except StopIteration as end:
        return end.value if end.value is not None else pieces


def a_line() -> Line:
    return Line(host="localhost", where="/state/paddock.sock")


def test_a_whole_request_is_one_write_and_the_line_is_kept() -> None:
    line, script = a_line(), Script(OK[:30], OK[30:], OK)
    assert talk(line.ask(ASK), script) == Uploaded(token="t", size=5)
    assert line.idle and script.count(Send) == 1
    assert talk(line.ask(ASK), script).size == 5
    assert script.count(Connect) == 1


def test_a_line_that_went_away_between_two_requests_is_opened_again() -> None:
    line, script = a_line(), Script(OK, b"", OK)
    talk(line.ask(ASK), script)
    assert talk(line.ask(ASK), script).size == 5
    assert script.count(Connect) == 2


@pytest.mark.parametrize("lost", [b"", OK[:20], OK[:60], ConnectionResetError()])
def test_a_lost_answer_is_asked_for_once_more(lost: Step) -> None:
    steps = (lost, b"") if isinstance(lost, bytes) and lost else (lost,)
    script = Script(*steps, OK)
    ask = Ask("POST", "/v1/runs", Uploaded, b'{"key": "same"}')
    assert talk(a_line().ask(ask), script).size == 5
    bodies = [deed.data for deed in script.done if isinstance(deed, Send)]
    assert bodies[0] == bodies[1] and b'"same"' in bodies[0]


def test_lost_twice_is_told() -> None:
    line = a_line()
    with pytest.raises(Failed, match="broke off") as failed:
        talk(line.ask(ASK), Script(b"", b""))
    assert failed.value.code == "lost" and not line.idle


def test_an_upload_cannot_be_repeated() -> None:
    ask = Ask("POST", "/v1/stdin", Uploaded, iter([b"a", b"b"]))
    with pytest.raises(Failed, match="broke off"):
        talk(a_line().ask(ask), Script(b"", OK))


def test_an_upload_goes_out_piece_by_piece() -> None:
    script = Script(OK)
    talk(a_line().ask(Ask("POST", "/v1/stdin", Uploaded, iter([b"abc", b"de"]))), script)
    sent = [deed.data for deed in script.done if isinstance(deed, Send)]
    assert b"chunked" in sent[0] and sent[1] == b"3\r\nabc\r\n" and sent[-1] == b"0\r\n\r\n"


def test_no_answer_in_time_is_told_and_the_line_is_closed() -> None:
    line, script = a_line(), Script(TimeoutError())
    with pytest.raises(Failed, match="no answer from the daemon within 60 s") as failed:
        talk(line.ask(ASK), script)
    assert failed.value.code == "late" and not line.idle and isinstance(script.done[-1], Close)


def test_a_daemon_that_is_just_starting_is_waited_for() -> None:
    refused = ConnectionRefusedError(111, "Connection refused")
    script = Script(OK, on_connect=[refused, BlockingIOError(11, "later"), None])
    assert talk(a_line().ask(ASK), script).size == 5
    assert script.count(Pause) == 2


def test_one_that_refuses_for_good_is_no_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 1.0, 2.5])
    monkeypatch.setattr("paddock.client.talking.time.monotonic", lambda: next(times))
    refused = ConnectionRefusedError(111, "Connection refused")
    with pytest.raises(NoDaemon, match=r"no daemon answers at /state/paddock\.sock") as none:
        talk(a_line().ask(ASK), Script(on_connect=[refused, refused, refused]))
    assert none.value.code == "no_daemon"


def test_another_users_daemon_is_said_to_be_that() -> None:
    denied = PermissionError(13, "Permission denied")
    with pytest.raises(NoDaemon, match="belongs to another user"):
        talk(a_line().ask(ASK), Script(on_connect=[denied]))


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, BadRequest),
        (404, NotFound),
        (409, Refused),
        (413, BadRequest),
        (500, Failed),
        (503, Trouble),
    ],
)
def test_problems_become_errors_with_the_daemons_sentence(
    status: int, kind: type[Exception]
) -> None:
    line = a_line()
    with pytest.raises(kind, match=r"^because$") as told:
        talk(line.ask(ASK), Script(_problem(status, b'{"code": "c", "message": "because"}')))
    assert getattr(told.value, "code", "") == "c"
    assert line.idle, "a problem is an answer: the line can be used again"


def test_an_answer_that_is_no_problem_of_ours_is_quoted() -> None:
    with pytest.raises(BadRequest, match="answered 400: nonsense"):
        talk(a_line().ask(ASK), Script(_problem(400, b"nonsense")))


def test_keys_that_this_version_does_not_know_are_passed_over() -> None:
    body = b'{"token": "t", "size": 5, "from the future": [1]}'
    assert talk(a_line().ask(ASK), Script(_problem(200, body))).token == "t"


def test_an_answer_of_another_version_is_told() -> None:
    with pytest.raises(Failed, match="another version"):
        talk(a_line().ask(Ask("GET", "/", DaemonView)), Script(_problem(200, b'{"pid": "x"}')))


def test_a_stream_comes_in_pieces_and_begins_with_an_empty_one() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    script = Script(head + b"3\r\nabc\r\n", b"2\r\nde\r\n", b"0\r\n\r\n")
    assert talk(a_line().stream(StreamAsk("/log", as_bytes)), script) == [b"", b"abc", b"de"]


def test_a_stream_that_breaks_off_is_lost_and_not_ended() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
    with pytest.raises(Failed) as failed:
        talk(a_line().stream(StreamAsk("/log", as_bytes)), Script(head, b""))
    assert failed.value.code == "lost"


def test_events_are_put_together_from_any_pieces() -> None:
    told = b'{"n":7,"at":1.5,"run":"r","name":"x","state":"ended","attempt":1,"because":"b"}'
    one = b"id: 7\ndata: " + told + b"\n\n"
    text = b": hello\n\n" + one + b": still here\n\n" + one
    for size in (1, 7, 50, len(text)):
        feed = as_happenings()
        pieces = (text[at : at + size] for at in range(0, len(text), size))
        assert [event.n for piece in pieces for event in feed(piece)] == [7, 7]


def test_text_that_is_no_utf8_is_said_to_be_that() -> None:
    order = Submit(key="k", directory="/", environment={"ODD": "\udcff"})
    with pytest.raises(BadRequest, match="the variable ODD of the environment is no UTF-8"):
        packed(order)
    with pytest.raises(BadRequest, match="a word of the command"):
        packed(Await(runs=("\udcff",)))


def test_a_run_may_be_called_anything() -> None:
    assert path_of("a b&ü?", "log") == "/v1/runs/a%20b%26%C3%BC%3F/log"
    assert with_query("/x", all=True, limit=None, follow=False, lines=0) == "/x?all=1&lines=0"
    with pytest.raises(NotFound):
        path_of("")


def _problem(status: int, body: bytes) -> bytes:
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body)
