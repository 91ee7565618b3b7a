"""What a test leaves behind: processes that carry its mark, and descriptors of our own."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from paddock.drivers.local.keeper.members import look_at, read_proc, scan, send


def marked(mark: str) -> dict[int, int]:
    """Live processes with this text anywhere in their environment: pid and start."""
    wanted = mark.encode()
    return {
        process.pid: process.start
        for process in scan().values()
        if wanted in read_proc(process.pid, "environ")
    }


def commanded(word: str) -> dict[int, int]:
    """Live processes with this text in their command, but for ourselves: pid and start."""
    wanted, own = word.encode(), os.getpid()
    return {
        process.pid: process.start
        for process in scan().values()
        if process.pid != own and wanted in read_proc(process.pid, "cmdline")
    }


def is_alive(pid: int) -> bool:
    process = look_at(pid)
    return process is not None and process.state not in "ZX"


def descriptors() -> dict[str, str]:
    """Ours, with what each is; the one that reads the list is not in it."""
    found = {}
    for link in Path("/proc/self/fd").iterdir():
        try:
            found[link.name] = str(link.readlink())
        except OSError:
            continue
    return found


def end(processes: dict[int, int]) -> None:
    """So that one failed test does not fail those after it."""
    for pid, start in processes.items():
        send(pid, start, signal.SIGKILL)


def cpu_s(pid: int) -> float:
    fields = read_proc(pid, "stat").rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid: int) -> int:
    return int(read_proc(pid, "statm").split()[1]) * os.sysconf("SC_PAGE_SIZE")
