"""The house: every room is there, says what it is for, and imports only downwards."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
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


def rooms_known_to(room: Path) -> set[str]:
    """Other rooms that its modules import, wherever in a file that is said."""
    found = {
        name for path in ([room] if room.suffix else modules(room)) for name in _rooms_in(path)
    }
    return found - {room.stem}


def _rooms_in(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            module = str(node.module)
            names = [f"{module}.{one.name}" for one in node.names]
        elif isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        else:
            continue
        parts = (name.split(".") for name in names if name.startswith("paddock."))
        yield from (part[1] for part in parts if part[1] != "__version__")


def test_the_table_of_rooms_says_what_each_imports() -> None:
    page = (PROJECT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    told = {
        door.strip("/"): set(knows.split()) - {"–"}
        for door, knows in re.findall(r"^\| `([\w./]+)` \| .* \| ([^|]*) \|$", page, re.MULTILINE)
    }
    doors = {room for room in ROOMS if "/" not in room} | {"ports.py"}
    assert set(told) == doors
    assert told == {door: rooms_known_to(PACKAGE / door) for door in doors}


def test_no_room_is_left_out_of_a_contract_about_all_of_them() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = {one["name"]: one for one in project["tool"]["importlinter"]["contracts"]}
    everybody = {f"paddock.{room}" for room in [*ROOMS, "ports"] if "/" not in room}
    screens = {"paddock.client", "paddock.tui", "paddock.web"}
    for name, key, but in (
        ("The dashboards know only the client", "forbidden_modules", screens),
        ("The core imports nothing of paddock", "forbidden_modules", {"paddock.core"}),
        ("agent imports nothing of paddock", "forbidden_modules", {"paddock.agent"}),
        ("Nothing imports agent", "source_modules", {"paddock.agent"}),
    ):
        assert set(contracts[name][key]) == everybody - but, name


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
