"""The probe for the machine this runs on."""

from __future__ import annotations

import sys
from typing import Protocol

from paddock.core.events import Host
from paddock.host.memory import LinuxProbe, MemoryUnreadable, Readings


class Probe(Protocol):
    """A HostProbe that also tells all it read, for people."""

    def sample(self) -> Host: ...

    def glance(self, last: Host) -> Host | None: ...

    def read(self) -> Readings: ...


def probe_for_this_machine(platform: str = sys.platform) -> Probe:
    """Raises MemoryUnreadable, in one line, where the machine cannot be read."""
    if platform == "linux":
        return LinuxProbe()
    if platform == "darwin":
        from paddock.host.macos import MacProbe

        return MacProbe()
    raise MemoryUnreadable(f"paddock can read Linux and macOS, and this is {platform}")
