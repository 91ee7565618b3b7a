"""What ties the driver to a living container: its shim's pidfd, two FIFOs and its cgroup.

Only where containers are processes of this kernel.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable

from paddock.cgroups.group import Group
from paddock.drivers.container.cgroup import group_of
from paddock.drivers.container.moving import open_fifo
from paddock.drivers.container.naming import Box
from paddock.drivers.container.processes import Process, living, look_at


class Tether:
    """`rung`: the shim wrote something down. `gone`: it has ended, and with it the container."""

    def __init__(
        self, shim: Process, box: Box, *, rung: Callable[[], None], gone: Callable[[], None]
    ) -> None:
        self.shim = shim
        self.last_word = ""
        self._rung, self._gone = rung, gone
        self._loop = asyncio.get_running_loop()
        self._descriptors: list[int] = []
        try:
            self._pidfd = self._kept(os.pidfd_open(shim.pid))
            if not is_same(shim):
                raise ProcessLookupError(f"process {shim.pid} is another one now")
            self._bell = self._kept(open_fifo(box.file("bell")))
            self._word = self._kept(open_fifo(box.file("word")))
            found = group_of(shim.pid)
            if found is None:
                raise OSError("the cgroup of its container cannot be seen")
        except BaseException:
            self._close_descriptors()
            raise
        self.group: Group = found
        self._loop.add_reader(self._bell, self._heard)
        self._loop.add_reader(self._pidfd, self._ended)

    def say(self, word: str) -> None:
        """Stays in the FIFO until the shim reads it; a full one is full of the same words."""
        with contextlib.suppress(BlockingIOError):
            os.write(self._word, f"{word}\n".encode())

    def pids(self) -> list[int]:
        """All but the shim."""
        return [pid for pid in self.group.pids() if pid != self.shim.pid]

    def members(self) -> list[Process]:
        return living(self.pids())

    def close(self) -> None:
        if self._descriptors:
            self._loop.remove_reader(self._bell)
            self._loop.remove_reader(self._pidfd)
            self._close_descriptors()

    def _heard(self) -> None:
        with contextlib.suppress(BlockingIOError):
            words = os.read(self._bell, 4096).decode("ascii", "replace").split("\n")
            self.last_word = next((word for word in reversed(words) if word), "")
        self._rung()

    def _ended(self) -> None:
        self._loop.remove_reader(self._pidfd)
        self._gone()

    def _kept(self, descriptor: int) -> int:
        self._descriptors.append(descriptor)
        return descriptor

    def _close_descriptors(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()


def is_same(process: Process) -> bool:
    """A pid may be another's by now; with its start time it is not."""
    now = look_at(process.pid)
    return now is not None and now.start == process.start
