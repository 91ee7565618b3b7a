"""Submissions with a repository: what is looked at before, what is asked, what goes along."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from paddock.api.repositories import KEPT_S, Repositories
from paddock.client import BadRequest, Client, Refused
from paddock.core.units import GIB, MIB
from paddock.supervisor.wanted import FLEETING_LABEL, REPOSITORY_LABEL, Wanted
from paddock.wire.run_request import HeartbeatRequest
from tests.api.shops import of, recipe_of, set_limit, wanted_by
from tests.kit.desk import ServedDesk, a_desk, an_agent
from tests.kit.repositories import git


def grow(repository: Path, size_bytes: int) -> None:
    """A file with a hole: as large as it says, and nearly nothing on the disk."""
    with (repository / "large.bin").open("wb") as file:
        os.truncate(file.fileno(), size_bytes)


# -- what goes along ----------------------------------------------------------------------------


def test_a_run_with_a_repository_is_taken_and_its_recipe_says_what_it_wants(
    desk: ServedDesk, client: Client, repository: Path
) -> None:
    git(repository, "branch", "dev")
    more: dict[str, Any] = {"sparse": ("src",), "submodules": True, "ready_marker": "tests green"}
    [run] = client.submit(desk.order(of(repository, branch="dev", **more))).runs
    assert wanted_by(desk, run.id) == Wanted(
        repository=str(repository), branch="dev", sparse=("src",), submodules=True
    )
    recipe = recipe_of(desk, run.id)
    assert recipe.labels["ready_marker"] == "tests green"
    assert recipe.directory == desk.home
    assert recipe.environment == {"A": "b"}
    assert client.run(run.id).group == "sleep=60/shop"


def test_a_heartbeat_may_have_one_too(desk: ServedDesk, client: Client, repository: Path) -> None:
    beat = HeartbeatRequest(every_s=600.0, run=an_agent("health", repo=str(repository)))
    client.submit(desk.order(heartbeats=(beat,)))
    found = desk.now(lambda: desk.store.heartbeat_recipe("health"))
    assert found is not None and REPOSITORY_LABEL in found.labels
    assert FLEETING_LABEL in found.labels, "its workspaces go with its beats"


def test_the_short_way_is_not_for_runs_with_a_repository(
    desk: ServedDesk, client: Client, repository: Path
) -> None:
    for number in range(3):  # from the second on the directory is trusted
        client.submit(desk.order(an_agent(f"plain{number}")))
    with pytest.raises(BadRequest, match="has no branch, tag or commit 'nowhere'"):
        client.submit(desk.order(of(repository, branch="nowhere")))
    assert client.submit(desk.order(of(repository))).runs[0].state != "queued"


# -- what cannot be one -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"repo": "/no/such/place"}, "a: repo: /no/such/place is not a directory"),
        ({"repo": "/proc"}, "a: repo: /proc is in no git repository; make one with git init"),
        ({"repo": "relative"}, "a: repo: allowed: an absolute path, or an address"),
        ({"repo": "--upload-pack=x:y"}, "a: repo: found what is no address"),
        ({"repo": "ext::sh -c date"}, "a: repo: found what is no address"),
        ({"repo": "https://[half/x"}, "a: repo: found what is no address"),
        ({"repo": "/proc", "dir": "/"}, "found dir and repo"),
        ({"branch": "main"}, "a: branch: found no repo beside it; allowed: only together"),
        ({"ready_marker": "x"}, "a: ready_marker: found no repo beside it"),
        ({"shallow": True}, "a: shallow: found no repo beside it"),
        ({"sparse": ("src",)}, "a: sparse: found no repo beside it"),
        ({"submodules": True}, "a: submodules: found no repo beside it"),
        ({"repo": "/proc", "sparse": ("../x",)}, "a: sparse: found what cannot name one"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(
    desk: ServedDesk, client: Client, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(BadRequest) as declined:
        client.submit(desk.order(an_agent("a", **changes)))
    assert message in declined.value.message
    assert "\n" not in declined.value.message
    assert client.runs(all=True) == []


def test_a_repository_without_a_commit_is_refused(
    desk: ServedDesk, client: Client, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    git(tmp_path / "empty", "init", "--quiet")
    with pytest.raises(BadRequest, match="has no commit yet"):
        client.submit(desk.order(of(tmp_path / "empty")))


def test_a_daemon_without_workspaces_says_so(tmp_path: Path, repository: Path) -> None:
    with a_desk(tmp_path, workspaces=False) as desk, desk.client() as client:
        with pytest.raises(BadRequest, match="a: this daemon has no workspaces: say the directory"):
            client.submit(desk.order(of(repository)))
        with pytest.raises(Refused, match="this daemon has no workspaces"):
            client.workspaces()
        assert client.submit(desk.order(an_agent("plain"))).runs


# -- sizes --------------------------------------------------------------------------------------


def test_a_small_one_is_taken_in_silence(
    desk: ServedDesk, client: Client, repository: Path
) -> None:
    answer = client.submit(desk.order(of(repository)))
    assert answer.notes == ()
    assert factor_of(desk, answer.runs[0].id) == 1.0


@pytest.mark.parametrize(
    ("size_bytes", "said", "factor"),
    [
        (600 * MIB, "the working tree has 600 MiB, above the 500 MiB", 1.25),
        (1200 * MIB, "the working tree has 1.2 GiB; every workspace takes as much", 1.5),
    ],
)
def test_a_larger_one_is_noted_once_and_has_more_time(
    desk: ServedDesk, repository: Path, size_bytes: int, said: str, factor: float
) -> None:
    grow(repository, size_bytes)
    answer = desk.submit(of(repository, "a"), of(repository, "b"))
    [note] = answer.notes
    assert note.startswith(f"{repository}: {said}")
    assert [factor_of(desk, run.id) for run in answer.runs] == [factor, factor]


def test_the_projects_own_timeout_is_longer_too(desk: ServedDesk, repository: Path) -> None:
    config = desk.home / ".paddock/config.yaml"
    config.parent.mkdir()
    config.write_text("performance: {agent_timeout: 100}\n", encoding="utf-8")
    grow(repository, 600 * MIB)
    [run] = desk.submit(of(repository, complexity="simple")).runs
    spec = desk.now(lambda: desk.supervisor.fleet.runs[run.id].spec)
    assert (spec.simple_s, spec.repository_factor, spec.hard_timeout_s) == (100.0, 1.25, None)


def factor_of(desk: ServedDesk, run: str) -> float:
    return desk.now(lambda: desk.supervisor.fleet.runs[run].spec.repository_factor)


def test_one_above_the_limit_is_a_question_with_its_answers_as_flags(
    desk: ServedDesk, client: Client, repository: Path
) -> None:
    set_limit(desk, 100)
    grow(repository, 101 * MIB)
    with pytest.raises(Refused) as question:
        client.submit(desk.order(of(repository)))
    assert question.value.code == "large"
    assert question.value.message.startswith("a: the working tree has 101 MiB, more than")
    for flag in ("--yes", "--shallow", "--sparse DIR", "any_size"):
        assert flag in question.value.message
    assert client.runs(all=True) == []


@pytest.mark.parametrize("answer", [{"any_size": True}, {"shallow": True}, {"sparse": ("src",)}])
def test_with_an_answer_it_is_taken(
    desk: ServedDesk, client: Client, repository: Path, answer: dict[str, Any]
) -> None:
    set_limit(desk, 100)
    grow(repository, 101 * MIB)
    [run] = client.submit(desk.order(of(repository, **answer))).runs
    assert run.state != "queued"


def test_what_is_beyond_all_limits_is_refused_whatever_the_answer(
    desk: ServedDesk, client: Client, repository: Path
) -> None:
    grow(repository, 11 * GIB)
    with pytest.raises(Refused, match=r"a: the repository has 11 GiB.* is the limit") as refused:
        client.submit(desk.order(of(repository, any_size=True)))
    assert refused.value.code == "refused"


def test_a_repository_is_measured_once_in_some_seconds(repository: Path) -> None:
    clock = [100.0]
    asked = Repositories(now=lambda: clock[0])
    before = asked.size(str(repository))
    (repository / "more.txt").write_text("more\n", encoding="utf-8")
    threads = [threading.Thread(target=asked.size, args=(str(repository),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert asked.size(str(repository)) is before
    clock[0] += KEPT_S
    assert asked.size(str(repository)).files == before.files + 1
