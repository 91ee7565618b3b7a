"""Where a paddock makes its cgroups, on machines made of files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paddock.cgroups.home import NoHome, find_home
from paddock.cgroups.mounts import UNIFIED, cgroups_of, directories_of, mounts
from paddock.cgroups.v1 import Group1


class Tree:
    """A machine of directories: /proc and the mounted hierarchies."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.proc = root / "proc"
        (self.proc / "self").mkdir(parents=True)
        self._mounts: list[str] = []
        self._own: list[str] = []

    def mount(self, kind: str, options: str, point: str, *, top: str = "/") -> Path:
        path = self.root / point.lstrip("/")
        path.mkdir(parents=True, exist_ok=True)
        self._mounts.append(f"31 24 0:26 {top} {path} rw shared:9 - {kind} {kind} rw,{options}")
        (self.proc / "self/mountinfo").write_text("\n".join(self._mounts), encoding="utf-8")
        return path

    def live_in(self, controllers: str, cgroup: str) -> None:
        self._own.append(f"{len(self._own)}:{controllers}:{cgroup}")
        (self.proc / "self/cgroup").write_text("\n".join(self._own), encoding="utf-8")

    def v2(self, cgroup: str, *, here: str = "", handed: str = "", pids: str = "") -> Path:
        """A cgroup of the unified hierarchy, with its files."""
        path = self.root / "sys/fs/cgroup" / cgroup.lstrip("/")
        path.mkdir(parents=True, exist_ok=True)
        files = {"controllers": here, "subtree_control": handed, "procs": pids, "events": ""}
        for name, text in files.items():
            (path / f"cgroup.{name}").write_text(text, encoding="ascii")
        return path

    def home(self) -> str:
        found = find_home("x", proc=str(self.proc))
        return str(Path(found.group.path).relative_to(self.root))


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


@pytest.fixture
def unified(tree: Tree) -> Tree:
    tree.mount("cgroup2", "", "/sys/fs/cgroup")
    tree.v2("/", here="memory pids cpu", handed="memory pids cpu")
    return tree


def test_alone_in_its_cgroup_it_builds_right_there(unified: Tree) -> None:
    unified.live_in("", "/app.scope")
    unified.v2("/app.scope", here="memory pids", pids=f"{os.getpid()}\n")
    assert unified.home() == "sys/fs/cgroup/app.scope/paddock-x"


def test_among_others_it_builds_above_them(unified: Tree) -> None:
    unified.live_in("", "/a/b")
    unified.v2("/a", here="memory", handed="memory")
    unified.v2("/a/b", here="memory", pids="1\n2\n")
    assert unified.home() == "sys/fs/cgroup/a/paddock-x"


def test_a_limit_around_it_is_not_left_behind(unified: Tree) -> None:
    unified.live_in("", "/a/b")
    unified.v2("/a", here="memory", handed="memory")
    limited = unified.v2("/a/b", here="memory", pids="1\n2\n")
    (limited / "memory.max").write_text("1000000\n", encoding="ascii")
    with pytest.raises(NoHome, match="has a memory limit and other processes in it"):
        unified.home()


def test_one_that_was_here_before_stays(unified: Tree) -> None:
    unified.live_in("", "/q/paddock-x/supervisor")
    unified.v2("/q/paddock-x/supervisor", here="memory")
    assert unified.home() == "sys/fs/cgroup/q/paddock-x"


def test_a_host_that_was_set_up_has_a_place_for_it(unified: Tree) -> None:
    unified.live_in("", "/a")
    unified.v2("/a", here="memory", pids="1\n")
    unified.v2("/paddock", here="memory pids cpu", handed="memory pids cpu")
    assert unified.home() == "sys/fs/cgroup/paddock/paddock-x"


def test_a_hybrid_host_has_its_walls_in_the_old_hierarchies(tree: Tree) -> None:
    tree.mount("cgroup2", "", "/sys/fs/cgroup/unified")
    for name in ("memory", "pids", "freezer"):
        (tree.mount("cgroup", name, f"/sys/fs/cgroup/{name}") / "own").mkdir()
        tree.live_in(name, "/own")
    tree.live_in("", "/")
    found = find_home("x", proc=str(tree.proc))
    assert found.version == 1
    assert isinstance(found.group, Group1)
    assert tuple(found.group.directories) == ("memory", "pids", "freezer")
    assert found.group.path == str(tree.root / "sys/fs/cgroup/memory/own/paddock-x")


def test_without_any_it_says_what_is_missing(tree: Tree) -> None:
    with pytest.raises(NoHome, match="cgroup v2 is not mounted; cgroup v1 has no memory"):
        tree.home()


def test_in_a_container_only_a_part_is_mounted(tree: Tree) -> None:
    tree.mount("cgroup", "memory", "/sys/fs/cgroup/memory", top="/docker/abc")
    tree.live_in("memory", "/docker/abc/inner")
    tree.live_in("pids", "/docker/abc")
    found = directories_of(proc=str(tree.proc))
    assert found == {"memory": str(tree.root / "sys/fs/cgroup/memory/inner")}


def test_lines_that_make_no_sense_are_passed_over(tree: Tree) -> None:
    (tree.proc / "self/mountinfo").write_text("garbage\n31 24 - cgroup2\n\n", encoding="utf-8")
    (tree.proc / "self/cgroup").write_text("nonsense\n0::/a\n5:cpu,cpuacct:/b\n", encoding="utf-8")
    assert mounts(str(tree.proc)) == []
    found = cgroups_of(proc=str(tree.proc))
    assert (found[UNIFIED], found["cpu"], found["cpuacct"]) == ("/a", "/b", "/b")


@pytest.mark.parametrize("sign", ["\x0b", "\x0c", "\x1c", "\x1e", "\x85", "\u2028", "\u2029", "\r"])
def test_a_name_with_other_line_ends_is_no_line_of_its_own(tree: Tree, sign: str) -> None:
    """An agent that may make cgroups chooses their names; and of mounts, whose spaces the kernel
    writes in octal, there is one a line."""
    point = f"/mnt/x{sign}31"
    line = f"22 1 8:1 / {point} rw - cgroup2 none rw\n"
    (tree.proc / "self/mountinfo").write_text(line, encoding="utf-8", newline="\n")
    assert [mount.point for mount in mounts(str(tree.proc))] == [point]
    own = f"0::/away{sign}0::/paddock-x/fleet/run.1/main\n"
    (tree.proc / "self/cgroup").write_text(own, encoding="utf-8", newline="\n")
    assert cgroups_of(proc=str(tree.proc)) == {UNIFIED: own.removeprefix("0::").rstrip("\n")}
