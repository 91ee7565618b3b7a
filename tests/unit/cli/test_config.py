"""`paddock config` as people and scripts see it."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from paddock.cli.config import _aligned
from paddock.cli.main import main
from paddock.client.errors import NoDaemon
from paddock.config import layers
from paddock.config.settings import SETTINGS
from tests.unit.cli.conftest import Paddock
from tests.unit.cli.fake_daemon import FakeDaemon

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with nobody's configuration but its own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("PADDOCK_PROFILE", raising=False)
    monkeypatch.setattr("paddock.config.layers.HOST_FILE", tmp_path / "etc/config.yaml")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def write(project: Path, text: str) -> Path:
    file = project / ".paddock/config.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def shown(capsys: Capture, *args: str) -> dict[str, Any]:
    assert main(["config", "show", "--json", *args]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.usefixtures("project")
def test_show_says_each_value_and_where_it_comes_from_aligned(capsys: Capture) -> None:
    assert main(["config", "show"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(SETTINGS) + 1
    assert "performance_profile                medium         built in" in lines
    assert "performance.log_buffer_size_mb     10             profile medium" in lines
    assert any("auto           built in; at most 5 by profile medium" in line for line in lines)


def test_show_lists_presets_of_ones_own_and_never_their_variables(
    project: Path, capsys: Capture
) -> None:
    file = project.parent / "xdg/paddock/config.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("agents:\n  mine: {like: codex, env: {KEY: hunter2}}\n", encoding="utf-8")
    assert main(["config", "show"]) == 0
    text = capsys.readouterr().out
    line = next(line for line in text.splitlines() if line.startswith("agents."))
    assert line.startswith("agents.mine") and "OpenAI Codex" in line and line.endswith(":2")
    found = shown(capsys)
    names = ["claude", "codex", "gemini", "opencode", "aider", "plain", "mine"]
    assert [each["name"] for each in found["presets"]] == names
    assert "hunter2" not in json.dumps(found) + text


def test_show_is_never_wider_than_the_terminal() -> None:
    path = "/home/somebody/projects/payments/.paddock/config.yaml:12"
    walls = "[{command: cargo, memory: 8G}, {command: npm, memory: 2G}]"
    rows = [
        ("performance.max_concurrent_agents", "auto", "built in; at most 5 by profile medium"),
        ("sandbox.tool_walls", walls, path),
    ]
    lines = list(_aligned(rows, 80))
    assert max(map(len, lines)) <= 80
    assert lines[1].strip() == "profile medium"
    assert lines[-1].endswith("…nts/.paddock/config.yaml:12")
    assert any(path in line and walls[:40] in line for line in _aligned(rows, None))


def test_show_names_file_and_line(project: Path, capsys: Capture) -> None:
    file = write(project, "sandbox:\n  memory_limit: 2G\n")
    assert main(["config", "show"]) == 0
    assert f"sandbox.memory_limit               2G             {file}:2" in capsys.readouterr().out
    found = shown(capsys)
    (limit,) = [each for each in found["settings"] if each["key"] == "sandbox.memory_limit"]
    assert (limit["file"], limit["line"], limit["raw"]) == (str(file), 2, 2 * 1024**3)
    assert (limit["value"], limit["default"], limit["host_wide"]) == ("2G", "4G", False)
    assert found["files"] == [str(file)]


@pytest.mark.usefixtures("project")
def test_show_with_another_profile(capsys: Capture) -> None:
    found = shown(capsys, "--performance-profile", "tiny")
    assert found["profile"] == {"name": "tiny", "source": "--performance-profile"}
    assert found["max_agents_by_profile"] == 2
    values = {each["key"]: each["value"] for each in found["settings"]}
    assert (values["sandbox.memory_limit"], values["queue.depth"]) == ("400M", "5")
    assert main(["config", "show", "--performance-profile", "tny"]) == 2
    assert "did you mean tiny?" in capsys.readouterr().err


def test_a_broken_file_is_exit_2_with_every_mistake(project: Path, capsys: Capture) -> None:
    file = write(project, "queue:\n  depth: 0\n  dept: 1\n")
    assert main(["config", "show"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        f"{file}:2: queue.depth: found 0; allowed: a whole number from 1 to 1000000",
        f"{file}:3: queue.dept: found an unknown key; allowed: admission, depth, max_preemptions, "
        "min_run, touches_per_hour; "
        "did you mean depth?",
        "paddock: 2 mistakes in the configuration",
    ]
    assert main(["config", "check", "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is False
    assert found["mistakes"][1] == {
        "file": str(file),
        "line": 3,
        "column": 3,
        "key": "queue.dept",
        "found": "an unknown key",
        "allowed": "admission, depth, max_preemptions, min_run, touches_per_hour",
        "nearest": "depth",
    }


def test_check_says_what_is_in_order(project: Path, capsys: Capture) -> None:
    assert main(["config", "check"]) == 0
    assert "no configuration files here" in capsys.readouterr().out
    file = write(project, "queue: {depth: 5}\n")
    assert main(["config", "check"]) == 0
    assert capsys.readouterr().out == f"{file}: no mistakes\n"


@pytest.mark.usefixtures("project")
def test_check_holds_the_values_against_this_host(capsys: Capture) -> None:
    file = layers.user_file()
    file.parent.mkdir(parents=True)
    file.write_text("sandbox: {host_memory_reserve: 900T}\n", encoding="utf-8")
    for name in ("check", "show"):
        assert main(["config", name]) == 2
        err = capsys.readouterr().err
        assert f"{file}:1: sandbox.host_memory_reserve: found 900T; allowed: auto, or less" in err


def test_check_and_show_say_what_has_no_effect_in_a_projects_file(
    project: Path, capsys: Capture
) -> None:
    file = write(project, "sandbox: {host_memory_reserve: 900T}\n")
    for name in ("check", "show"):
        assert main(["config", name]) == 0
        said = f"{file}:1: sandbox.host_memory_reserve has no effect in a project's file"
        assert said in capsys.readouterr().err
    found = {each["key"]: each["value"] for each in shown(capsys)["settings"]}
    assert found["sandbox.host_memory_reserve"] == "auto"


def test_check_takes_files_and_looks_at_each(project: Path, capsys: Capture) -> None:
    good, bad = project / "good.yaml", project / "bad.yaml"
    good.write_text("queue: {depth: 2000}\n", encoding="utf-8")
    bad.write_text("queue: {depth: x}\n", encoding="utf-8")
    assert main(["config", "check", str(good)]) == 0
    assert main(["config", "check", str(good), str(bad), "nowhere.yaml"]) == 2
    err = capsys.readouterr().err
    assert "bad.yaml:1: queue.depth: found 'x'" in err
    assert "nowhere.yaml: found no readable file" in err


def test_schema_is_json(capsys: Capture) -> None:
    assert main(["config", "schema"]) == 0
    assert json.loads(capsys.readouterr().out)["$schema"].endswith("2020-12/schema")


def test_init_writes_a_file_that_changes_nothing_and_never_overwrites(
    project: Path, capsys: Capture
) -> None:
    before = shown(capsys)["settings"]
    assert main(["config", "init"]) == 0
    assert "wrote .paddock/config.yaml" in capsys.readouterr().out
    assert main(["config", "check"]) == 0
    capsys.readouterr()
    assert shown(capsys)["settings"] == before
    write(project, "# mine\n")
    capsys.readouterr()
    assert main(["config", "init"]) == 2
    assert "is already there and stays as it is" in capsys.readouterr().err
    assert (project / ".paddock/config.yaml").read_text(encoding="utf-8") == "# mine\n"


def test_init_follows_no_link_elsewhere(project: Path) -> None:
    (project / ".paddock").mkdir()
    (project / ".paddock/config.yaml").symlink_to(project / "elsewhere")
    assert main(["config", "init"]) == 2
    assert not (project / "elsewhere").exists()


def test_a_cap_that_bites_is_said_on_stderr(project: Path, capsys: Capture) -> None:
    write(project, "performance: {max_concurrent_agents: 300}\n")
    assert main(["config", "show"]) == 0
    assert "the profile medium allows 5" in capsys.readouterr().err


def test_a_project_is_told_where_looser_goes(project: Path, capsys: Capture) -> None:
    """`performance_profile` in its own file would change nothing."""
    file = write(project, "performance: {max_concurrent_agents: 20}\n")
    assert main(["config", "check"]) == 0
    user = layers.user_file()
    assert capsys.readouterr().err.startswith(
        f"paddock: {file}:1: 20 agents at once are asked for, but the profile medium allows 5; "
        "a project can only make keys of the whole host stricter; looser goes in the user's file: "
        f"`performance_profile: high` in {user} allows 10\n"
    )
    write(project, "performance_profile: high\n")
    assert main(["config", "check"]) == 0
    said = f"{file}:1: the profile high does not raise the 5 agents at once: a project can only"
    assert said in capsys.readouterr().err


def test_init_writes_the_users_file_where_that_is_asked_for(project: Path, capsys: Capture) -> None:
    user = layers.user_file()
    assert main(["config", "init", "--user"]) == 0
    assert f"wrote {user}" in capsys.readouterr().out
    text = user.read_text(encoding="utf-8")
    assert "for this project" not in text and "A project can only" in text
    assert stat.S_IMODE(user.stat().st_mode) & 0o022 == 0
    assert main(["config", "check", str(user)]) == 0
    assert main(["config", "init", "--user"]) == 2
    assert not (project / ".paddock").exists()


@pytest.mark.usefixtures("project")
def test_show_says_what_the_daemon_that_runs_allows(
    paddock: Paddock, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable of this shell, or a project's file, is nothing to it."""
    monkeypatch.setenv("PADDOCK_PROFILE", "high")
    daemon.max_agents = 5
    said = paddock("config", "show", "--json").json
    assert (said["max_agents_by_profile"], said["max_agents_of_daemon"]) == (10, 5)
    assert (
        "; at most 10 by profile high; 5 by the daemon that runs;" in paddock("config", "show").out
    )
    monkeypatch.delenv("PADDOCK_PROFILE")
    assert "the daemon" not in paddock("config", "show").out
    daemon.fails_with = NoDaemon("no daemon answers")
    called = paddock("config", "show", "--json")
    assert (called.code, called.json["max_agents_of_daemon"]) == (0, None)


@pytest.mark.parametrize("name", ["show", "check", "schema", "init"])
def test_every_subcommand_has_help_with_an_example(name: str, capsys: Capture) -> None:
    assert main(["config", name, "--help"]) == 0
    assert f"paddock config {name}" in capsys.readouterr().out.partition("Example")[2]


def test_an_unknown_subcommand_is_bad_usage(capsys: Capture) -> None:
    assert main(["config", "shwo"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
