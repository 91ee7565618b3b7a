"""The directory of shims: which names it has, and that it is made once."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from paddock.config.tool_walls import ToolWall
from paddock.tool.shims import Shim, script_of, tool_path


def a_program(directory: Path, *names: str) -> str:
    directory.mkdir(exist_ok=True)
    for name in names:
        (directory / name).touch(mode=0o755)
    return str(directory)


def made(state: Path, *walls: ToolWall, path: str = "") -> dict[str, str]:
    directory = tool_path(state, walls, path=path)
    assert directory is not None
    return {file.name: file.read_text(encoding="utf-8") for file in Path(directory).iterdir()}


def test_without_walls_there_is_no_directory(tmp_path: Path) -> None:
    assert tool_path(tmp_path, [], path="/usr/bin") is None
    assert list(tmp_path.iterdir()) == []


def test_the_same_walls_have_the_same_directory_and_others_another(tmp_path: Path) -> None:
    walls = [ToolWall(command="pytest"), ToolWall(command="cargo", memory_bytes=6 << 30)]
    first = tool_path(tmp_path, walls, path="")
    assert first == tool_path(tmp_path, reversed(walls), path="/usr/bin")
    assert first != tool_path(tmp_path, walls[:1], path="")
    assert first != tool_path(tmp_path, walls, path="", share=50)
    assert [path.name for path in (tmp_path / "tools").iterdir() if path.name[0] == "."] == []


def test_a_shim_says_its_size_and_its_lease(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        ToolWall(command="pytest"),
        ToolWall(command="cargo", memory_bytes=1 << 30, lease="build"),
        ToolWall(command="npm", lease="install"),
    )
    assert '/pytest 75% - "$@"' in found["pytest"]
    assert '/cargo 1073741824 build "$@"' in found["cargo"]
    assert '/npm - install "$@"' in found["npm"]


def test_a_pattern_is_every_program_on_the_path_that_fits(tmp_path: Path) -> None:
    path = a_program(tmp_path / "bin", "cargo", "cargo-nextest", "rustc", "cargo bad")
    found = made(tmp_path, ToolWall(command="cargo*"), path=f"/nowhere:{path}")
    assert sorted(found) == ["cargo", "cargo-nextest"]


def test_the_first_wall_that_fits_counts(tmp_path: Path) -> None:
    walls = ToolWall(command="pytest", memory_bytes=5), ToolWall(command="pytest", memory_bytes=7)
    assert "/pytest 5 -" in made(tmp_path, *walls)["pytest"]


@pytest.mark.parametrize("name", ["..", ".", "-rf", "a/b", "paddock", "$(x)", "a b", ""])
def test_a_name_that_is_not_safe_gets_no_shim(tmp_path: Path, name: str) -> None:
    assert tool_path(tmp_path, [ToolWall(command=name, memory_bytes=1)], path="") is None


def test_a_state_directory_of_any_name_is_quoted_for_the_shell(tmp_path: Path) -> None:
    text = script_of(Shim("pytest", "75%", "-"), tmp_path / "it's $HOME")
    checked = subprocess.run(["/bin/sh", "-n"], input=text, text=True, check=False)
    assert checked.returncode == 0
    assert """'"'"'s $HOME'/pytest 75% -""" in text


def test_a_directory_that_no_path_can_name_is_not_made(tmp_path: Path) -> None:
    state = tmp_path / "a:b"
    assert tool_path(state, [ToolWall(command="pytest")], path="") is None
    assert not state.exists()
