"""How large a repository is, by git's own index and ignore rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.core.units import MIB
from paddock.workspaces.errors import WorkspaceError
from paddock.workspaces.sizes import Size, measure
from tests.kit.repositories import a_repository, commit, git, large, verbose, write

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize {}\n"


def test_the_tree_is_without_git_and_ignored_files(repository: Path) -> None:
    commit(repository, "ignore", {".gitignore": "build/\n"})
    write(repository, {"build/large.bin": "x" * 100_000, "untracked.txt": "12345"})
    found = measure(repository)
    assert found.tree_bytes == len("one\n") + len("print(1)\n") + len("build/\n") + 5
    assert found.files == 4


def test_the_total_has_git_in_it(tmp_path: Path) -> None:
    repository = large(tmp_path / "large", 16 * MIB)  # fewer files would not be packed
    found = measure(repository)
    assert abs(found.tree_bytes - 16 * MIB) < 300_000
    packs = sum(file.stat().st_size for file in (repository / ".git/objects/pack").iterdir())
    assert packs * 0.8 <= found.git_bytes <= packs * 1.2
    assert found.total_bytes == found.tree_bytes + found.git_bytes


def test_a_file_that_was_deleted_counts_nothing(repository: Path) -> None:
    (repository / "readme.txt").unlink()
    assert measure(repository).tree_bytes == len("print(1)\n")


def test_links_count_as_links(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * 100_000)
    (repository / "link").symlink_to(tmp_path / "large")
    assert measure(repository).tree_bytes < 1000


def test_files_in_lfs_are_counted_apart(repository: Path) -> None:
    files = {
        ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n",
        "pointer.bin": POINTER.format("a" * 64, 5_000_000_000),
        "fetched.bin": "x" * 2000,
        "small.bin": "no pointer",
        "plain.txt": POINTER.format("b" * 64, 7),
    }
    git(repository, "config", "filter.lfs.clean", "cat")
    commit(repository, "lfs", files)
    found = measure(repository)
    assert found.lfs_files == 3
    assert found.lfs_bytes == 5_000_000_000 + 2000 + len("no pointer")
    plain = ("readme.txt", "src/code.py", ".gitattributes", "plain.txt")
    assert found.tree_bytes == sum((repository / name).stat().st_size for name in plain)


def test_submodules_count(repository: Path, tmp_path: Path) -> None:
    library = a_repository(tmp_path / "library", {"library.txt": "x" * 50_000})
    alone = measure(repository)
    git(repository, "submodule", "--quiet", "add", str(library), "lib")
    assert measure(repository).tree_bytes > alone.tree_bytes + 50_000


def test_a_subdirectory_stands_for_all_and_a_bare_one_has_no_tree(
    repository: Path, tmp_path: Path
) -> None:
    assert measure(repository / "src") == measure(repository)
    git(tmp_path, "clone", "--quiet", "--bare", str(repository), "bare")
    assert measure(tmp_path / "bare").tree_bytes == 0


def test_names_that_are_difficult(tmp_path: Path) -> None:
    repository = a_repository(tmp_path / "r", {"new\nline": "12", "-dash": "34", "ü": "56"})
    assert measure(repository) == Size(6, measure(repository).git_bytes, 3)


def test_no_repository_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="is in no git repository"):
        measure(tmp_path)


def test_the_load_scenarios_have_their_agents(tmp_path: Path) -> None:
    repository = verbose(tmp_path / "verbose")
    scripts = sorted((repository / "agents").iterdir())
    assert len(scripts) == 10
    assert all(script.stat().st_mode & 0o111 for script in scripts)
