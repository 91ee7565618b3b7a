"""Requests that change what is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from paddock.client import BadRequest, Client, NotFound, Refused
from paddock.wire.run_request import HeartbeatRequest
from paddock.wire.views import Otherwise
from tests.kit.desk import ServedDesk, a_desk, an_agent
from tests.kit.factories import a_policy
from tests.kit.waiting import until

GIB = 1 << 30


def test_runs_are_killed_whatever_they_are_called(desk: ServedDesk, client: Client) -> None:
    one, two = client.submit(
        desk.order(an_agent("one", "sleep=60"), an_agent("two", "sleep=60"))
    ).runs
    killed = client.kill(["one", two.id[:7]])
    assert set(killed.runs) == {one.id, two.id}
    assert {view.outcome for view in client.wait([one.id, two.id])} == {"cancelled"}


def test_one_unknown_name_and_nothing_is_killed(desk: ServedDesk, client: Client) -> None:
    client.submit(desk.order(an_agent("one", "sleep=60")))
    with pytest.raises(NotFound, match="nobody"):
        client.kill(["one", "nobody"])
    assert client.run("one").state != "ended"


def test_killing_what_has_ended_is_no_mistake_and_kills_nothing(
    desk: ServedDesk, client: Client
) -> None:
    client.submit(desk.order(an_agent("one")))
    client.wait(["one"])
    assert client.kill(["one"]).runs == ()


def test_a_deaf_run_is_killed_by_force(desk: ServedDesk, client: Client) -> None:
    [run] = client.submit(desk.order(an_agent("deaf", "deaf", "sleep=60"))).runs
    until(lambda: client.run("deaf").state == "running")
    client.kill(["deaf"])
    assert client.wait([run.id], timeout_s=0.1)[0].state == "stopping"
    client.kill(["deaf"], force=True)
    assert client.wait([run.id])[0].outcome == "cancelled"


def test_all_are_killed_and_heartbeats_with_them(tmp_path: Path) -> None:
    with a_desk(tmp_path, policy=a_policy(queue_depth=5000)) as desk, desk.client() as client:
        beat = HeartbeatRequest(every_s=60.0, run=an_agent("health"))
        runs = [an_agent(f"r{n}", "sleep=60") for n in range(2000)]
        client.submit(desk.order(*runs, heartbeats=(beat,)))
        killed = client.kill(all=True)
        assert len(killed.runs) == 2000 and killed.heartbeats == ("health",)
        until(lambda: client.runs() == [])
        assert client.status().heartbeats == ()


def test_the_name_of_a_heartbeat_removes_it_and_ends_its_beat(
    desk: ServedDesk, client: Client
) -> None:
    beat = HeartbeatRequest(every_s=1.0, run=an_agent("health", "sleep=60"))
    client.submit(desk.order(heartbeats=(beat,)))
    until(client.runs, within_s=10)
    killed = client.kill(["health"])
    assert killed.heartbeats == ("health",) and len(killed.runs) == 1
    until(lambda: client.runs() == [])


def test_an_ended_run_is_tried_again_as_a_new_one(desk: ServedDesk, client: Client) -> None:
    base, top = client.submit(
        desk.order(an_agent("base"), an_agent("top", "exit=5", needs=("base",), memory_bytes=GIB))
    ).runs
    client.wait([base.id, top.id])
    [new] = client.retry("top", environment={"NEW": "1"}, key="a-key-of-mine").runs
    assert new.id != top.id and new.name == "top"
    recipe = desk.store.recipe(new.id)
    assert recipe is not None and recipe.command == ("exit=5",)
    [view] = client.wait([new.id])
    assert (view.exit_code, view.needs, view.limit_bytes) == (5, (), GIB)
    [same] = client.retry(top.id, environment={}, key="a-key-of-mine").runs
    assert same.id == new.id


def test_what_is_said_of_the_next_try_is_otherwise(desk: ServedDesk, client: Client) -> None:
    first = an_agent("big", "exit=5", memory_bytes=GIB, memory_high_percent=50.0, timeout_s=600.0)
    [old] = desk.submit(structs.replace(first, soft_timeout_s=300.0)).runs
    client.wait([old.id])
    said = Otherwise(memory_bytes=2 * GIB, timeout_s=100.0, priority="high", retries=0)
    [new] = client.retry("big", environment={}, otherwise=said).runs
    [view] = client.wait([new.id])
    assert (view.limit_bytes, view.priority) == (2 * GIB, "high")
    spec, recipe = desk.supervisor.fleet.runs[new.id].spec, desk.store.recipe(new.id)
    assert recipe is not None and recipe.labels["memory_high"] == str(GIB)
    assert (spec.hard_timeout_s, spec.soft_timeout_s) == (100.0, None)
    [same] = client.retry(new.id, environment={}).runs
    assert client.wait([same.id])[0].limit_bytes == 2 * GIB


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (Otherwise(memory_bytes=1), "memory: found 1"),
        (Otherwise(timeout_s=0.0), "timeout: found 0"),
        (Otherwise(retries=101), "retries: found 101"),
        (Otherwise(memory_bytes=512 * GIB), "can never fit|more than|fits"),
    ],
)
def test_what_no_run_may_ask_for_a_retry_may_not_either(
    desk: ServedDesk, client: Client, said: Otherwise, told: str
) -> None:
    client.wait([desk.submit(an_agent("one")).runs[0].id])
    with pytest.raises((BadRequest, Refused), match=told) as error:
        client.retry("one", environment={}, otherwise=said)
    assert len(str(error.value).splitlines()) == 1


def test_only_what_has_ended_is_tried_again(desk: ServedDesk, client: Client) -> None:
    client.submit(desk.order(an_agent("one", "sleep=60")))
    with pytest.raises(Refused, match="it has not ended") as refused:
        client.retry("one", environment={})
    assert refused.value.code == "ended"


def test_what_read_its_stdin_is_not_tried_again(desk: ServedDesk, client: Client) -> None:
    token = client.upload_stdin([b"text"]).token
    client.submit(desk.order(an_agent("reads", stdin=True), stdin=token))
    client.wait(["reads"])
    with pytest.raises(Refused, match="stdin, which is gone"):
        client.retry("reads", environment={})


def test_the_priority_of_a_waiting_run_changes_its_place(desk: ServedDesk, client: Client) -> None:
    big = 5 * GIB
    client.submit(desk.order(*(an_agent(f"a{n}", "sleep=60", memory_bytes=big) for n in range(4))))
    view = client.priority("a3", "critical")
    assert (view.priority, view.place) == ("critical", 1)


def test_a_running_run_is_frozen_and_thawed(desk: ServedDesk, client: Client) -> None:
    client.submit(desk.order(an_agent("one", "sleep=60")))
    until(lambda: client.run("one").state == "running")
    assert client.freeze("one").frozen == "user"
    assert client.thaw("one").frozen is None
    with pytest.raises(Refused, match=r"^one \([a-z0-9]+\): it is not frozen"):
        client.thaw("one")
    client.kill(["one"])
    client.wait(["one"])
    with pytest.raises(Refused, match="already ended") as refused:
        client.freeze("one")
    assert refused.value.code == "ended"


def test_the_daemon_is_asked_to_stop(desk: ServedDesk, client: Client) -> None:
    assert client.stop_daemon(kill=True).pid == client.daemon().pid
    assert desk.stops == [True]
