"""Blocks of ports: no two on the machine are the same, and none in which something listens."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from paddock.workspaces import port_blocks
from paddock.workspaces.errors import WorkspaceError
from paddock.workspaces.port_blocks import END_PORT, FIRST_PORT, PortBlocks

ANOTHER = """
import sys
from pathlib import Path
from paddock.workspaces.port_blocks import PortBlocks
block = PortBlocks((Path(sys.argv[1]),)).take("run1")
print(block.base, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def blocks(tmp_path: Path) -> PortBlocks:
    return PortBlocks((tmp_path,))


def test_each_has_its_own(blocks: PortBlocks) -> None:
    taken = [blocks.take(f"run{number}") for number in range(30)]
    ports = {port for block in taken for port in range(block.base, block.base + block.width)}
    assert len(ports) == 300
    assert min(ports) >= FIRST_PORT and max(ports) < END_PORT
    assert taken[0].environment()["PADDOCK_PORT_BASE"] == str(taken[0].base)
    for block in taken:
        block.close()


def test_a_wide_one_meets_no_narrow_one(blocks: PortBlocks) -> None:
    narrow = blocks.take("run1")
    wide = blocks.take("run1", width=20)
    assert not set(range(wide.base, wide.base + 20)) & set(range(narrow.base, narrow.base + 10))
    narrow.close()
    wide.close()


def test_one_of_another_daemon_is_not_taken_until_that_is_gone(
    blocks: PortBlocks, tmp_path: Path
) -> None:
    other = subprocess.Popen(
        [sys.executable, "-c", ANOTHER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout is not None and other.stdin is not None
    theirs = int(other.stdout.readline())
    ours = blocks.take("run1")
    assert ours.base != theirs
    assert blocks.retake(theirs, "run1") is None
    ours.close()
    other.kill()
    other.wait()
    other.stdout.close()
    other.stdin.close()
    again = blocks.take("run1")
    assert again.base == theirs
    again.close()


@pytest.mark.parametrize(
    ("family", "kind", "host"),
    [
        (socket.AF_INET, socket.SOCK_STREAM, "127.0.0.1"),
        (socket.AF_INET6, socket.SOCK_STREAM, "::1"),
        (socket.AF_INET, socket.SOCK_DGRAM, "0.0.0.0"),
    ],
)
def test_a_block_in_which_something_listens_is_left_out(
    blocks: PortBlocks, family: int, kind: int, host: str
) -> None:
    first = blocks.take("run1")
    first.close()
    with socket.socket(family, kind) as server:
        try:
            server.bind((host, first.base + 7))
        except OSError:
            pytest.skip("no such addresses here")
        if kind == socket.SOCK_STREAM:
            server.listen()
        second = blocks.take("run1")
        assert second.base != first.base
        mine = blocks.retake(first.base, "run1")
        assert mine is not None, "after a restart what listens there is the agent"
        second.close()
        mine.close()


def test_files_that_are_tricks_are_left_out(blocks: PortBlocks, tmp_path: Path) -> None:
    block = blocks.take("run1")
    block.close()
    trick = tmp_path / "paddock-ports" / str(block.base)
    trick.unlink()
    (tmp_path / "precious").write_text("x")
    for make in (trick.symlink_to, trick.hardlink_to):
        make(tmp_path / "precious")
        other = blocks.take("run1")
        assert other.base != block.base
        other.close()
        trick.unlink()
    assert (tmp_path / "precious").read_text() == "x"


def test_when_none_is_left_it_is_said(blocks: PortBlocks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port_blocks, "END_PORT", FIRST_PORT + 20)
    held = [blocks.take("a"), blocks.take("b")]
    with pytest.raises(WorkspaceError, match="no 10 ports in a row are free"):
        blocks.take("c")
    for block in held:
        block.close()


def test_no_place_is_said(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="cannot be written"):
        PortBlocks((tmp_path / "nothing",)).take("run1")
    (tmp_path / "paddock-ports").symlink_to(tmp_path)
    with pytest.raises(WorkspaceError, match="not a directory to be trusted"):
        PortBlocks((tmp_path,)).take("run1")


@pytest.mark.parametrize("width", [0, -10, 5, 15, 100_000])
def test_a_width_that_is_none(blocks: PortBlocks, width: int) -> None:
    with pytest.raises(ValueError, match="a block has 10"):
        blocks.take("run1", width=width)


def test_everybody_may_use_the_directory(blocks: PortBlocks, tmp_path: Path) -> None:
    umask = os.umask(0o077)
    try:
        block = blocks.take("run1")
    finally:
        os.umask(umask)
    assert (tmp_path / "paddock-ports").stat().st_mode & 0o7777 == 0o1777
    assert (tmp_path / "paddock-ports" / str(block.base)).stat().st_mode & 0o777 == 0o666
    block.close()
