"""A stand-in for an agent's place: `paddock-…/fleet/RUN.1/main` with a wall, on v1 or v2."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from paddock.cgroups.group import Group, Walls
from paddock.cgroups.mounts import UNIFIED, top_of
from paddock.cgroups.v1 import WANTED, Group1
from paddock.cgroups.v2 import Group2
from tests.kit.waiting import until

_JOIN = 'for file in $0; do echo 0 >"$file" || exit 99; done; exec "$@"'
_numbers = itertools.count()

# A test runner in small: `-n N` workers (`auto`: as the variable says) that each take so many MB,
# wait until all of them have, and end. Whatever happens, it is over after a minute.
CREW = """\
#!{python} -IS
import os, signal, sys
signal.alarm(60)
words = sys.argv[1:]
wanted = words[words.index("-n") + 1] if "-n" in words else "1"
if wanted == "auto":
    wanted = os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS", "6")
ready, filled = os.pipe()
wait, go = os.pipe()
pids = []
for number in range(int(wanted)):
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        os.close(go)
        held = [bytearray(b"x" * 2**20) for _ in range({megabytes})]
        os.write(filled, b".")
        os.read(wait, 1)
        os._exit(0)
    pids.append(pid)
for _ in pids:
    os.read(ready, 1)
os.close(go)
codes = [os.waitpid(pid, 0)[1] for pid in pids]
print(len(pids), "workers,", sum(code == 0 for code in codes), "passed", flush=True)
sys.exit(0 if not any(codes) else 1)
"""
HOG = """\
import sys, time
held = [bytearray(b"x" * 2**20) for _ in range(int(sys.argv[1]))]
print("holding", flush=True)
time.sleep(float(sys.argv[2]))
"""

# An agent in small: runs its tests, reads why they were stopped, and does as it is told.
AGENT = """\
pytest -n 6 2>"$1"
echo "first: $?"
cat "$1"
workers=$(sed -n 's/.*; try -n \\([0-9]*\\)$/\\1/p' "$1")
pytest -n "$workers" && echo "agent: succeeded with $workers"
"""


class Pen:
    def __init__(self, group: Group, limit_mb: int) -> None:
        self.home = group
        self.attempt = group.child("fleet").child("RUN.1")
        self.main = self.attempt.child("main")
        for each in (group, group.child("fleet"), self.attempt):
            each.ensure()
            each.hand_down()
        self.attempt.set(Walls(limit_bytes=limit_mb << 20))
        self.main.ensure()
        self._started: list[subprocess.Popen[str]] = []

    @classmethod
    def on_v1(cls, limit_mb: int) -> Pen:
        name = _name()
        tops = {one: top for one in WANTED if (top := top_of(one)) is not None}
        return cls(Group1({one: f"{top}/{name}" for one, top in tops.items()}), limit_mb)

    @classmethod
    def on_v2(cls, limit_mb: int) -> Pen:
        return cls(Group2(f"{top_of(UNIFIED)}/{_name()}"), limit_mb)

    def start(self, *command: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _JOIN, " ".join(self.main.procs), *command],
            env={**os.environ, **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started.append(process)
        return process

    def run(
        self, *command: str, env: Mapping[str, str] | None = None, within_s: float = 60
    ) -> subprocess.CompletedProcess[str]:
        process = self.start(*command, env=env)
        out, err = process.communicate(timeout=within_s)
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    @staticmethod
    def plain(*command: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Outside any agent."""
        shell = ("/bin/sh", "-c", 'exec "$@"', "sh", *command)
        return subprocess.run(
            shell,
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def tools(self) -> list[str]:
        """The walls there are beside the agent."""
        return [name for name in self.attempt.children() if name != "main"]

    def remove(self) -> None:
        self.home.kill()
        for process in self._started:
            process.communicate(timeout=30)
        until(self.home.remove, within_s=30)


def _name() -> str:
    return f"paddock-test-{os.getpid()}-{next(_numbers)}"


def a_tool(directory: Path, name: str, text: str) -> Path:
    """An executable of this name."""
    directory.mkdir(exist_ok=True)
    path = directory / name
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def a_crew(directory: Path, megabytes: int, name: str = "pytest") -> Path:
    return a_tool(directory, name, CREW.format(python=sys.executable, megabytes=megabytes))


def wait_for(path: Path) -> str:
    """Shell that goes on when this file has something in it."""
    return f"while [ ! -s {path} ]; do :; done"


def path_of(shims: str | None, tools: Path) -> dict[str, str]:
    """As a run has it: shims first, then its own tools."""
    assert shims is not None
    return {"PATH": f"{shims}:{tools}:/usr/bin:/bin"}
