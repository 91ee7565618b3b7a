"""A fleet is found by its name: to list it, to wait for it, to kill it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from paddock.api.fleets import PAGE
from paddock.client import Client
from paddock.client.errors import BadRequest, NotFound
from paddock.core.run import Run
from paddock.wire.run_request import HeartbeatRequest, RunRequest
from paddock.wire.views import Submit
from tests.kit.desk import ServedDesk, an_agent
from tests.kit.waiting import until


def a_fleet(
    desk: ServedDesk, name: str, *runs: RunRequest, heartbeats: tuple[HeartbeatRequest, ...] = ()
) -> Submit:
    return structs.replace(desk.order(*runs, heartbeats=heartbeats), fleet=name)


def test_only_its_runs_are_listed_the_ended_too_when_asked(
    desk: ServedDesk, client: Client
) -> None:
    client.submit(desk.order(an_agent("alone", "sleep=60"), an_agent("quick")))
    client.submit(a_fleet(desk, "trio", an_agent("one"), an_agent("two", "sleep=60")))
    client.wait(["one", "quick"])
    assert [run.name for run in client.runs(fleet="trio")] == ["two"]
    assert [run.name for run in client.runs(fleet="trio", all=True)] == ["two", "one"]
    assert [run.name for run in client.runs(fleet="trio", state="ended")] == ["one"]
    assert client.runs(fleet="x&all=1 ä", all=True) == []


def test_waiting_for_a_fleet_is_for_the_newest_of_its_name(
    desk: ServedDesk, client: Client
) -> None:
    client.submit(a_fleet(desk, "nightly", an_agent("one", "exit=3"), an_agent("old")))
    client.wait(["one", "old"])
    client.submit(a_fleet(desk, "nightly", an_agent("one"), an_agent("two")))
    views = client.wait(fleet="nightly")
    assert [(run.name, run.outcome) for run in views] == [
        ("one", "succeeded"),
        ("two", "succeeded"),
    ]


def test_of_one_that_was_retried_the_last_counts(desk: ServedDesk, client: Client) -> None:
    first = client.submit(a_fleet(desk, "trio", an_agent("one", "exit=3"), an_agent("two"))).runs
    client.wait(fleet="trio")
    [again] = client.retry("one", environment={}).runs
    views = client.wait(fleet="trio")
    assert {run.id for run in views} == {again.id, first[1].id}
    [once_more] = client.retry("one", environment={}).runs
    assert {run.id for run in client.wait(fleet="trio")} == {once_more.id, first[1].id}


def test_killing_a_fleet_takes_its_heartbeats_along_and_nobody_else(
    desk: ServedDesk, client: Client
) -> None:
    beat = HeartbeatRequest(every_s=1.0, run=an_agent("pulse", "sleep=60"))
    other = HeartbeatRequest(every_s=60.0, run=an_agent("other-pulse"))
    client.submit(desk.order(an_agent("alone", "sleep=60"), heartbeats=(other,)))
    runs = client.submit(
        a_fleet(desk, "trio", an_agent("one", "sleep=60"), heartbeats=(beat,))
    ).runs
    until(lambda: len(client.runs(fleet="trio")) == 2, within_s=10)
    killed = client.kill(fleet="trio")
    assert killed.heartbeats == ("pulse",)
    assert runs[0].id in killed.runs and len(killed.runs) == 2  # and its beat
    until(lambda: [run.name for run in client.runs()] == ["alone"])
    assert [beat.name for beat in client.status().heartbeats] == ["other-pulse"]
    assert client.kill(fleet="trio").runs == ()  # it is over, and that is no mistake


def test_a_fleet_that_nobody_knows_is_not_found(desk: ServedDesk, client: Client) -> None:
    client.submit(desk.order(an_agent("alone")))
    for ask in (lambda: client.kill(fleet="alone"), lambda: client.wait(fleet="alone")):
        with pytest.raises(NotFound, match="there is no fleet 'alone'"):
            ask()
    with pytest.raises(BadRequest, match="or a fleet instead"):
        client.wait(["alone"], fleet="alone")


def test_a_long_past_is_looked_at_only_as_far_as_the_fleet_goes_back(
    desk: ServedDesk, client: Client
) -> None:
    order = a_fleet(desk, "trio", *(an_agent(f"old{n}") for n in range(3 * PAGE)))
    client.wait([run.id for run in client.submit(order).runs])
    runs = client.submit(a_fleet(desk, "trio", *(an_agent(f"r{n}") for n in range(PAGE + 9)))).runs
    client.wait([run.id for run in runs])
    looks: list[int] = []
    ended = desk.store.ended

    def counted(*words: Any, **more: Any) -> tuple[Run, ...]:
        looks.append(1)
        return ended(*words, **more)

    desk.store.ended = counted  # type: ignore[method-assign]
    assert {run.id for run in client.wait(fleet="trio")} == {run.id for run in runs}
    assert len(looks) == 2
