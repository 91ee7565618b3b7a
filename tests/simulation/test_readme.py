"""What the README shows is what a user sees."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from paddock.cli.main import main

README = Path(__file__).parents[2] / "README.md"
SHOWN = re.findall(r"```console\n\$ paddock (.+?)\n(.*?)…\n```", README.read_text(), re.DOTALL)


def test_there_is_something_shown() -> None:
    assert len(SHOWN) >= 2


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_the_readme_shows_what_is_printed(
    command: str, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out.startswith(output)
