"""Every command explains itself with an example, and speaks JSON to scripts."""

import re
from typing import get_args

import pytest

from paddock.cli import run_options
from paddock.cli.exits import ExitCode
from paddock.cli.main import COMMANDS, main
from paddock.config import settings
from paddock.wire.run_fields import RUN_KINDS
from paddock.wire.run_request import DriverWord
from tests.architecture.source import PROJECT


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_with_an_example(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "Example" in shown
    assert f"paddock {name}" in shown.partition("Example")[2]


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_can_speak_json(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert "--json" in capsys.readouterr().out


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_is_in_the_reference_with_an_example(name: str) -> None:
    text = (PROJECT / "docs/reference/commands.md").read_text(encoding="utf-8")
    section = text.partition(f"\n### paddock {name}\n")[2].partition("\n### ")[0]
    assert f"\npaddock {name}" in section.partition("```sh")[2].partition("```")[0]


def test_every_exit_code_is_in_the_reference() -> None:
    text = (PROJECT / "docs/reference/commands.md").read_text(encoding="utf-8")
    section = text.partition("## Exit codes")[2].partition("\n## ")[0]
    assert [code for code in ExitCode if not re.search(rf"\b{int(code)}\b", section)] == []


@pytest.mark.parametrize("name", ["run", "submit"])
def test_every_option_of_a_run_is_in_the_reference(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (PROJECT / "docs/reference/commands.md").read_text(encoding="utf-8")
    assert main([name, "--help"]) == 0
    options = re.findall(r"^  (--[a-z-]+)", capsys.readouterr().out, re.MULTILINE)
    assert [option for option in options if f"`{option}" not in text] == []


def test_every_key_of_a_run_is_an_option_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--help"]) == 0
    shown = capsys.readouterr().out
    # Steps are a list of commands, a command or an agent's arguments come after --, and --yes is
    # what people know.
    other = ("steps", "command", "arguments", "any_size")
    keys = [key.replace("_", "-") for key in RUN_KINDS if key not in other] + ["yes"]
    assert [key for key in keys if f"--{key} " not in shown] == []


def test_a_driver_is_called_the_same_everywhere() -> None:
    assert settings.DRIVERS == run_options.DRIVERS == get_args(DriverWord)
