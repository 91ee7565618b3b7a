"""A new user's path: a fresh clone, and only what the quickstart says is typed."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
from contextlib import suppress
from pathlib import Path

import pytest

from tests.kit.house import House, a_house
from tests.kit.typed import blocks_of, type_in

PROJECT = Path(__file__).parents[3]


@pytest.mark.timeout(600)  # an environment is made
def test_the_quickstart_works_on_a_fresh_clone(tmp_path: Path) -> None:
    work = tmp_path / "work"
    subprocess.run(["git", "clone", "--quiet", PROJECT, work], check=True)
    blocks = blocks_of(PROJECT / "docs/quickstart.md")
    assert sum(map(len, blocks)) >= 15
    with a_house(tmp_path) as house:
        # What pip needs to find its packages is the machine's; nothing else goes along.
        pip = {name: text for name, text in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
        pip |= {"PIP_CACHE_DIR": str(Path.home() / ".cache/pip")}
        type_in(blocks, env={**house.env, **pip}, at=work)
        paddock = work / ".venv/bin/paddock"
        _watch_in_the_terminal(paddock, house)
        _watch_in_the_browser(paddock, house)


def _watch_in_the_terminal(paddock: Path, house: House) -> None:
    """`paddock top`, until it has drawn the runs that were typed; then q."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    env = {**house.env, "TERM": "xterm-256color"}
    with subprocess.Popen(
        [paddock, "top"],
        env=env,
        cwd=house.home,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as top:
        os.close(theirs)
        drawn = b""
        try:
            with suppress(OSError):  # EIO: it has left the terminal
                while more := os.read(ours, 65536):
                    drawn += more
                    if b"F1" in drawn and top.poll() is None:
                        os.write(ours, b"q")
            assert top.wait(60) == 0, drawn[-2000:]
        finally:
            top.kill()
            os.close(ours)
    assert b"F1" in drawn


def _watch_in_the_browser(paddock: Path, house: House) -> None:
    """`paddock web` prints an address; on any port, because the usual one may be in use."""
    with subprocess.Popen(
        [paddock, "web", "--port", "0"],
        env=house.env,
        cwd=house.home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as web:
        assert web.stdout is not None
        try:
            assert web.stdout.readline().startswith("Open http://127.0.0.1:")
            web.terminate()
            web.wait(60)
        finally:
            web.kill()
