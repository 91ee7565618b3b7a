"""Submissions with a repository: what is looked at before, what is asked, what goes along."""

from __future__ import annotations

import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from paddock.api.desk import HANDS
from paddock.api.repositories import KEPT_S, Repositories
from paddock.api.routes import ROUTES
from paddock.client import BadRequest, Client, Refused
from paddock.core.units import GIB, MIB
from paddock.ports import Recipe
from paddock.supervisor.wanted import ADDRESS as VARIABLE
from paddock.supervisor.wanted import FLEETING_LABEL, REPOSITORY_LABEL, Wanted
from paddock.wire.run_request import HeartbeatRequest, RunRequest
from tests.kit.desk import ServedDesk, a_desk, an_agent
from tests.kit.git_over_http import served
from tests.kit.raw_http import ask
from tests.kit.repositories import a_repository, git

SECRET = "hunter2-is-a-secret"
ADDRESS = f"https://me:{SECRET}@host.invalid/team/shop.git"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_repository(tmp_path / "shop")


def of(repository: Path | str, name: str = "a", **more: Any) -> RunRequest:
    return an_agent(name, "sleep=60", repo=str(repository), **more)


def grow(repository: Path, size_bytes: int) -> None:
    """A file with a hole: as large as it says, and nearly nothing on the disk."""
    with (repository / "large.bin").open("wb") as file:
        os.truncate(file.fileno(), size_bytes)


def set_limit(desk: ServedDesk, megabytes: int) -> None:
    config = desk.home / ".paddock/config.yaml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(f"performance: {{max_repo_size_mb: {megabytes}}}\n", encoding="utf-8")


def recipe_of(desk: ServedDesk, run: str) -> Recipe:
    found = desk.now(lambda: desk.store.recipe(run))
    assert found is not None
    return found


def wanted_by(desk: ServedDesk, run: str) -> Wanted:
    return msgspec.json.decode(recipe_of(desk, run).labels[REPOSITORY_LABEL], type=Wanted)


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


# -- addresses ----------------------------------------------------------------------------------


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


# -- passwords ----------------------------------------------------------------------------------


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
