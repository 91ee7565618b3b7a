"""Values are put into a file that somebody wrote, and nothing else of it changes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from paddock.config.layers import settings_of
from paddock.config.settings import HOST_RESERVE, MAX_AGENTS, MEMORY_LIMIT
from paddock.config.writing import NotWritten, with_comment, with_values, write_values

LIMIT, RESERVE = "sandbox.memory_limit", "sandbox.host_memory_reserve"
AGENTS = "performance.max_concurrent_agents"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "sandbox:\n  memory_limit: 2G\n"),
        ("# mine\n", "# mine\nsandbox:\n  memory_limit: 2G\n"),
        ("queue:\n  depth: 5", "queue:\n  depth: 5\nsandbox:\n  memory_limit: 2G\n"),
        (
            "sandbox:\n  memory_limit: 4G  # as asked\n  pids_limit: 9\n",
            "sandbox:\n  memory_limit: 2G  # as asked\n  pids_limit: 9\n",
        ),
        ("sandbox:\n  memory_limit: '4G'\n", "sandbox:\n  memory_limit: 2G\n"),
        ("sandbox:\n  memory_limit:\n", "sandbox:\n  memory_limit: 2G\n"),
        (
            "sandbox:\n    # walls\n    pids_limit: 9\n",
            "sandbox:\n    # walls\n    memory_limit: 2G\n    pids_limit: 9\n",
        ),
        ("sandbox:\nqueue:\n  depth: 5\n", "sandbox:\n  memory_limit: 2G\nqueue:\n  depth: 5\n"),
        ("sandbox: {pids_limit: 9}\n", "sandbox: {pids_limit: 9, memory_limit: 2G}\n"),
        ("sandbox: {}\n", "sandbox: {memory_limit: 2G}\n"),
        ("{queue: {depth: 5}}\n", "{queue: {depth: 5}, sandbox: {memory_limit: 2G}}\n"),
        ("sandbox: {memory_limit: 4G}\n", "sandbox: {memory_limit: 2G}\n"),
    ],
)
def test_one_value(before: str, after: str) -> None:
    assert with_values(before, {LIMIT: "2G"}) == after


def test_all_of_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "new/config.yaml"
    values = {LIMIT: "2G", RESERVE: "8G", AGENTS: "6"}
    write_values(path, values)
    write_values(path, values)
    settings = settings_of({"user": path})
    assert settings[MEMORY_LIMIT] == 2 << 30
    assert settings[HOST_RESERVE] == 8 << 30
    assert settings[MAX_AGENTS] == 6
    assert [each.name for each in path.parent.iterdir()] == ["config.yaml"]


def test_evidence_is_one_comment_which_the_next_replaces(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("# mine\nqueue: {depth: 5}\n", encoding="utf-8")
    write_values(path, {AGENTS: "6"}, by="a tool", why="6 held\nin 10 rounds")
    write_values(path, {AGENTS: "7"}, by="a tool", why="7 held")
    assert path.read_text(encoding="utf-8") == (
        "# a tool: 7 held\n# mine\nqueue: {depth: 5}\nperformance:\n  max_concurrent_agents: 7\n"
    )
    assert settings_of({"user": path})[MAX_AGENTS] == 7


def test_a_comment_stands_behind_the_mark_of_some_editors() -> None:
    assert with_comment("\ufeffqueue: {}\n", "x", "y") == "\ufeff# x: y\nqueue: {}\n"


def test_rights_and_links_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real.yaml", tmp_path / "config.yaml"
    real.write_text("queue: {depth: 5}\n", encoding="utf-8")
    real.chmod(0o640)
    link.symlink_to(real)
    write_values(link, {LIMIT: "2G"})
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert "memory_limit" in real.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "text",
    ["- a\n- list\n", "sandbox: 5\n", "sandbox: [1]\n", "{ open", "a: b: c\n", "nosuch: 1\n"],
)
def test_what_is_no_configuration_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(NotWritten) as caught:
        write_values(path, {LIMIT: "2G"})
    assert path.read_text(encoding="utf-8") == text
    assert len(str(caught.value).splitlines()) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["config.yaml"]


def test_what_would_not_be_allowed_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    with pytest.raises(NotWritten, match="would not be right"):
        write_values(path, {LIMIT: "1"})
    assert not path.exists()


def test_binary_is_told(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(b"\xff\xfe\0")
    with pytest.raises(NotWritten, match="cannot be read"):
        write_values(path, {LIMIT: "2G"})


def test_what_is_secret_stays_so_while_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("queue:\n  depth: 5\n")
    path.chmod(0o600)
    modes: list[int] = []
    make = os.open

    def noted(name: Any, flags: int, *rest: Any, **more: Any) -> int:
        made = make(name, flags, *rest, **more)
        if flags & os.O_CREAT:
            modes.append(os.fstat(made).st_mode & 0o777)
        return made

    monkeypatch.setattr(os, "open", noted)
    write_values(path, {LIMIT: "2G"})
    assert modes == [0o600] and path.stat().st_mode & 0o777 == 0o600


def test_a_link_laid_in_its_way_is_not_followed(tmp_path: Path) -> None:
    path, other = tmp_path / "config.yaml", tmp_path / "of-another"
    other.write_text("mine\n")
    (tmp_path / f".config.yaml.{os.getpid()}").symlink_to(other)
    write_values(path, {LIMIT: "2G"})
    assert other.read_text() == "mine\n" and not path.is_symlink()


@pytest.mark.parametrize("what", ["file", "directory", "link"])
def test_what_lies_in_somebody_elses_place_is_left_to_them(tmp_path: Path, what: str) -> None:
    """As root with the home of a user."""
    if os.geteuid() != 0:
        pytest.skip("only root can write in somebody else's home")
    home, ours = tmp_path / "home", tmp_path / "ours.yaml"
    home.mkdir()
    path = home / "config.yaml"
    path.write_text("sandbox: {}\n", encoding="utf-8")
    theirs = {"file": path, "directory": home, "link": path}[what]
    if what == "link":
        path.unlink()
        path.symlink_to(ours)
    os.chown(theirs, 7777, 7777, follow_symlinks=False)
    with pytest.raises(NotWritten, match="belongs to user 7777: do it as that user"):
        write_values(path, {LIMIT: "2G"})
    assert not ours.exists()
    assert what == "link" or path.read_text(encoding="utf-8") == "sandbox: {}\n"
