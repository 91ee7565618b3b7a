"""What lies under a name of ours in the state directory: anything else is told in one line."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from paddock.config.state_files import LONG_KEPT, MADE_ANEW, NO_LINKS, what_is_wrong


def put(path: Path, kind: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "a file":
        path.touch()
    elif kind == "a directory":
        path.mkdir()
    elif kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
    else:
        path.symlink_to("/nowhere/at/all")


def test_what_is_not_there_yet_is_fine(tmp_path: Path) -> None:
    assert what_is_wrong(tmp_path) is None


def test_all_as_it_should_be_is_fine(tmp_path: Path) -> None:
    for name, kind in (LONG_KEPT | NO_LINKS).items():
        put(tmp_path / name, kind)
    assert what_is_wrong(tmp_path) is None


@pytest.mark.parametrize(
    "kind", ["a file", "a directory", "a pipe", "a socket", "a link that leads nowhere"]
)
@pytest.mark.parametrize("name", [*LONG_KEPT, *NO_LINKS])
def test_anything_else_is_named_with_what_to_do(tmp_path: Path, name: str, kind: str) -> None:
    put(tmp_path / name, kind)
    wanted = (LONG_KEPT | NO_LINKS)[name]
    found = kind.removesuffix(" that leads nowhere") if name in NO_LINKS else kind
    told = f"{tmp_path / name} is {found}, where paddock keeps {wanted}: "
    expected = None if kind == wanted else f"{told}move it away, and start again"
    assert what_is_wrong(tmp_path) == expected


@pytest.mark.parametrize("name", [*LONG_KEPT, *NO_LINKS])
def test_a_link_to_another_disk_will_do_for_all_but_locks_and_sockets(
    tmp_path: Path, name: str
) -> None:
    kind = (LONG_KEPT | NO_LINKS)[name]
    put(tmp_path / "elsewhere", kind)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).symlink_to(tmp_path / "elsewhere")
    assert (what_is_wrong(tmp_path) is None) == (name in LONG_KEPT)


@pytest.mark.parametrize("name", MADE_ANEW)
@pytest.mark.parametrize("kind", ["a file", "a directory", "a pipe", "a link that leads nowhere"])
def test_what_is_made_anew_is_in_the_way_of_nobody_but_as_a_directory(
    tmp_path: Path, name: str, kind: str
) -> None:
    """An agent could lay a pipe there, and no daemon would start again."""
    put(tmp_path / name, kind)
    told = f"{tmp_path / name} is a directory, where paddock keeps a file: "
    expected = f"{told}move it away, and start again" if kind == "a directory" else None
    assert what_is_wrong(tmp_path) == expected
