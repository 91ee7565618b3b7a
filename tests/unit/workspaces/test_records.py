"""The small files beside workspaces."""

import json
from pathlib import Path

import pytest

from paddock.workspaces.errors import WorkspaceError
from paddock.workspaces.records import (
    Home,
    Record,
    SavedWork,
    State,
    check_run,
    homes,
    key_of,
)


def a_record(name: str = "run1", **more: object) -> Record:
    usual = {
        "name": name,
        "state": State.TAKEN,
        "repository": "/repo",
        "common": "/repo/.git",
        "git_dir": "/repo/.git/worktrees/run1",
        "branch": f"paddock/{name}",
        "base": "main",
        "start": "a" * 40,
        "made_at": 1.0,
        "used_at": 2.0,
    }
    return Record(**{**usual, **more})  # type: ignore[arg-type]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "key")
    home.make()
    return home


def test_a_record_comes_back_as_it_was(home: Home) -> None:
    saved = SavedWork("b" * 40, "paddock/run1", "1:2:3")
    record = a_record(repository="/od\udcffd name\n", saved=saved)
    home.runs.write(record)
    assert home.runs.read("run1") == record


def test_what_is_not_there_is_none(home: Home) -> None:
    assert home.runs.read("run1") is None
    assert home.gone("run1") is None
    assert list(homes(home.directory / "nothing")) == []


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"format": 1}', '{"format": 2, "name": "x"}', "\xff" * 70000]
)
def test_a_damaged_one_is_an_error_and_is_not_touched(home: Home, text: str) -> None:
    file = home.directory / ".run1.json"
    file.write_text(text, encoding="latin-1")
    with pytest.raises(WorkspaceError, match="damaged"):
        home.runs.read("run1")
    assert file.read_text(encoding="latin-1") == text


def test_names_are_those_with_a_record_and_strangers_those_without(home: Home) -> None:
    home.runs.write(a_record("one"))
    home.runs.write(a_record("two.json.x"))
    for name in ("one", "three"):
        (home.directory / name).mkdir()
    assert home.runs.names() == ["one", "two.json.x"]
    assert home.runs.strangers() == ["three"]


@pytest.mark.parametrize(
    "run",
    [
        "",
        ".",
        "..",
        ".x",
        "-x",
        "a/b",
        "a..b",
        "a.lock",
        "a.",
        "a b",
        "a\n",
        "a.json",
        "x" * 101,
        "é",
    ],
)
def test_a_run_whose_name_would_lead_elsewhere_is_refused(run: str) -> None:
    with pytest.raises(WorkspaceError, match="cannot name a workspace"):
        check_run(run)


@pytest.mark.parametrize("run", ["a", "01J9Z-x_y.1", "A" * 100])
def test_ids_of_runs_are_names(run: str) -> None:
    check_run(run)


def test_keys_can_be_read_and_differ() -> None:
    assert key_of("/a/x", name="x").startswith("x-")
    assert key_of("/a/x", name="x") != key_of("/b/x", name="x")
    assert key_of("/a", name="../é \n").replace("-", "").isalnum()
    assert "/" not in key_of("/a", name="/../..")


def test_a_record_from_before_heartbeats_had_fleeting_ones_is_read(tmp_path: Path) -> None:
    shelf = Home(tmp_path).runs
    shelf.write(a_record(fleeting=True))
    assert shelf.read("run1") == a_record(fleeting=True)
    file = tmp_path / ".run1.json"
    said = json.loads(file.read_text(encoding="utf-8"))
    del said["fleeting"]
    file.write_text(json.dumps(said), encoding="utf-8")
    assert shelf.read("run1") == a_record()
