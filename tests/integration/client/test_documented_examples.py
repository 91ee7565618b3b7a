"""The examples of docs/reference/api.md, as they are written, against a real daemon."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.house import a_house

PAGE = Path(__file__).parents[3] / "docs/reference/api.md"


def _examples(language: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_there_is_one_for_each_client() -> None:
    sync, asynchronous = _examples("python")
    assert "import Client" in sync and "import AsyncClient" in asynchronous


@pytest.mark.parametrize("number", [0, 1])
def test_python(tmp_path: Path, number: int) -> None:
    with a_house(tmp_path) as house:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _examples("python")[number]],
            cwd=tmp_path,
            env=house.env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert sorted(done.stdout.splitlines()) == ["ended failed 3", "hello"]


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_curl(tmp_path: Path) -> None:
    usual = "~/.local/state/paddock/paddock.sock"
    commands = [text for text in _examples("console") if text.startswith("$ curl")]
    assert len(commands) == 2
    with a_house(tmp_path) as house:
        house.start()
        for command in commands:
            assert usual in command
            words = shlex.split(command.removeprefix("$ ").replace(usual, str(house.places.socket)))
            done = subprocess.run(
                [words[0], "--silent", "--show-error", "--fail-with-body", *words[1:]],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
        with house.client() as client:
            [run] = client.wait(["hello"], timeout_s=30)
            assert (run.exit_code, b"".join(client.log("hello"))) == (3, b"hello\n")
