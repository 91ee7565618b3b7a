"""Which project a directory belongs to: names only, and no git is started for it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from paddock.api import projects
from paddock.api.projects import LONGEST, Projects, as_word, project_of


def git(*words: str, at: Path) -> None:
    name = ("-c", "user.name=t", "-c", "user.email=t@t")
    subprocess.run(["git", *name, *words], cwd=at, check=True, capture_output=True)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    (root / "src/deep").mkdir(parents=True)
    git("init", "--quiet", at=root)
    git("commit", "--quiet", "--allow-empty", "--message", "first", at=root)
    return root


def test_wherever_in_a_work_tree_it_is_the_same_project(shop: Path) -> None:
    assert {project_of(str(path)) for path in (shop, shop / "src", shop / "src/deep")} == {"shop"}
    assert project_of(f"{shop}/src/../") == "shop"


def test_outside_of_git_it_is_the_directorys_own_name(tmp_path: Path) -> None:
    names = [project_of(str(tmp_path / name)) for name in ("p1", "p2")]
    assert names == ["p1", "p2"]
    assert project_of("/") == ""


def test_a_linked_work_tree_belongs_to_the_repository_it_is_of(shop: Path, tmp_path: Path) -> None:
    git("worktree", "add", "--quiet", str(tmp_path / "try-7"), at=shop)
    assert project_of(str(tmp_path / "try-7")) == "shop"
    git("clone", "--quiet", "--bare", str(shop), str(tmp_path / "store.git"), at=tmp_path)
    git("worktree", "add", "--quiet", str(tmp_path / "try-8"), at=tmp_path / "store.git")
    assert project_of(str(tmp_path / "try-8")) == "store"


def test_a_home_with_dotfiles_is_nobodys_project(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(shop))
    assert project_of(str(shop / "src")) == "src"


def test_a_directory_that_may_not_be_looked_into_has_its_own_name(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert project_of(str(loop / "inner")) == "inner"


def test_a_pipe_that_is_called_git_is_not_waited_in(tmp_path: Path) -> None:
    """In a directory of everybody, such as /tmp, anybody can lay one above another's directory."""
    os.mkfifo(tmp_path / ".git")
    assert project_of(str(tmp_path / "mine")) == as_word(tmp_path.name)


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("shop.git", "shop"),
        ("my shop\n(new)", "my-shop-new-"),
        ("größe", "größe"),
        ("tmp.X8dk3Yw2Qa", "tmp"),
        ("tmpab12_xyz", "tmp"),
        ("tmp", "tmp"),
        ("template", "template"),
    ],
)
def test_a_word_can_be_typed_and_is_not_new_for_every_thrown_away_directory(
    name: str, word: str
) -> None:
    assert as_word(name) == word


def test_a_long_name_is_cut_and_stays_another_than_its_neighbour() -> None:
    long, other = as_word("a" * 200), as_word("a" * 199 + "b")
    assert len(long) == len(other) == LONGEST
    assert long != other


def test_what_was_seen_is_known_without_another_look(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = Projects()
    inside = str(shop / "src")
    assert known.name(inside) == "src"  # not looked at: its own name, and no file is asked
    known.look_at([inside])
    monkeypatch.setattr(projects, "project_of", lambda _: pytest.fail("it looked again"))
    assert known.name(inside) == "shop"


def test_what_is_old_is_forgotten_only_when_there_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projects, "MOST_KEPT", 3)
    now = [0.0]
    known = Projects(lambda: now[0])
    (tmp_path / ".git").mkdir()
    places = [str(tmp_path / f"p{n}") for n in range(5)]
    known.look_at(places[:4])
    now[0] = 1000.0
    known.look_at(places[4:])
    assert known.name(places[4]) == as_word(tmp_path.name)
    assert known.name(places[0]) == "p0"
