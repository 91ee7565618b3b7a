"""Completion: files by the shell, run names from a daemon that is there, silent without one."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from paddock.cli.completing import complete_any_run, complete_run
from paddock.cli.main import cli
from tests.unit.cli.fake_daemon import FakeDaemon

PARAMETER = click.Argument(["run"])


def completed(daemon: FakeDaemon, typed: str) -> list[str]:
    context = click.Context(cli, obj=daemon.door)
    return [item.value for item in complete_run(context, PARAMETER, typed)]


def test_names_come_first_and_ids_once_one_is_begun(daemon: FakeDaemon) -> None:
    daemon.add("implement")
    daemon.add("review")
    assert completed(daemon, "") == ["implement", "review"]
    assert completed(daemon, "imp") == ["implement"]
    assert completed(daemon, "r") == ["review", "r0001", "r0002"]


def test_whoever_looks_back_is_shown_the_ended_too(daemon: FakeDaemon) -> None:
    daemon.add("review")
    daemon.add("release", state="ended", outcome="succeeded")
    context = click.Context(cli, obj=daemon.door)
    assert completed(daemon, "re") == ["review"]
    found = [item.value for item in complete_any_run(context, PARAMETER, "re")]
    assert found == ["review", "release"]


def kinds(command: str, *words: str, typed: str = "") -> list[str]:
    """What the shell is told to complete."""
    completing = ShellComplete(cli, {}, "paddock", "_PADDOCK_COMPLETE")
    return [item.type for item in completing.get_completions([command, *words], typed)]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["fleet"], "file"),
        (["submit", "--from"], "file"),
        (["simulate", "--fleet"], "file"),
        (["config", "check"], "file"),
        (["run", "--dir"], "dir"),
        (["run", "--"], "file"),
        (["run", "--", "make"], "file"),
        (["submit", "--", "./x"], "file"),
    ],
)
def test_files_are_completed_by_the_shell(words: list[str], kind: str) -> None:
    assert kinds(*words) == [kind]


def test_the_first_word_of_a_command_is_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "make-it-so").touch(mode=0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/nowhere")
    assert kinds("run", "--", typed="make-it") == ["plain"]
    assert kinds("run", "--", typed="no-such-program") == ["file"]
    assert kinds("run", "--", "x", typed="make-it") == ["file"]


def test_an_unknown_command_is_no_error_while_one_types() -> None:
    assert kinds("ps", "x", typed="zz") == []


def test_without_a_daemon_there_is_nothing_and_none_is_started(daemon: FakeDaemon) -> None:
    daemon.running = False
    assert completed(daemon, "") == []
    assert daemon.starts == 0
