"""What rescue brings into memory: as little as can be, and all of it before it acts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    *("asyncio", "apsw", "httptools", "logging", "msgspec", "platformdirs", "pydantic", "rich"),
    *("sortedcontainers", "starlette", "subprocess", "uvicorn", "yaml"),
}
SLOW = {"paddock.core.run", "paddock.core.policy", "paddock.core.events", "paddock.host.memory"}
LOOK = """
import sys
from paddock.cli.main import main
main({words!r})
print(*sys.modules)
"""


@pytest.mark.parametrize(
    "words",
    [
        ["relieve"],
        ["relieve", "--dry-run", "--json"],
        ["watch", "--interval", "2h"],
        ["cgroup", "exec", "nobody-made-this", "--", "true"],
    ],
)
def test_nothing_heavy_is_imported(words: list[str], tmp_path: Path) -> None:
    code = LOOK.format(words=words)
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PADDOCK_STATE": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    modules = set(found.stdout.splitlines()[-1].split())
    assert {name.partition(".")[0] for name in modules} & HEAVY == set()
    assert modules & SLOW == set()


def test_nothing_is_imported_once_it_acts() -> None:
    """A machine without memory may not be able to read a module from disk any more."""
    code = (
        "import sys\n"
        "import paddock.rescue.machine, paddock.rescue.relief, paddock.cli.relieve as cli\n"
        "from paddock.rescue.ladder import Goal\n"
        "machine = paddock.rescue.machine.Machine('/nowhere')\n"
        "machine.prepare()\n"
        "before = set(sys.modules)\n"
        "relief = paddock.rescue.relief.relieve(machine, Goal(99.9), round_s=0.1)\n"
        "cli.summary(relief), cli.as_object(relief)\n"
        "print(set(sys.modules) - before)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"
