"""The house: every room is there, says what it is for, and imports only downwards."""

import ast
import subprocess
import sys
from pathlib import Path

from tests.architecture.source import PACKAGE, PROJECT, imported, modules, short, tree

ROOMS = [
    *("core", "drivers", "storage", "workspaces", "logs", "host", "config", "supervisor"),
    *("wire", "api", "client", "cli", "tui", "web", "rehearsal", "rescue", "daemon"),
    *("simulate", "bench"),
    *("observe", "agent", "cgroups", "tool", "stream", "cluster", "controller", "manifests"),
    *(f"drivers/{driver}" for driver in ("local", "container", "kubernetes", "fake")),
]
BANNED_NAMES = {"utils", "helpers", "common", "base", "manager", "misc"}


def test_every_room_of_the_map_is_there_and_no_other() -> None:
    found = {path.parent.relative_to(PACKAGE) for path in PACKAGE.rglob("__init__.py")}
    top = {str(room) for room in found if len(room.parts) == 1}
    assert top == {room for room in ROOMS if "/" not in room}
    assert set(map(Path, ROOMS)) <= found


def test_imports_point_down() -> None:
    lint = Path(sys.executable).parent / "lint-imports"
    found = subprocess.run(
        [lint, "--no-cache"], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout


def test_every_module_opens_with_one_line_that_says_what_it_is_for() -> None:
    for path in modules():
        text = ast.get_docstring(tree(path))
        assert text, f"{short(path)} has no docstring"
        first, *rest = text.splitlines()
        assert first.endswith((".", ":")), f"{short(path)}: the first line is no sentence"
        assert not rest or rest[0] == "", f"{short(path)}: the docstring opens with two lines"


def test_no_module_has_a_name_that_says_nothing() -> None:
    names = {short(path): path.stem for path in [*modules(), *modules(PROJECT / "tests")]}
    assert [path for path, name in names.items() if name in BANNED_NAMES] == []


def test_what_an_agent_may_import_needs_only_the_standard_library() -> None:
    found = [
        f"{short(path)}:{line} imports {name}"
        for path in modules(PACKAGE / "agent")
        for line, name in imported(path)
        if name not in sys.stdlib_module_names
    ]
    assert found == []
