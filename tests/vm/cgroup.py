"""A cgroup of a test: its files, starting a process in it, and its removal."""

from __future__ import annotations

import itertools
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tests.kit.guest_place import ROOT
from tests.kit.waiting import until

# The process joins before it becomes what it runs, so nothing of it is ever outside.
JOIN = 'echo 0 >"$0/cgroup.procs" && exec "$@"'
_numbers = itertools.count()


@dataclass
class Cgroup:
    """One directory below /sys/fs/cgroup."""

    path: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @classmethod
    def fresh(cls) -> Cgroup:
        made = cls(ROOT / f"paddock-test-{os.getpid()}-{next(_numbers)}")
        made.path.mkdir()
        return made

    def child(self, name: str, controllers: str = "+memory +pids") -> Cgroup:
        self.write("cgroup.subtree_control", controllers)
        (self.path / name).mkdir()
        return Cgroup(self.path / name, self.started)

    def read(self, name: str) -> str:
        return (self.path / name).read_text(encoding="ascii").strip()

    def write(self, name: str, value: object) -> None:
        (self.path / name).write_text(str(value), encoding="ascii")

    def counts(self, name: str) -> dict[str, int]:
        """A file of lines like `oom_kill 1`."""
        return {key: int(value) for key, value in map(str.split, self.read(name).splitlines())}

    def pids(self) -> list[int]:
        return [int(pid) for pid in self.read("cgroup.procs").split()]

    def start(self, *command: str, new_session: bool = False) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            ["/bin/sh", "-c", JOIN, self.path, *command],
            start_new_session=new_session,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.started.append(process)
        return process

    def is_empty(self) -> bool:
        return self.counts("cgroup.events")["populated"] == 0

    def remove(self) -> None:
        self.write("cgroup.kill", 1)
        for process in self.started:
            process.communicate(timeout=30)
        until(self.is_empty, within_s=30)
        for below in sorted(self.path.rglob("*/"), reverse=True):
            below.rmdir()
        self.path.rmdir()
