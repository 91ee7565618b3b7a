"""Submissions over the socket: taken whole or not at all, and the same key changes nothing."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from paddock.client import BadRequest, Client, NotFound, Refused, Trouble
from paddock.core.run import Outcome
from paddock.storage.errors import StoreFull
from paddock.wire.run_request import HeartbeatRequest, RunRequest
from tests.kit.desk import ServedDesk, a_desk, an_agent
from tests.kit.factories import a_policy
from tests.kit.waiting import until

GIB = 1 << 30


def test_a_run_is_started_and_its_answer_says_so(desk: ServedDesk, client: Client) -> None:
    [taken] = client.submit(desk.order(an_agent("first", "sleep=60"))).runs
    assert taken.name == "first" and taken.state in ("starting", "running")
    assert len(taken.id) == 8 and taken.place is None
    assert client.run("first").id == taken.id


def test_what_does_not_fit_waits_and_the_answer_says_for_what(
    desk: ServedDesk, client: Client
) -> None:
    order = desk.order(*(an_agent(f"a{n}", "sleep=60", memory_bytes=5 * GIB) for n in range(4)))
    answer = client.submit(order)
    assert [run.state == "queued" for run in answer.runs] == [False, False, True, True]
    assert [run.place for run in answer.runs] == [None, None, 1, 2]
    assert "3 GiB short, behind a2" in (answer.runs[3].waits_for or "")


def test_more_than_is_safe_at_once_is_said_in_one_line(desk: ServedDesk, client: Client) -> None:
    order = desk.order(*(an_agent(f"a{n}", "sleep=60", memory_bytes=5 * GIB) for n in range(4)))
    assert client.submit(order).notes == (
        "4 agents of 5 GiB at once are asked for; 2 are safe on this host "
        "(16 GiB, 4 GiB of it kept for the host): the others wait their turn",
    )
    counts = client.status().counts
    assert (counts["queued"], counts["ended"]) == (2, 0)


def test_a_strict_run_is_refused_instead_of_waiting_its_turn(
    desk: ServedDesk, client: Client
) -> None:
    runs = [an_agent(f"a{n}", memory_bytes=5 * GIB, strict=n == 3) for n in range(4)]
    with pytest.raises(Refused, match=r"4 agents of 5 GiB at once .* --strict refuses") as refused:
        client.submit(desk.order(*runs))
    assert refused.value.code == "refused"
    assert client.runs(all=True) == []


def test_runs_that_need_each_other_are_not_counted_as_at_once(
    desk: ServedDesk, client: Client
) -> None:
    runs = [
        an_agent(f"a{n}", memory_bytes=5 * GIB, needs=(f"a{n - 1}",) if n else ()) for n in range(4)
    ]
    assert client.submit(desk.order(*runs)).notes == ()


def test_one_run_that_can_never_fit_refuses_the_whole_submission(
    desk: ServedDesk, client: Client
) -> None:
    runs = (an_agent("small"), an_agent("large", memory_bytes=100 * GIB))
    with pytest.raises(Refused, match=r"large: its limit of 100 GiB can never fit"):
        client.submit(desk.order(*runs))
    assert client.runs(all=True) == []


def test_a_full_queue_refuses_and_says_how_full_it_is(tmp_path: Path) -> None:
    with a_desk(tmp_path, policy=a_policy(queue_depth=5)) as desk:
        with pytest.raises(Refused, match="the queue is full: 0 of 5 places"):
            desk.submit(*(an_agent(f"a{n}") for n in range(6)))
        assert desk.submit(*(an_agent(f"a{n}") for n in range(5))).runs


def test_the_same_key_again_answers_with_what_became_of_the_first(
    desk: ServedDesk, client: Client
) -> None:
    order = desk.order(an_agent("one", "exit=7"), an_agent("two", "sleep=60"))
    first = client.submit(order)
    client.wait([first.runs[0].id])
    again = client.submit(order)
    assert [run.id for run in again.runs] == [run.id for run in first.runs]
    assert [run.state for run in again.runs] == ["ended", "running"]
    assert len(client.runs(all=True)) == 2


def test_the_same_key_is_known_also_when_the_fleet_has_forgotten_it(tmp_path: Path) -> None:
    with a_desk(tmp_path, policy=a_policy(keep_ended=2)) as desk, desk.client() as client:
        order = desk.order(an_agent("old"))
        [old] = client.submit(order).runs
        client.wait([old.id])
        for number in range(3):
            [later] = client.submit(desk.order(an_agent(f"later{number}"))).runs
            client.wait([later.id])
        assert desk.now(lambda: old.id not in desk.supervisor.fleet.runs)
        [again] = client.submit(order).runs
        assert (again.id, again.state) == (old.id, "ended")
        assert len(client.runs(all=True)) == 4


def test_the_same_key_at_the_same_time_is_taken_once(desk: ServedDesk, client: Client) -> None:
    order = desk.order(*(an_agent(f"a{n}", "sleep=60") for n in range(20)))
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(client.submit(order))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len({tuple(run.id for run in answer.runs) for answer in answers}) == 1
    assert len(client.runs()) == 20


def test_an_id_that_somebody_has_already_is_not_given_again(
    desk: ServedDesk, client: Client
) -> None:
    order = desk.order(an_agent("mine", "sleep=60"))
    [mine] = client.submit(order).runs
    # The same key with another name: by accident or not, it is not the same run.
    [other] = client.submit(desk.order(an_agent("other", "sleep=60"), key=order.key)).runs
    assert other.id != mine.id
    assert {run.name for run in client.runs()} == {"mine", "other"}


def test_needs_are_names_of_the_submission_or_runs_that_are_there(
    desk: ServedDesk, client: Client
) -> None:
    [base] = client.submit(desk.order(an_agent("base", "sleep=60"))).runs
    order = desk.order(an_agent("top", needs=("middle",)), an_agent("middle", needs=("base",)))
    top, middle = client.submit(order).runs
    assert client.run(top.id).needs == (middle.id,)
    assert client.run(middle.id).needs == (base.id,)
    assert middle.waits_for == "waits for base to succeed"


def test_a_need_that_only_the_store_remembers_is_met(tmp_path: Path) -> None:
    with a_desk(tmp_path, policy=a_policy(keep_ended=1)) as desk, desk.client() as client:
        for name in ("long-ago", "since"):
            [run] = client.submit(desk.order(an_agent(name))).runs
            client.wait([run.id])
        [late] = client.submit(desk.order(an_agent("late", needs=("long-ago",)))).runs
        [view] = client.wait([late.id])
        assert view.outcome == Outcome.SUCCEEDED


def test_a_need_that_failed_or_is_unknown_refuses_the_submission(
    desk: ServedDesk, client: Client
) -> None:
    [bad] = client.submit(desk.order(an_agent("bad", "exit=1"))).runs
    client.wait([bad.id])
    with pytest.raises(Refused, match="which ended as failed"):
        client.submit(desk.order(an_agent("after", needs=("bad",))))
    with pytest.raises(NotFound, match="there is no run 'nobody'"):
        client.submit(desk.order(an_agent("after", needs=("nobody",))))


def test_a_need_must_name_one_run_only(desk: ServedDesk, client: Client) -> None:
    runs = (an_agent("twin"), an_agent("twin"), an_agent("child", needs=("twin",)))
    with pytest.raises(BadRequest, match="2 runs are called twin"):
        client.submit(desk.order(*runs))
    assert len(client.submit(desk.order(*runs[:2])).runs) == 2


def test_a_circle_is_refused(desk: ServedDesk, client: Client) -> None:
    runs = (an_agent("a", needs=("b",)), an_agent("b", needs=("a",)))
    with pytest.raises(Refused, match="need each other in a circle"):
        client.submit(desk.order(*runs))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"command": (), "agent": "cladue", "prompt": "x"}, "there are aider, claude, codex"),
        ({"driver": "container"}, "the driver container is not there; use fake"),
        ({"driver": "kubernetes"}, "the driver kubernetes is not there"),
        ({"dir": "relative"}, "an absolute path"),
        ({"dir": "/no/such/place"}, "^a: dir: '/no/such/place': No such file"),
        ({"dir": "/dev/null"}, "^a: dir: '/dev/null' is no directory"),
        ({"stdin": True}, "exactly one run"),
        ({"performance_profile": "huge"}, "the unknown profile 'huge'"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(
    desk: ServedDesk, client: Client, changes: dict[str, object], message: str
) -> None:
    request = RunRequest(**{"name": "a", "command": ("exit=0",), **changes})  # type: ignore[arg-type]
    with pytest.raises(BadRequest, match=message):
        client.submit(desk.order(request))
    assert client.runs(all=True) == []


def test_a_mistake_in_the_projects_config_is_told_with_its_place(
    desk: ServedDesk, client: Client
) -> None:
    config = desk.home / ".paddock/config.yaml"
    config.parent.mkdir()
    config.write_text("sandbox: {memory_limit: lots}\n", encoding="utf-8")
    with pytest.raises(BadRequest, match=r"config\.yaml:1: sandbox\.memory_limit: found 'lots'"):
        client.submit(desk.order(an_agent()))
    config.write_text("sandbox: {memory_limit: 1G}\n", encoding="utf-8")
    [run] = client.submit(desk.order(an_agent("a", "sleep=60"))).runs
    assert client.run(run.id).limit_bytes == GIB


def test_of_many_mistakes_the_first_is_told_and_the_others_are_counted(
    desk: ServedDesk, client: Client
) -> None:
    config = desk.home / ".paddock/config.yaml"
    config.parent.mkdir()
    config.write_text("sandbox: {memory_limit: lots}\nnonsense: 1\nmore: 2\n", encoding="utf-8")
    with pytest.raises(BadRequest) as declined:
        client.submit(desk.order(an_agent()))
    [line] = declined.value.message.splitlines()
    assert "config.yaml:1: sandbox.memory_limit: found 'lots'" in line
    assert line.endswith("(and 2 more; `paddock config check` lists them)")
    assert "nonsense" not in line


def test_a_profile_gives_its_limits_by_option_and_by_the_submitters_variable(
    desk: ServedDesk, client: Client
) -> None:
    tiny = an_agent("tiny", "sleep=60", performance_profile="tiny")
    said = {"PADDOCK_PROFILE": "tiny"}
    client.submit(desk.order(tiny))
    client.submit(desk.order(an_agent("by-order", "sleep=60"), profile="tiny"))
    client.submit(desk.order(an_agent("by-variable", "sleep=60"), environment=said))
    assert {client.run(name).limit_bytes for name in ("tiny", "by-order", "by-variable")} == {
        400 * 1024 * 1024
    }
    run = client.run("tiny").id
    spec = desk.now(lambda: desk.supervisor.fleet.runs[run].spec)
    assert (spec.simple_s, spec.hard_timeout_s) == (600.0, None)


def test_the_recipe_holds_what_was_asked_for(desk: ServedDesk, client: Client) -> None:
    request = an_agent(
        "full",
        "sleep=60",
        env={"B": "c"},
        on_end="notify",
        cpu=1.5,
        pids=64,
        memory_bytes=GIB,
        memory_high_percent=50.0,
        dir="/",
    )
    order = desk.order(
        request,
        environment={"A": "b", "PADDOCK_RUN": "outer", "PADDOCK_STATE": "/s"},
        umask=0o27,
        fleet="f",
    )
    [run] = client.submit(order).runs
    recipe = desk.store.recipe(run.id)
    assert recipe is not None
    assert recipe.environment == {"A": "b", "B": "c", "PADDOCK_STATE": "/s"}
    assert str(recipe.directory) == "/"
    assert dict(recipe.labels) == {
        "key": order.key,
        "cpu": "1.5",
        "pids": "64",
        "memory_high": str(GIB // 2),
        "logs": "10485760 52428800 3 0",
        "umask": "027",
        "fleet": "f",
        "on_end": "notify",
        "driver": "fake",
    }


def test_heartbeats_come_with_the_runs_they_are_for(desk: ServedDesk, client: Client) -> None:
    beat = HeartbeatRequest(every_s=30.0, run=an_agent("health"))
    order = desk.order(an_agent("work", "sleep=60"), heartbeats=(beat,))
    answer = client.submit(order)
    assert answer.heartbeats == ("health",)
    [view] = client.status().heartbeats
    assert (view.name, view.every_s, view.beats) == ("health", 30.0, 0)
    [(name, recipe)] = desk.beats
    assert (name, recipe.labels["while"]) == ("health", answer.runs[0].id)
    assert client.submit(order).heartbeats == ("health",)
    assert len(desk.beats) == 1


def test_what_was_uploaded_becomes_the_stdin_of_one_run(desk: ServedDesk, client: Client) -> None:
    uploaded = client.upload_stdin(b"x" * 70_000 for _ in range(40))
    assert uploaded.size == 2_800_000
    kept = desk.places.stdin / uploaded.token
    assert kept.stat().st_mode & 0o777 == 0o600 and kept.stat().st_size == uploaded.size
    order = desk.order(an_agent("reads", "sleep=60", stdin=True), stdin=uploaded.token)
    [run] = client.submit(order).runs
    recipe = desk.store.recipe(run.id)
    assert recipe is not None and recipe.stdin == kept


@pytest.mark.parametrize(
    "token", ["../token", "a" * 32, "", "/etc/passwd", "a/../../b", "ABCDEF" * 4]
)
def test_a_token_is_no_path(desk: ServedDesk, client: Client, token: str) -> None:
    with pytest.raises(BadRequest, match="stdin"):
        client.submit(desk.order(an_agent("a", stdin=True), stdin=token))


def test_ten_thousand_runs_are_one_submission(tmp_path: Path) -> None:
    with a_desk(tmp_path, policy=a_policy(queue_depth=20_000)) as desk, desk.client() as client:
        runs = tuple(an_agent(f"r{n}", "sleep=60") for n in range(10_000))
        answer = client.submit(desk.order(*runs))
        assert len({run.id for run in answer.runs}) == 10_000
        assert client.status().counts["queued"] == 9_997
        views = client.runs()
        assert len(views) == 10_000
        assert [view.place for view in views[3:6]] == [1, 2, 3]
        assert "short" in (views[3].waits_for or "")
        with pytest.raises(BadRequest, match="10,000 runs"):
            client.submit(desk.order(*runs, an_agent("one-more")))


def test_while_the_store_is_in_trouble_nothing_new_is_taken(
    desk: ServedDesk, client: Client
) -> None:
    from paddock.storage.memory import MemoryStore

    assert isinstance(desk.store, MemoryStore)
    desk.store.trouble = StoreFull(Path("/state/paddock.db"))
    with pytest.raises(Trouble, match="no room left on the disk"):
        client.submit(desk.order(an_agent("a", "sleep=60")))
    until(lambda: client.status().trouble)
    with pytest.raises(Trouble, match="no room left"):
        client.submit(desk.order(an_agent("b", "sleep=60")))
    desk.store.trouble = None
    until(lambda: client.status().trouble is None)
    assert client.submit(desk.order(an_agent("c", "sleep=60"))).runs[0].state != "ended"


def test_red_tests_of_some_projects_do_not_close_the_door_on_another(
    desk: ServedDesk, client: Client
) -> None:
    """Without a repository the group has the project of its directory in it."""
    places = [desk.home / name for name in ("p1", "p2", "p3", "p4")]
    for place in places:
        (place / "src").mkdir(parents=True)
    (desk.home / "p4/.git").mkdir()
    bad = [
        RunRequest(name=at.name, command=("sleep=0.01", "exit=1"), dir=str(at)) for at in places[:3]
    ]
    client.submit(desk.order(*bad))
    client.wait(["p1", "p2", "p3"])
    good = RunRequest(name="good", command=("sleep=0.01",), dir=str(places[3] / "src"))
    client.submit(desk.order(good))
    assert [view.outcome for view in client.wait(["good"])] == ["succeeded"]
    groups = {run.name: run.group for run in client.runs(all=True)}
    assert groups == {
        "p1": "sleep=0.01/p1",
        "p2": "sleep=0.01/p2",
        "p3": "sleep=0.01/p3",
        "good": "sleep=0.01/p4",
    }


def test_what_is_held_back_says_the_command_that_lets_it_go(
    desk: ServedDesk, client: Client
) -> None:
    runs = [RunRequest(name=f"a{n}", command=("sleep=0.01", "exit=1")) for n in range(3)]
    client.submit(desk.order(*runs))
    client.wait([run.name for run in runs])
    [held] = client.submit(desk.order(RunRequest(name="next", command=("sleep=0.01",)))).runs
    said = held.waits_for or ""
    group = f"sleep=0.01/{desk.home.name}"
    assert said.endswith(f"or now, after `paddock breaker reset {group}`")
    client.reset_breaker(group)
    assert [view.outcome for view in client.wait(["next"])] == ["succeeded"]
