"""A small host inside this one: a cgroup with a limit, for daemons, agents and their neighbours.

What a daemon in it calls the host's memory is this limit. Nothing here comes near the memory of the
machine itself.
"""

from __future__ import annotations

import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from paddock.bench import ceiling
from paddock.cgroups.group import Group
from paddock.cgroups.mounts import UNIFIED, directories_of, top_of
from paddock.cgroups.use import held_bytes
from paddock.cgroups.v1 import WANTED, Group1
from paddock.cgroups.v2 import Group2
from tests.kit.leaks import resident_bytes
from tests.kit.waiting import until

MIB = 2**20
AGENTS = Path(__file__).parent / "agents"


class Ceiling(ceiling.Ceiling):
    """With a neighbour. Whatever is left in the end is somebody's fault, and not ended."""

    def __init__(self, group: Group, limit_bytes: int) -> None:
        super().__init__(group, limit_bytes)
        self._neighbour: subprocess.Popen[str] | None = None
        self._held_mb = 0

    def used_bytes(self) -> int:
        """As the daemon's probe counts it."""
        return held_bytes(self.group.path, is_v2=isinstance(self.group, Group2)) or 0

    def without_neighbour_bytes(self) -> int:
        """What all others use: of a process that moves, what it had stays where it was charged."""
        neighbour = self._neighbour
        return self.used_bytes() - (resident_bytes(neighbour.pid) if neighbour else 0)

    def fill_to(self, percent: float) -> None:
        """A neighbour takes, or gives back, what makes it so much in all."""
        others = self.used_bytes() - self._held_mb * MIB
        wanted = self.limit_bytes * percent / 100 - others
        self.hold(max(0, int(wanted / MIB)))

    def hold(self, megabytes: int) -> None:
        neighbour = self._neighbour = self._neighbour or self._start_neighbour()
        assert neighbour.stdin is not None and neighbour.stdout is not None
        neighbour.stdin.write(f"{megabytes}\n")
        neighbour.stdin.flush()
        assert neighbour.stdout.readline() == f"{megabytes}\n", "the neighbour was killed"
        self._held_mb = megabytes

    def _start_neighbour(self) -> subprocess.Popen[str]:
        ballast = [sys.executable, "-I", "-S", str(AGENTS / "ballast.py")]
        pipe = subprocess.PIPE
        return subprocess.Popen([*self.join, *ballast], stdin=pipe, stdout=pipe, text=True)

    def let_go(self) -> None:
        """The neighbour leaves, with all it held; also one that the kernel has ended."""
        neighbour, self._neighbour, self._held_mb = self._neighbour, None, 0
        if neighbour is not None:
            neighbour.kill()
            with suppress(BrokenPipeError):
                neighbour.communicate(timeout=30)

    def end(self) -> None:
        self.let_go()
        # Processes that others left behind may still be leaving.
        until(self.group.remove, within_s=30)


@contextmanager
def a_ceiling(limit_bytes: int) -> Iterator[Ceiling]:
    group = fresh_group(f"paddock-test-{secrets.token_hex(6)}")
    with ceiling.raised(group, limit_bytes, Ceiling) as host:
        yield host


def fresh_group(name: str) -> Group:
    """In the machine's own v2 where that counts memory, as on most; else in v1. Not yet made."""
    top = top_of(UNIFIED)
    if top is not None and "memory" in Group2(top).handed_down():
        return Group2(f"{top}/{name}")
    own = directories_of()
    return Group1({each: own[each] for each in WANTED if each in own}).child(name)
