"""Streams: what a run writes, and what happens in the fleet."""

from __future__ import annotations

import asyncio
import threading
import time
from itertools import pairwise
from typing import Any

import pytest

from paddock.api.views_of import happening
from paddock.client import Client, NotFound
from paddock.core.run import Attempt
from paddock.supervisor import news
from tests.kit.desk import ServedDesk, an_agent
from tests.kit.discarding import discard
from tests.kit.raw_http import ask, connect
from tests.kit.waiting import until


def test_a_followed_log_ends_exactly_when_the_run_has_and_all_is_sent(
    desk: ServedDesk, client: Client
) -> None:
    words = [word for n in range(20) for word in (f"print=line {n}", "sleep=0.01")]
    [run] = client.submit(desk.order(an_agent("talks", *words, "exit=3"))).runs
    text = b"".join(client.log("talks", follow=True))
    assert text == b"".join(b"line %d\n" % n for n in range(20))
    assert client.run(run.id).exit_code == 3


def test_a_large_log_comes_whole_and_from_any_byte(desk: ServedDesk, client: Client) -> None:
    [run] = client.submit(desk.order(an_agent("talks"))).runs
    client.wait([run.id])
    written = bytes(range(256)) * 4096 * 5
    desk.output.append(Attempt(run.id, 1), written)
    assert b"".join(client.log(run.id)) == written
    assert b"".join(client.log(run.id, follow=True)) == written
    assert b"".join(client.log(run.id, from_byte=len(written) - 10)) == written[-10:]
    assert b"".join(client.log(run.id, from_byte=len(written) + 10)) == b""
    assert b"".join(client.log(run.id, from_byte=len(written) + 10, follow=True)) == b""


def test_the_last_lines_are_enough(desk: ServedDesk, client: Client) -> None:
    [run] = client.submit(desk.order(an_agent("talks", "print=a", "print=b", "print=c"))).runs
    client.wait([run.id])
    assert b"".join(client.log(run.id, lines=2)) == b"b\nc\n"
    assert b"".join(client.log(run.id, lines=0)) == b""
    assert ask(desk.places.socket, "GET", f"/v1/runs/{run.id}/log?lines=1&from=1").status == 400


def test_records_say_their_place_and_what_is_missing(desk: ServedDesk, client: Client) -> None:
    [run] = client.submit(desk.order(an_agent("talks"))).runs
    client.wait([run.id])
    written = b"".join(b"line %d\n" % n for n in range(2_000))
    desk.output.append(Attempt(run.id, 1), written)
    records = list(client.log_records(run.id))
    assert b"".join(record.data for record in records) == written
    assert [record.at for record in records] == list(range(0, len(written), 4096))
    discard(desk.output, Attempt(run.id, 1), b"x" * 493 + b"\n" * 7)
    desk.output.append(Attempt(run.id, 1), b"after\n")
    gap, last = list(client.log_records(run.id, from_byte=len(written)))
    assert (gap.at, gap.data, gap.missing_bytes, gap.missing_lines) == (last.at, b"", 500, 7)
    assert (last.at, last.data) == (len(written) + 500, b"after\n")
    assert b"".join(client.log(run.id)) == written + b"after\n"
    answer = ask(desk.places.socket, "GET", f"/v1/runs/{run.id}/log")
    assert answer.headers["paddock-missing-bytes"] == "500"
    assert answer.headers["paddock-missing-lines"] == "7"


def test_a_follower_hears_of_a_gap_as_it_comes(desk: ServedDesk, client: Client) -> None:
    [run] = client.submit(desk.order(an_agent("talks", "print=hello", "sleep=60"))).runs
    records = client.log_records(run.id, follow=True)
    assert next(records).data == b"hello\n"
    attempt = Attempt(run.id, 1)
    desk.now(lambda: discard(desk.output, attempt, b"not kept.\n"))
    desk.now(lambda: desk.output.append(attempt, b"on\n"))
    found = [next(records)]
    while not found[-1].data:
        found.append(next(records))
    assert sum(record.missing_bytes for record in found) == 10
    assert found[-1].at == 16
    records.close()  # type: ignore[attr-defined]


def test_since_is_a_time_and_goes_with_lines(desk: ServedDesk, client: Client) -> None:
    script = ("print=a", "print=b", "sleep=2.2", "print=c", "print=d")
    [run] = client.submit(desk.order(an_agent("talks", *script))).runs
    begun = time.time()
    client.wait([run.id])

    def since(at: float, **more: Any) -> bytes:
        records = client.log_records(run.id, since_at=at, **more)
        return b"".join(record.data for record in records)

    assert since(begun + 1.5) == b"c\nd\n"
    assert since(begun - 60, lines=3) == b"b\nc\nd\n"
    assert since(begun + 1.5, lines=1) == b"d\n"
    assert since(begun + 60) == b""
    for wrong in ("soon", "-1", "nan", "1e300"):
        query = f"/v1/runs/{run.id}/log?since={wrong}"
        assert ask(desk.places.socket, "GET", query).status == 400


def test_a_disk_nearly_full_is_in_the_status(desk: ServedDesk, client: Client) -> None:
    assert client.status().notices == ()
    desk.now(lambda: desk.output.intake.refused(Attempt("a", 1)))
    [notice] = client.status().notices
    assert notice.startswith("the disk is nearly full")


def test_all_attempts_are_one_stream(desk: ServedDesk, client: Client) -> None:
    [run] = client.submit(desk.order(an_agent("talks", "print=first"))).runs
    client.wait([run.id])
    desk.output.append(Attempt(run.id, 2), b"second\n")
    assert b"".join(client.log("talks")) == b"first\nsecond\n"


def test_beyond_the_end_a_follower_waits_for_what_comes(desk: ServedDesk, client: Client) -> None:
    script = ("sleep=0.2", "print=0123456789", "print=abc")
    client.submit(desk.order(an_agent("slow", *script)))
    assert b"".join(client.log("slow", from_byte=8, follow=True)) == b"89\nabc\n"


def test_the_log_of_nobody_is_not_found(client: Client) -> None:
    with pytest.raises(NotFound):
        list(client.log("nobody"))


def test_a_reader_that_leaves_leaves_nothing_behind(desk: ServedDesk, client: Client) -> None:
    client.submit(desk.order(an_agent("long", "print=hello", "sleep=60")))
    pieces = client.log("long", follow=True)
    assert next(pieces) == b"hello\n"
    pieces.close()  # type: ignore[attr-defined]
    events = client.events()
    client.kill(["long"])
    assert next(events).run
    events.close()  # type: ignore[attr-defined]
    until(lambda: desk.now(lambda: not desk.server._state.tasks))  # noqa: SLF001


def test_a_reader_that_does_not_read_costs_no_memory(desk: ServedDesk, client: Client) -> None:
    [run] = client.submit(desk.order(an_agent("loud"))).runs
    client.wait([run.id])
    desk.output.append(Attempt(run.id, 1), b"x" * 20_000_000)
    with connect(desk.places.socket) as line:
        line.sendall(f"GET /v1/runs/{run.id}/log HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert line.recv(10)
        held = until(lambda: _held(desk))
        assert held < 1_000_000


def _held(desk: ServedDesk) -> int:
    """What waits in the connections' buffers."""

    def look() -> int:
        connections: Any = desk.server._state.connections  # noqa: SLF001
        return sum(each.transport.get_write_buffer_size() for each in connections)

    return desk.now(look)


def test_events_tell_every_move_in_order(desk: ServedDesk, client: Client) -> None:
    events = client.events()
    told = threading.Thread(target=lambda: desk.submit(an_agent("one", "sleep=0.05", "exit=4")))
    told.start()
    seen = []
    for event in events:
        seen.append(event)
        if event.state == "ended":
            break
    told.join()
    assert [event.state for event in seen] == ["queued", "starting", "running", "ended"]
    assert [event.n for event in seen] == list(range(seen[0].n, seen[0].n + 4))
    assert (seen[-1].name, seen[-1].outcome, seen[-1].exit_code) == ("one", "failed", 4)
    assert abs(seen[-1].at - time.time()) < 60


def test_whoever_comes_back_hears_what_was_missed(desk: ServedDesk, client: Client) -> None:
    client.submit(desk.order(an_agent("one")))
    client.wait(["one"])
    after = client.events(after=1)
    assert [next(after).n for _ in range(3)] == [2, 3, 4]


def test_an_event_that_is_no_longer_kept_is_a_comment(desk: ServedDesk, client: Client) -> None:
    client.submit(desk.order(an_agent("one")))
    client.wait(["one"])
    desk.now(desk.supervisor.news._recent.clear)  # noqa: SLF001
    assert b"no longer there" in _first(desk, "2")
    assert b"of another daemon" in _first(desk, "999")
    assert b": hello\n" in _first(desk, "nonsense")


def _first(desk: ServedDesk, last_seen: str) -> bytes:
    with connect(desk.places.socket) as line:
        head = f"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: {last_seen}\r\n\r\n"
        line.sendall(head.encode())
        data = b""
        while b"\n\n" not in data.partition(b"\r\n\r\n")[2]:
            data += line.recv(4096)
        return data


def test_an_event_is_written_once_for_all_who_read_it(
    desk: ServedDesk, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []

    def counted(clock: Any, item: Any) -> Any:
        written.append(item.n)
        return happening(clock, item)

    monkeypatch.setattr("paddock.api.telling.happening", counted)
    readers = [client.events(after=0) for _ in range(5)]
    client.submit(desk.order(an_agent("one")))
    client.wait(["one"])
    told = [[next(reader) for _ in range(4)] for reader in readers]
    assert written == [1, 2, 3, 4]
    assert all(each == told[0] for each in told)


def test_a_slow_reader_of_events_misses_some_and_sees_the_gap(
    desk: ServedDesk, client: Client
) -> None:
    async def burst() -> None:
        """More than a subscription keeps, before anybody can read."""
        changes = [item.change for item in desk.supervisor.news.since(0)][:1]
        for _ in range(3 * news.KEPT):
            desk.supervisor.news.publish(changes, at=desk.supervisor.fleet.now)
        await asyncio.sleep(0)

    client.submit(desk.order(an_agent("one")))
    client.wait(["one"])
    events = client.events(after=0)
    first = next(events)
    desk.within(burst)
    later = [next(events).n for _ in range(news.KEPT)]
    assert first.n == 1
    assert later[-1] > 3 * news.KEPT - 10
    assert any(after - before > 1 for before, after in pairwise(later))


def test_a_stream_of_events_shows_that_it_is_alive(
    desk: ServedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paddock.api.streaming.ALIVE_S", 0.05)
    with connect(desk.places.socket) as line:
        line.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        data = b""
        while data.count(b": still here") < 2:
            more = line.recv(4096)
            assert more, "it was broken off"
            data += more
