"""Which process the kernel killed at a wall: from its log where we may read it, else the largest.

The log's line names the cgroup, the process and its size; `/dev/kmsg` is for root on most hosts.
"""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from paddock.core.units import format_size

KMSG: Final = "/dev/kmsg"
RECORD: Final = 8192
KEPT: Final = 256
LONGEST_COMMAND: Final = 80
PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_CHOSEN: Final = re.compile(rb"oom-kill:.*task_memcg=([^,]*),task=.*,pid=(\d{1,20})")
_KILLED: Final = re.compile(rb"[Kk]illed process (\d{1,20}) \((.*)\).* anon-rss:(\d{1,20})kB")


class KernelLog:
    """What the kernel says about kills from now on."""

    def __init__(self, path: str = KMSG) -> None:
        self._victims: OrderedDict[str, str] = OrderedDict()  # by cgroup, as the kernel names it
        self._cgroup: tuple[bytes, bytes] = (b"", b"")
        try:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self._descriptor, 0, os.SEEK_END)
        except OSError:
            self._descriptor = -1

    def victim(self, leaf: str) -> str | None:
        """Of the cgroup whose path ends so, or of one below it."""
        self._read()
        for cgroup in reversed(self._victims):
            if f"{cgroup}/".find(f"/{leaf}/") >= 0:
                return self._victims[cgroup]
        return None

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _read(self) -> None:
        while self._descriptor >= 0:
            try:
                record = os.read(self._descriptor, RECORD)
            except BrokenPipeError:
                continue  # some were overwritten before we came: go on with what is left
            except OSError:
                return
            if not record:
                return
            self._hear(record)

    def _hear(self, record: bytes) -> None:
        chosen = _CHOSEN.search(record)
        if chosen is not None:
            self._cgroup = (chosen[1], chosen[2])
            return
        killed = _KILLED.search(record)
        if killed is None or killed[1] != self._cgroup[1]:
            return
        size = format_size(int(killed[3]) * 1024)
        name = killed[2].decode("utf-8", "replace")
        self._victims[os.fsdecode(self._cgroup[0])] = f"{name} (process {int(killed[1])}, {size})"
        while len(self._victims) > KEPT:
            self._victims.popitem(last=False)


def largest(pids: Iterable[int]) -> str | None:
    """The largest of these processes, with its command, for people."""
    sizes = ((_resident_bytes(pid), pid) for pid in pids)
    size_bytes, pid = max(sizes, default=(0, 0))
    if not size_bytes:
        return None
    words = _proc(pid, "cmdline").replace(b"\0", b" ").decode("utf-8", "replace").strip()
    shown = "".join(each if each.isprintable() else "?" for each in words)[:LONGEST_COMMAND]
    return f"{shown or 'a process'} (process {pid}, {format_size(size_bytes)})"


def _resident_bytes(pid: int) -> int:
    fields = _proc(pid, "statm").split()
    return int(fields[1]) * PAGE_BYTES if len(fields) > 1 else 0


def _proc(pid: int, name: str) -> bytes:
    """Of one that is gone, nothing."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:  # noqa: PTH123  a path object costs as much
            return file.read()
    except OSError:
        return b""
