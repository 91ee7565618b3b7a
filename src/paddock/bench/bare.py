"""A command without paddock: the same samples of it, to see what paddock adds.

Counted as a cgroup counts: memory that no file backs, and each page once, however many processes
share it after a fork. Resident sizes added up would be twice that for a program with children.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from .watching import MIB

_HELD: Final = re.compile(rb"^Pss_(?:Anon|Shmem): +(\d+) kB", re.MULTILINE)
_PAGE: Final = os.sysconf("SC_PAGESIZE")


class Bare(NamedTuple):
    code: int
    wall_s: float
    cpu_s: float
    memory: list[tuple[float, float]]  # seconds, MiB of all its processes

    @property
    def peak_mib(self) -> float:
        return max((value for _, value in self.memory), default=0.0)


def run_bare(
    command: Sequence[str],
    directory: Path,
    *,
    every_s: float,
    env: Mapping[str, str] | None = None,
) -> Bare:
    """In a session of its own; what it leaves in there is ended with it."""
    began = time.monotonic()
    child = subprocess.Popen(
        command,
        cwd=directory,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    memory: list[tuple[float, float]] = []
    try:
        while True:
            pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            if pid:
                break
            memory.append((time.monotonic() - began, _session_bytes(child.pid) / MIB))
            _until_end(child, every_s)
    except BaseException:
        _end(child.pid)
        child.wait()
        raise
    wall_s = time.monotonic() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    _end(child.pid)
    return Bare(child.returncode, wall_s, usage.ru_utime + usage.ru_stime, memory)


def _until_end(child: subprocess.Popen[bytes], within_s: float) -> None:
    """Not reaped here: `wait4` is asked for what it used."""
    give_up_at = time.monotonic() + within_s
    flags = os.WEXITED | os.WNOWAIT | os.WNOHANG
    while time.monotonic() < give_up_at:
        if os.waitid(os.P_PID, child.pid, flags) is not None:
            return
        time.sleep(min(0.005, within_s))


def _session_bytes(session: int) -> int:
    total = 0
    for name in os.listdir("/proc"):  # noqa: PTH208 - quicker
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            held = _held_bytes(name)
            total += int(fields[21]) * _PAGE if held is None else held
    return total


def _held_bytes(pid: str) -> int | None:
    """None where the kernel does not tell us: of somebody else's process, or an old one."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:  # noqa: PTH123
            found = _HELD.findall(file.read())
    except OSError:
        return None
    return sum(map(int, found)) * 1024 if found else None


def _end(session: int) -> None:
    try:
        os.killpg(session, signal.SIGKILL)
    except ProcessLookupError:
        return
