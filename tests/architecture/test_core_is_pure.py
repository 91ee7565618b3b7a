"""The core thinks and does nothing else: no clock, chance, files, processes, logs or loops."""

from pathlib import Path

import pytest

from tests.architecture.source import PACKAGE, called, imported, modules, short

# An allow-list, because the standard library has many doors to the outside (time, datetime,
# random, os, io, pathlib, asyncio, threading, logging, subprocess, socket …).
ALLOWED_IMPORTS = {
    *("__future__", "abc", "array", "bisect", "collections", "copy", "dataclasses", "decimal"),
    *(
        "enum",
        "fractions",
        "functools",
        "graphlib",
        "hashlib",
        "heapq",
        "itertools",
        "math",
        "numbers",
    ),
    *("operator", "re", "statistics", "string", "struct", "textwrap", "types", "typing", "zlib"),
    *("msgspec", "sortedcontainers", "paddock"),
}
BANNED_CALLS = {"open", "print", "input", "exec", "eval", "__import__", "breakpoint", "id", "hash"}


def impurities(path: Path) -> list[str]:
    imports = [
        f"{path.name}:{line} imports {name}"
        for line, name in imported(path)
        if name not in ALLOWED_IMPORTS
    ]
    calls = [
        f"{path.name}:{line} calls {name}()" for line, name in called(path) if name in BANNED_CALLS
    ]
    return imports + calls


@pytest.mark.parametrize("path", modules(PACKAGE / "core"), ids=short)
def test_the_core_reaches_nothing_outside(path: Path) -> None:
    assert impurities(path) == []


@pytest.mark.parametrize(
    "code",
    [
        *("import time", "from datetime import datetime", "import asyncio", "import logging"),
        *("import random", "import os.path", "def f():\n    import os", "open('x')", "print(1)"),
        *("from pathlib import Path", "hash('differs in every process')"),
    ],
)
def test_a_planted_impurity_is_found(tmp_path: Path, code: str) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text(code, encoding="utf-8")
    assert len(impurities(planted)) == 1
