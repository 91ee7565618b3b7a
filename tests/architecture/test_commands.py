"""Every command explains itself with an example, and speaks JSON to scripts."""

import pytest

from paddock.cli.main import COMMANDS, main


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
