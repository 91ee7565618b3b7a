"""Cgroups of a test's own on this machine, v1 or v2, and processes in them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.kit.waiting import until

# Joins a cgroup before it becomes the program, so that nothing of it is counted elsewhere.
_JOIN = 'echo 0 > "$0/cgroup.procs" && exec "$@"'


class OwnCgroup:
    """A directory below the mount, removed with all that lives in it."""

    def __init__(self, mount: Path, name: str) -> None:
        self.path = mount / f"paddock-test-{os.getpid()}-{name}"
        self.path.mkdir()
        self._processes: list[subprocess.Popen[bytes]] = []

    def write(self, file: str, text: str) -> None:
        (self.path / file).write_text(text, encoding="ascii")

    def start(self, script: str, *args: str) -> subprocess.Popen[bytes]:
        return self._start([sys.executable, "-c", script, *args])

    def _start(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _JOIN, str(self.path), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._processes.append(process)
        return process

    def end(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.communicate()
        self._processes.clear()

    def remove(self) -> None:
        self.end()
        if self.path.exists():
            until(self._gone)

    def _gone(self) -> bool:
        """The kernel may still be counting what its last process had."""
        try:
            self.path.rmdir()
        except OSError:
            return False
        return True


def mount_of(kind: str, option: str = "") -> Path | None:
    """Where a hierarchy is mounted whole: `cgroup2`, or `cgroup` with a controller."""
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        before, _, after = line.partition(" - ")
        fields, (found, _, options) = before.split(" "), after.split(" ", 2)
        wanted = not option or option in options.split(",")
        if found == kind and wanted and os.access(fields[4], os.W_OK):
            return Path(fields[4])
    return None
