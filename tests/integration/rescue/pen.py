"""A host of 512 MiB with agents in it: real cgroups, v1 or v2, below one that has this limit.

Everything is as the daemon and the local driver leave it: `keeper/home`, facts, marks, the names of
the cgroups. Nothing here comes near the memory of the machine itself.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from paddock.cgroups.group import Group, Walls
from paddock.cgroups.v1 import Group1
from paddock.rescue.killing import thaw_all
from tests.kit import leaks
from tests.kit.ceiling import fresh_group
from tests.kit.house import PADDOCK
from tests.kit.waiting import until

MIB = 2**20
LIMIT_BYTES = 512 * MIB
# Joins before it becomes the program, so that nothing of it is counted elsewhere.
JOIN = 'for file in $JOIN; do echo 0 > "$file" || exit 99; done; exec "$@"'
HOLD = """
import signal, subprocess, sys, time
if "deaf" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "child" in sys.argv:
    subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(120)"],
                     start_new_session=True, env={})
held = bytearray(b"x") * (int(sys.argv[1]) << 20)
print("holding", flush=True)
time.sleep(120)
"""


class Pen:
    def __init__(self, directory: Path, ceiling: Group) -> None:
        self.state = directory / "state"
        (self.state / "keeper/attempts").mkdir(parents=True)
        # Its own: by it rescue finds whom to kill, also in a test that runs beside this one.
        self.instance = secrets.token_hex(8)
        (self.state / "instance").write_text(self.instance + "\n")
        self.ceiling = ceiling
        self.home = ceiling.child(f"paddock-{self.instance}")
        self.mark = f"pen-{self.instance}"
        self.env = {
            "PATH": os.environ["PATH"],
            "PADDOCK_STATE": str(self.state),
            "TEST_MARK": self.mark,
        }
        self._started: list[subprocess.Popen[str]] = []

    def move_in(self) -> None:
        for group in (self.home, self.home.child("fleet")):
            group.ensure()
            group.hand_down()
        self.home.child("supervisor").ensure()
        version, paths = 1, {"unified": self.home.path}
        if isinstance(self.home, Group1):
            paths = dict(self.home.directories)
        else:
            version = 2
        said = {"version": version, "directories": paths}
        (self.state / "keeper/home").write_text(json.dumps(said))

    @property
    def fleet(self) -> Group:
        return self.home.child("fleet")

    def agent(
        self, run: str, megabytes: int = 1, *words: str, walled: bool = True, **facts: Any
    ) -> subprocess.Popen[str]:
        """Holds so much and waits for its end."""
        process = self.filling(run, megabytes, *words, walled=walled, **facts)
        _await(process)
        return process

    def filling(
        self, run: str, megabytes: int, *words: str, walled: bool = True, **facts: Any
    ) -> subprocess.Popen[str]:
        """Not yet holding it: somebody may kill it first."""
        known = {"run": run, "attempt": 1, "name": f"the-{run}", "priority": 2, "begun_at": 1.0}
        known |= {"limit_bytes": 2**28, "expected_bytes": 2**28, "group": "tests"}
        path = self.state / f"keeper/attempts/{run}.1.facts"
        path.write_text(json.dumps(known | facts))
        group = self._leaf(run) if walled else self.ceiling.child("outside")
        return self._start(group, megabytes, *words, env=self.marked(run))

    def marked(self, run: str) -> dict[str, str]:
        return self.env | {"PADDOCK_ATTEMPT": f"{self.instance}.{run}.1"}

    def _leaf(self, run: str) -> Group:
        attempt = self.fleet.child(f"{run}.1")
        attempt.ensure()
        attempt.hand_down()
        attempt.set(Walls(limit_bytes=LIMIT_BYTES, pids=100))
        main = attempt.child("main")
        main.ensure()
        return main

    def hold(
        self, group: Group, megabytes: int, *words: str, env: dict[str, str] | None = None
    ) -> subprocess.Popen[str]:
        process = self._start(group, megabytes, *words, env=env or self.env)
        _await(process)
        return process

    def _start(
        self, group: Group, megabytes: int, *words: str, env: dict[str, str]
    ) -> subprocess.Popen[str]:
        group.ensure()
        hold = [sys.executable, "-I", "-S", "-c", HOLD, str(megabytes), *words]
        process = subprocess.Popen(
            ["/bin/sh", "-c", JOIN, "sh", *hold],
            env=env | {"JOIN": " ".join(group.procs)},
            stdout=subprocess.PIPE,
            text=True,
        )
        self._started.append(process)
        return process

    def paddock(
        self, *words: str, within: Group | None = None, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        joins: tuple[str, ...] = ()
        if within is not None:
            within.ensure()
            joins = within.procs
        return subprocess.run(
            ["/bin/sh", "-c", JOIN, "sh", *PADDOCK, *words],
            env=(env or self.env) | {"JOIN": " ".join(joins)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def start(self, *words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*PADDOCK, *words], env=self.env, stdout=subprocess.PIPE, text=True
        )
        self._started.append(process)
        return process

    def end(self) -> None:
        self.ceiling.kill()
        thaw_all(self.ceiling)
        leaks.end(leaks.marked(self.mark))
        for process in self._started:
            process.communicate(timeout=30)
        # Processes that others left behind may still be leaving.
        until(self.ceiling.remove, within_s=30)


@contextmanager
def a_pen(directory: Path) -> Iterator[Pen]:
    ceiling = fresh_group(f"paddock-test-rescue-{secrets.token_hex(6)}")
    ceiling.make()
    try:
        ceiling.set(Walls(limit_bytes=LIMIT_BYTES))
        ceiling.hand_down()
        pen = Pen(directory, ceiling)
    except BaseException:
        ceiling.remove()
        raise
    try:
        yield pen
    finally:
        pen.end()


def _await(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "holding\n"


def gone(process: subprocess.Popen[str]) -> bool:
    return process.poll() is not None
