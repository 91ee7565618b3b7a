"""`paddock web` that cannot begin says why in one line."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from paddock.cli.main import main

WITHOUT = """
import sys
sys.modules["nicegui"] = None
from paddock.cli.main import main
sys.exit(main(["web"]))
"""


def test_without_nicegui_it_says_how_to_get_it() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", WITHOUT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "pip install '.[web]' in paddock's checkout" in done.stderr


def test_a_port_that_is_taken_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["web", "--port", str(port)]) == 2
    said = capsys.readouterr().err
    assert f"cannot listen on 127.0.0.1:{port}" in said and "--port" in said
    assert said.count("\n") == 1


def test_an_address_of_nobody_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["web", "--host", "192.0.2.77", "--port", "0"]) == 2
    assert "cannot listen on 192.0.2.77:0" in capsys.readouterr().err
