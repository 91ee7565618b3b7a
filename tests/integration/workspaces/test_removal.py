"""Whole trees are deleted, never through a link, and never outside; scratch space."""

from __future__ import annotations

import os
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from paddock.workspaces.errors import UnsafePlace, WorkspaceError
from paddock.workspaces.removal import delete_tree, sweep
from paddock.workspaces.scratch import Scratch


def a_tree(top: Path) -> Path:
    tree = top / "tree"
    (tree / "a/b").mkdir(parents=True)
    for name in ("file", "a/file", "a/b/-f", "a/b/new\nline"):
        (tree / name).write_text("x")
    return tree


def test_everything_goes(tmp_path: Path) -> None:
    assert delete_tree(tmp_path, a_tree(tmp_path)) == []
    assert [one.name for one in tmp_path.iterdir()] == ["home"]


def test_what_links_point_to_stays(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    top = tmp_path / "top"
    top.mkdir()
    tree = a_tree(top)
    (tree / "to-directory").symlink_to(precious)
    (tree / "to-file").symlink_to(precious / "file")
    (tree / "to-nothing").symlink_to(tmp_path / "nothing")
    assert delete_tree(top, tree) == []
    assert (precious / "file").read_text() == "x"


def test_outside_is_refused(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    tree = a_tree(tmp_path)
    (top / "link").symlink_to(tree)
    (top / "way").symlink_to(tmp_path)
    for path in (tree, top / ".." / "tree", top / "link", top / "way/tree", top / "x", top / ".."):
        with pytest.raises(UnsafePlace):
            delete_tree(top, path)
    assert (tree / "a/b/-f").exists()


def test_however_deep(tmp_path: Path) -> None:
    """Deeper than a path may be long, and than Python calls itself."""
    place = os.open(tmp_path, os.O_RDONLY)
    for number in range(3000):
        name = "tree" if number == 0 else "deeper"
        os.mkdir(name, dir_fd=place)
        below = os.open(name, os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = below
    os.close(place)
    assert delete_tree(tmp_path, tmp_path / "tree") == []
    assert not (tmp_path / "tree").exists()


def closed_tree(top: Path) -> Path:
    tree = top / "tree"
    (tree / "closed/inner").mkdir(parents=True)
    (tree / "closed/inner/file").touch()
    (tree / "closed/inner").chmod(0o000)
    (tree / "closed").chmod(0o500)
    tree.chmod(0o500)
    return tree


def test_directories_that_are_closed_even_to_their_owner(as_somebody: int) -> None:
    """In a child that is not root, because root may do everything."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        top = Path(name)
        os.chown(top, as_somebody, as_somebody)
        child = os.fork()
        if child == 0:
            code = 1
            with suppress(BaseException):
                os.setresgid(as_somebody, as_somebody, as_somebody)
                os.setresuid(as_somebody, as_somebody, as_somebody)
                code = 0 if delete_tree(top, closed_tree(top)) == [] else 2
            os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert list(top.iterdir()) == []


def test_another_file_system_inside_is_not_entered(tmp_path: Path) -> None:
    disk = tmp_path / "tree/disk"
    disk.mkdir(parents=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", disk], check=False)
    if mounted.returncode:
        pytest.skip("no right to mount a file system")
    (disk / "precious").touch()
    wrong = delete_tree(tmp_path, tmp_path / "tree")
    moved = next(tmp_path.glob(".deleting-*/*/disk"))
    try:
        assert any("disk: " in reason for reason in wrong)
        assert (moved / "precious").exists()
    finally:
        subprocess.run(["umount", moved], check=True)
    assert sweep(tmp_path, tmp_path) == []
    assert [one.name for one in tmp_path.iterdir()] == ["home"]


def test_scratch_is_closed_to_others_empty_and_goes(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path / "scratch")
    path = scratch.make("run1.1")
    assert path.stat().st_mode & 0o777 == 0o700
    (path / "file").touch()
    assert list(scratch.make("run1.1").iterdir()) == []
    assert scratch.names() == ["run1.1"]
    for _ in range(2):
        assert scratch.remove("run1.1") == []
    assert scratch.names() == [] and scratch.sweep() == []


def test_scratch_that_became_a_link_is_only_unlinked(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path / "scratch")
    path = scratch.make("run1.1")
    path.rmdir()
    (tmp_path / "precious").mkdir()
    path.symlink_to(tmp_path / "precious")
    scratch.remove("run1.1")
    assert (tmp_path / "precious").is_dir() and not path.is_symlink()


@pytest.mark.parametrize("name", ["..", "a/b", "", "/tmp"])
def test_scratch_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(WorkspaceError, match="cannot name"):
        Scratch(tmp_path).make(name)
