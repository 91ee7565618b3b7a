"""Submissions with the address of a repository: what it is asked, and where its password goes."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from paddock.api.desk import HANDS
from paddock.api.repositories import KEPT_S, Repositories
from paddock.api.routes import ROUTES
from paddock.client import BadRequest, Client, Refused
from paddock.supervisor.wanted import ADDRESS as VARIABLE
from tests.api.shops import ADDRESS, SECRET, of, recipe_of, set_limit, wanted_by
from tests.kit.desk import ServedDesk, an_agent
from tests.kit.git_over_http import served
from tests.kit.raw_http import ask
from tests.kit.repositories import git


def test_a_branch_that_an_address_has_not_is_refused_in_a_line(
    desk: ServedDesk, client: Client, repository: Path
) -> None:
    address = f"file://{repository}"
    with pytest.raises(BadRequest) as declined:
        client.submit(desk.order(of(address, branch="nowhere")))
    assert declined.value.message == f"a: repo: {address} has no branch or tag 'nowhere'"
    assert client.runs(all=True) == []


@pytest.mark.parametrize("branch", ["main", "topic/x", "v1", "refs/tags/v1", "origin/main", None])
def test_one_that_it_has_is_taken_in_silence(
    desk: ServedDesk, repository: Path, branch: str | None
) -> None:
    git(repository, "branch", "topic/x")
    git(repository, "tag", "v1")
    assert desk.submit(of(f"file://{repository}", branch=branch)).notes == ()


@pytest.mark.parametrize("branch", ["HEAD~0", "0123456", "main@{1.day.ago}"])
def test_what_only_a_clone_can_know_is_left_to_the_run(
    desk: ServedDesk, repository: Path, branch: str
) -> None:
    assert desk.submit(of(f"file://{repository}", branch=branch)).notes == ()


def test_a_part_of_a_branchs_name_is_no_branch(
    desk: ServedDesk, client: Client, repository: Path
) -> None:
    git(repository, "branch", "topic/x")
    with pytest.raises(BadRequest, match="has no branch or tag 'x'"):
        client.submit(desk.order(of(f"file://{repository}", branch="x")))


def test_an_address_without_a_repository_or_a_commit_is_refused(
    desk: ServedDesk, client: Client, tmp_path: Path
) -> None:
    with pytest.raises(BadRequest, match=r"a: repo: file:///no/such is no git repository, or not"):
        client.submit(desk.order(of("file:///no/such")))
    (tmp_path / "empty").mkdir()
    git(tmp_path / "empty", "init", "--quiet")
    with pytest.raises(BadRequest, match="has no commit yet"):
        client.submit(desk.order(of(f"file://{tmp_path}/empty")))


@pytest.mark.parametrize(
    "address", [ADDRESS, "https://127.0.0.1:1/x.git", "ssh://git@host.invalid/x.git"]
)
def test_one_that_does_not_answer_is_taken_with_a_note(desk: ServedDesk, address: str) -> None:
    answer = desk.submit(of(address, "a", branch="dev"), of(address, "b", branch="dev"))
    [note] = answer.notes
    assert "could not be asked for its branches, so its run will find out: " in note
    assert SECRET not in note and "\n" not in note
    assert len(answer.runs) == 2


def test_one_that_keeps_silent_is_not_waited_for(
    desk: ServedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paddock.workspaces.remotes.ASK_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        address = f"http://127.0.0.1:{deaf.getsockname()[1]}/x.git"
        [note] = desk.submit(of(address)).notes
    assert "git ls-remote took longer than 0.3 s" in note


def test_who_asks_no_other_machine_does_not_wait_behind_those_who_do(
    desk: ServedDesk, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All hands for addresses are busy for as long as this test takes."""
    monkeypatch.setattr("paddock.workspaces.remotes.ASK_S", 60.0)
    with ExitStack() as stack:
        deaf = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        busy = stack.enter_context(ThreadPoolExecutor(HANDS))
        base = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        asking = [busy.submit(desk.submit, of(f"{base}/{n}.git", f"r{n}")) for n in range(HANDS)]
        for _ in asking:
            stack.enter_context(deaf.accept()[0])
        assert len(desk.submit(of(repository, "quick")).runs) == 1
        assert not any(each.done() for each in asking)


def test_a_login_that_is_wrong_is_refused_and_the_right_one_is_never_shown(
    desk: ServedDesk, client: Client, repository: Path
) -> None:
    with served(repository.parent, login=f"me:{SECRET}") as host:
        with pytest.raises(BadRequest) as declined:
            client.submit(desk.order(of(f"http://me:wrong-{SECRET}@{host}/shop/.git")))
        assert "wants a login, and paddock asks nobody" in declined.value.message
        assert SECRET not in declined.value.message
        with pytest.raises(BadRequest, match="has no branch or tag 'nowhere'") as declined:
            client.submit(desk.order(of(f"http://me:{SECRET}@{host}/shop/.git", branch="nowhere")))
        assert SECRET not in declined.value.message
        right = desk.submit(of(f"http://me:{SECRET}@{host}/shop/.git", branch="main"))
    assert right.notes == () and len(right.runs) == 1


def test_an_address_is_asked_once_in_some_seconds(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("paddock.workspaces.remotes.check", lambda *words: asked.append(words[0]))
    clock = [100.0]
    known = Repositories(now=lambda: clock[0])
    for _ in range(3):
        assert known.problem(str(repository), "main") is None
    assert len(asked) == 1
    clock[0] += KEPT_S
    known.problem(str(repository), "main")
    assert len(asked) == 2


def test_what_may_be_said_of_its_size_goes_along(desk: ServedDesk, repository: Path) -> None:
    set_limit(desk, 700)
    [run] = desk.submit(of(f"file://{repository}", any_size=True)).runs
    wanted = wanted_by(desk, run.id)
    assert (wanted.any_size, wanted.ask_mb) == (True, 700)


def test_a_password_is_in_the_environment_and_in_no_label(desk: ServedDesk) -> None:
    [run] = desk.submit(of(ADDRESS)).runs
    recipe = recipe_of(desk, run.id)
    assert recipe.environment is not None
    assert recipe.environment[VARIABLE] == ADDRESS
    assert wanted_by(desk, run.id).repository == "https://host.invalid/team/shop.git"
    assert SECRET not in str(recipe.labels)


@pytest.mark.parametrize(
    "address", ["ssh://git@host.invalid/x.git", "git@host.invalid:x.git", "https://host.invalid/x"]
)
def test_an_address_without_one_is_written_down_as_it_is(desk: ServedDesk, address: str) -> None:
    [run] = desk.submit(of(address)).runs
    assert wanted_by(desk, run.id).repository == address
    assert recipe_of(desk, run.id).environment == {"A": "b"}


@pytest.mark.parametrize(
    "address",
    [
        ADDRESS,
        f"https://{SECRET}@host.invalid/x.git",
        f"https://host.invalid/x.git?private_token={SECRET}",
        f"ssh://me:{SECRET}@host.invalid/x.git",
        f"https://me:{SECRET}@host.invalid",
    ],
)
def test_a_password_is_in_no_answer_label_story_or_log(
    desk: ServedDesk, caplog: pytest.LogCaptureFixture, address: str
) -> None:
    caplog.set_level("DEBUG")
    taken = desk.submit(of(address, "keeps"), an_agent("other"))
    told = [repr(taken), str(recipe_of(desk, taken.runs[0].id).labels), repr(of(address))]
    with desk.client() as client:
        client.kill(["keeps"], force=True)
        client.wait(["keeps"])
        with pytest.raises(Refused, match="the password in its repository's address") as refused:
            client.retry("keeps", environment={})
        told.append(refused.value.message)
        told += [repr(one) for one, _ in zip(client.events(after=0), range(3), strict=False)]
    for route in ROUTES:
        if route.method == "GET" and route.path != "/v1/events":
            path = route.path.replace("{run}", "keeps")
            told.append(ask(desk.places.socket, "GET", path).body.decode())
    everything = "".join(told) + caplog.text
    assert SECRET not in everything
    assert "keeps" in everything


@pytest.mark.parametrize(
    "changes",
    [
        {"repo": ADDRESS + "\n"},
        {"repo": ADDRESS + "x" * 5000},
        {"repo": f"https://me:{SECRET}@[half/x"},
        {"repo": ADDRESS, "dir": "/"},
        {"repo": ADDRESS, "sparse": ("/",)},
    ],
)
def test_nor_in_what_is_said_of_a_mistake(
    desk: ServedDesk, client: Client, changes: dict[str, object]
) -> None:
    with pytest.raises(BadRequest) as declined:
        client.submit(desk.order(an_agent("a", **changes)))
    assert SECRET not in declined.value.message


def test_it_is_forgotten_with_the_end_of_its_run(desk: ServedDesk, client: Client) -> None:
    [run] = client.submit(desk.order(an_agent("a", repo=ADDRESS))).runs
    client.wait([run.id])
    assert recipe_of(desk, run.id).environment is None
