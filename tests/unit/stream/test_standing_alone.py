"""The relay runs from its directory alone, and small: nothing of paddock, nothing heavy."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from paddock import stream

ROOM = Path(stream.__file__).parent
HEAVY = (
    "typing",
    "dataclasses",
    "asyncio",
    "threading",
    "pathlib",
    "signal",
    "ctypes",
    "subprocess",
)


def test_it_imports_only_itself_and_the_standard_library() -> None:
    for path in ROOM.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names = [node.module]
            assert [
                name for name in names if name.split(".")[0] not in sys.stdlib_module_names
            ] == []


def test_nothing_heavy_is_loaded() -> None:
    code = (
        f"import sys; sys.path.append({str(ROOM.parent)!r}); import stream.relay; "
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


def test_its_command_names_this_very_place() -> None:
    assert stream.command()[-1] == str(ROOM)
    assert stream.command()[0] == sys.executable
