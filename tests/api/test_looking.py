"""Requests that change nothing: they say what is true, and quickly."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from paddock import __version__
from paddock.api import views_of
from paddock.client import BadRequest, Client, NotFound, Refused
from paddock.core.breaker import Closed, Open
from paddock.core.events import Sampled
from paddock.core.policy import LadderPolicy
from paddock.core.pressure import Rung
from paddock.core.run import Attempt
from paddock.wire.views import RunView
from tests.kit.desk import ServedDesk, a_desk, an_agent
from tests.kit.factories import a_host, a_policy, with_parts
from tests.kit.raw_http import ask
from tests.kit.waiting import until

GIB = 1 << 30


def test_the_status_has_the_host_the_fleet_the_queue_and_the_counts(
    desk: ServedDesk, client: Client
) -> None:
    runs = [an_agent(f"a{n}", "sleep=60", memory_bytes=5 * GIB) for n in range(4)]
    client.submit(desk.order(*runs))
    until(lambda: client.status().counts["running"] == 2)
    status = client.status()
    assert status.host is not None and status.host.ladder == "calm"
    assert (status.fleet.limit_bytes, status.fleet.expected_bytes) == (12 * GIB, 10 * GIB)
    assert status.counts["queued"] == 2 and status.queue.waiting == 2
    assert [run.place for run in status.queue.first] == [1, 2]
    assert (status.driver, status.trouble, status.breakers) == ("fake", None, ())


def test_the_daemon_says_who_and_where_it_is(desk: ServedDesk, client: Client) -> None:
    view = client.daemon()
    assert view.version == __version__
    assert (view.socket, view.state) == (str(desk.places.socket), str(desk.places.state))
    assert view.uptime_s >= 0 and view.epoch == 1 and view.keeper_pid is None


def test_runs_are_listed_at_work_first_then_as_they_will_be_served(
    desk: ServedDesk, client: Client
) -> None:
    big = 5 * GIB
    client.submit(desk.order(*(an_agent(f"a{n}", "sleep=60", memory_bytes=big) for n in range(3))))
    client.submit(desk.order(an_agent("urgent", memory_bytes=big, priority="high")))
    client.submit(desk.order(an_agent("later", needs=("a0",))))
    client.submit(desk.order(an_agent("small", memory_bytes=GIB // 2)))
    until(lambda: client.run("small").state == "ended")
    assert [run.name for run in client.runs()] == ["a0", "a1", "urgent", "a2", "later"]
    assert [run.name for run in client.runs(state="queued", limit=1)] == ["urgent"]
    assert [run.name for run in client.runs(all=True)][-1] == "small"
    assert [run.name for run in client.runs(state="ended")] == ["small"]


def test_the_ended_are_listed_from_the_store_newest_first(tmp_path: Path) -> None:
    with a_desk(tmp_path, policy=a_policy(keep_ended=2)) as desk, desk.client() as client:
        for number in range(5):
            [run] = client.submit(desk.order(an_agent(f"r{number}"))).runs
            client.wait([run.id])
        assert [run.name for run in client.runs(all=True)] == ["r4", "r3", "r2", "r1", "r0"]
        assert [run.name for run in client.runs(all=True, limit=2)] == ["r4", "r3"]
        assert client.run("r0").outcome == "succeeded"


def test_a_run_that_ended_says_how(desk: ServedDesk, client: Client) -> None:
    client.submit(desk.order(an_agent("code", "exit=7"), an_agent("killed", "die=9")))
    code, killed = client.wait(["code", "killed"])
    assert (code.outcome, code.exit_code, code.signal) == ("failed", 7, None)
    assert (killed.outcome, killed.exit_code, killed.signal) == ("failed", None, 9)
    assert code.sentence.startswith("failed: ") and (code.because or "?") in code.sentence
    assert code.submitted_at is not None and abs(code.submitted_at - time.time()) < 60


def test_a_story_has_every_move_with_the_clock_on_the_wall(
    desk: ServedDesk, client: Client
) -> None:
    client.submit(desk.order(an_agent("one")))
    client.wait(["one"])
    moves = client.story("one")
    assert [move.state for move in moves] == ["queued", "starting", "running", "ended"]
    assert all(abs(move.at - time.time()) < 60 for move in moves)


def test_why_gives_the_sentence(desk: ServedDesk, client: Client) -> None:
    client.submit(desk.order(an_agent("base", "sleep=60"), an_agent("top", needs=("base",))))
    assert client.why("top").sentence == "waits for base to succeed"
    assert client.why("base").sentence.startswith(("running for", "starting for"))


def test_memory_is_told_for_each_that_holds_some(desk: ServedDesk, client: Client) -> None:
    [run] = client.submit(desk.order(an_agent("eats", "sleep=60", memory_bytes=2 * GIB))).runs
    until(lambda: client.run(run.id).state == "running")
    used = {Attempt(run.id, 1): GIB}
    desk.now(lambda: desk.supervisor.post(Sampled(0.0, a_host(), used)))
    [view] = client.memory()
    assert (view.name, view.used_bytes, view.limit_bytes) == ("eats", GIB, 2 * GIB)
    assert client.run("eats").memory_bytes == GIB
    assert (view.cpu_s, view.processes) == (0.0, 1), "pretending costs nothing"
    assert view.recent_bytes == (), "nobody asked for it"


def test_the_last_minute_of_an_agent_is_told_to_whoever_asks(
    desk: ServedDesk, client: Client
) -> None:
    [run] = client.submit(desk.order(an_agent("eats", "sleep=60"))).runs
    until(lambda: client.run(run.id).state == "running")
    desk.recent_bytes[Attempt(run.id, 1)] = (1, 2, GIB)
    assert client.memory(recent=True)[0].recent_bytes == (1, 2, GIB)
    assert client.memory()[0].recent_bytes == ()


def test_the_ladder_tells_where_its_steps_are(desk: ServedDesk, client: Client) -> None:
    until(lambda: client.status().host is not None)
    host = client.status().host
    assert host is not None
    assert list(host.rungs) == [rung.name.lower() for rung in Rung if rung is not Rung.CALM]
    assert host.rungs["skip_low"] == desk.policy.ladder.skip_low


def test_on_a_small_host_the_floors_in_bytes_are_the_steps() -> None:
    rungs = views_of.rungs_of(LadderPolicy(), total_bytes=1 * GIB)
    assert rungs["skip_low"] == 37.5, "640 MiB of 1 GiB are to stay free"
    assert list(rungs.values()) == sorted(rungs.values())


def test_what_was_learned_is_told_by_group(desk: ServedDesk, client: Client) -> None:
    client.submit(desk.order(an_agent("one", group="coder")))
    client.wait(["one"])
    [view] = client.learned()
    assert (view.group, view.attempts, view.typical_bytes) == ("coder", 1, None)
    assert view.last_run == "one"


def test_nobody_is_told_to_have_used_more_than_its_wall(desk: ServedDesk, client: Client) -> None:
    """Learned uses are counted in bins of 3 %, by their upper edge."""
    [run] = client.submit(desk.order(an_agent("eats", "sleep=60", memory_bytes=256 << 20))).runs
    until(lambda: client.run(run.id).state == "running")
    used = {Attempt(run.id, 1): 256 << 20}
    for _ in range(2):
        desk.now(lambda: desk.supervisor.post(Sampled(0.0, a_host(), used)))
    client.kill([run.id], force=True)
    client.wait([run.id])
    [view] = client.learned()
    assert (view.peak_bytes, view.limit_bytes) == (256 << 20, 256 << 20)


def has_been_tried(run: RunView) -> bool:
    return run.state == "queued" and run.attempt == 1


def test_the_peak_of_an_earlier_attempt_is_not_forgotten(tmp_path: Path) -> None:
    patient = with_parts(a_policy(), retry={"first_s": 600.0, "longest_s": 600.0})
    with a_desk(tmp_path, policy=patient) as desk, desk.client() as client:
        eats = an_agent("eats", "use=64M", "exit=1", retries=1)
        [run] = client.submit(desk.order(eats)).runs
        until(lambda: has_been_tried(client.run(run.id)), within_s=60)
        assert client.run(run.id).peak_bytes == 64 << 20
        client.kill([run.id])
        [ended] = client.wait([run.id])
        assert (ended.outcome, ended.peak_bytes) == ("cancelled", 64 << 20)


def test_breakers_are_told_and_can_be_reset(desk: ServedDesk, client: Client) -> None:
    client.submit(desk.order(*(an_agent(f"a{n}", "exit=1", group="bad") for n in range(3))))
    client.wait(["a0", "a1", "a2"])
    [view] = client.breakers()
    assert (view.group, view.state, view.failures) == ("bad", "open", 3)
    assert view.last_run == "a2"
    assert view.retry_in_s is not None and 0 < view.retry_in_s <= 60
    assert client.status().breakers == (view,) or client.status().breakers[0].group == "bad"
    assert desk.now(lambda: isinstance(desk.supervisor.fleet.group("bad").breaker, Open))
    assert client.reset_breaker("bad").state == "closed"
    assert client.breakers() == []
    with pytest.raises(NotFound, match="there is no group 'nobody'"):
        client.reset_breaker("nobody")


def test_a_failure_that_no_longer_counts_is_not_told(desk: ServedDesk, client: Client) -> None:
    client.submit(desk.order(an_agent("once", "exit=1", group="bad")))
    client.wait(["once"])
    [view] = client.breakers()
    assert (view.state, view.failures, view.last_run) == ("closed", 1, "once")

    def a_minute_ago() -> None:
        group = desk.supervisor.fleet.group("bad")
        group.breaker = Closed(tuple(at - 60.0 for at in group.breaker.failed_at))

    desk.now(a_minute_ago)
    assert client.breakers() == []


def test_waiting_answers_when_all_have_ended(desk: ServedDesk, client: Client) -> None:
    client.submit(desk.order(an_agent("short", "sleep=0.05"), an_agent("long", "sleep=0.2")))
    views = client.wait(["long", "short"])
    assert [view.name for view in views] == ["long", "short"]
    assert {view.state for view in views} == {"ended"}


def test_waiting_in_vain_answers_after_the_timeout(desk: ServedDesk, client: Client) -> None:
    client.submit(desk.order(an_agent("long", "sleep=60")))
    began = time.monotonic()
    [view] = client.wait(["long"], timeout_s=0.1)
    assert view.state in ("starting", "running")
    assert time.monotonic() - began < 5


def test_one_who_leaves_while_waiting_is_not_waited_for(desk: ServedDesk, client: Client) -> None:
    [run] = client.submit(desk.order(an_agent("long", "sleep=60"))).runs
    body = b'{"runs": ["%s"], "timeout_s": 3000}' % run.id.encode()
    from tests.kit.raw_http import connect

    with connect(desk.places.socket) as line:
        head = f"POST /v1/wait HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        line.sendall(head.encode() + body)
        until(lambda: desk.now(lambda: len(desk.server._state.tasks)))  # noqa: SLF001
    until(lambda: desk.now(lambda: not desk.server._state.tasks))  # noqa: SLF001


def test_a_run_is_found_by_id_prefix_and_name(desk: ServedDesk, client: Client) -> None:
    [first] = client.submit(desk.order(an_agent("same", "sleep=60"))).runs
    [second] = client.submit(desk.order(an_agent("same", "sleep=60"))).runs
    assert client.run(first.id).id == first.id
    assert client.run(first.id[:6]).id == first.id
    assert client.run("same").id == second.id


def test_what_is_not_there_or_not_clear_is_said(desk: ServedDesk, client: Client) -> None:
    with pytest.raises(NotFound, match="there is no run 'nobody'"):
        client.run("nobody")
    with pytest.raises(NotFound, match=r"there is no run '\\x1b\[31m\\n'"):
        client.run("\x1b[31m\n")
    for path in ("/", "a/b", "../status"):
        with pytest.raises(NotFound, match=f"there is no run '{path}'; "):
            client.story(path)
    with pytest.raises(NotFound, match="64 letters at most"):
        client.run("x" * 201)
    with pytest.raises(NotFound):
        client.run("")
    with pytest.raises(NotFound):
        client.story("ä b/../?#%00")
    client.submit(desk.order(*(an_agent(f"a{n}", memory_bytes=GIB) for n in range(40))))
    ids = [run.id for run in client.runs(all=True)]
    first = next(one[0] for one in ids if sum(other[0] == one[0] for other in ids) > 1)
    with pytest.raises(Refused, match="could be") as refused:
        client.run(first)
    assert refused.value.code == "ambiguous"


@pytest.mark.parametrize("query", ["state=gone", "limit=-1", "limit=1e9", "all=maybe", "unknown=1"])
def test_a_query_that_makes_no_sense_is_declined(desk: ServedDesk, query: str) -> None:
    answer = ask(desk.places.socket, "GET", f"/v1/runs?{query}")
    assert answer.status == 400
    assert answer.json["code"] == "bad_request" and "\n" not in answer.message


def test_unknown_paths_and_methods_are_problems_too(desk: ServedDesk) -> None:
    assert ask(desk.places.socket, "GET", "/v2/status").json["code"] == "not_found"
    wrong = ask(desk.places.socket, "DELETE", "/v1/runs")
    assert (wrong.status, wrong.json["code"]) == (405, "bad_request")
    with desk.client() as client, pytest.raises(BadRequest):
        client.runs(state="gone")  # type: ignore[arg-type]


def test_a_status_takes_no_longer_with_ten_thousand_in_the_queue(tmp_path: Path) -> None:
    with a_desk(tmp_path, policy=a_policy(queue_depth=20_000)) as desk, desk.client() as client:
        empty = _quickest(client)
        client.submit(desk.order(*(an_agent(f"r{n}", "sleep=60") for n in range(10_000))))
        assert _quickest(client) < empty + 0.02


def _quickest(client: Client) -> float:
    times = []
    for _ in range(10):
        began = time.perf_counter()
        client.status()
        times.append(time.perf_counter() - began)
    return min(times)
