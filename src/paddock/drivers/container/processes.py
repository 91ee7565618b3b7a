"""The processes of a container as this host sees them: who is alive, whose child, who may be told.

Signals go through pidfds that were opened while the process was seen in the cgroup.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent: int
    state: str
    start: int  # ticks since boot; with the pid it names one process for ever


def look_at(pid: int) -> Process | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123  a path object costs as much
            fields = file.read().rpartition(b")")[2].split()
        return Process(pid, int(fields[1]), fields[0].decode(), int(fields[19]))
    except (OSError, IndexError, ValueError):
        return None


def living(pids: Iterable[int]) -> list[Process]:
    """A zombie holds nothing, and has nothing to be told."""
    found = (look_at(pid) for pid in pids)
    return [process for process in found if process is not None and process.state not in "ZX"]


def main_of(processes: Iterable[Process], shim: int) -> Process | None:
    """The shim's oldest child: orphans that came to it were born after the agent."""
    children = [process for process in processes if process.parent == shim]
    return min(children, key=lambda process: process.start, default=None)


def send(pids: Iterable[int], number: int, *, still_there: Callable[[], Iterable[int]]) -> bool:
    """To those that are still there once they cannot be mistaken any more. False: not allowed."""
    opened: dict[int, int] = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            opened[pid] = os.pidfd_open(pid)
    allowed = True
    try:
        there = set(still_there())
        for pid in opened.keys() & there:
            try:
                signal.pidfd_send_signal(opened[pid], number)
            except PermissionError:
                allowed = False
            except ProcessLookupError:
                continue
    finally:
        for descriptor in opened.values():
            os.close(descriptor)
    return allowed


def is_harmed_by(pid: int, number: int) -> bool:
    """By a polite signal (soft timeout, checkpoint). The shim leaves them ignored, but Node sets
    all back to their defaults: SIGUSR2 kills it, and SIGUSR1 opens a debugger's port."""
    with contextlib.suppress(OSError):
        if os.readlink(f"/proc/{pid}/exe").rpartition("/")[2].startswith("node"):  # noqa: PTH115
            return True
    try:
        with open(f"/proc/{pid}/status", "rb") as file:  # noqa: PTH123
            masks = dict(line.split(b":\t", 1) for line in file if b":\t" in line)
    except OSError:
        return True
    heeded = int(masks.get(b"SigIgn", b"0"), 16) | int(masks.get(b"SigCgt", b"0"), 16)
    return not heeded >> (number - 1) & 1
