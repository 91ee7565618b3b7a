"""What agents orphaned: the keeper's children that are no attempt's main process.

The keeper is a subreaper, so every process of an attempt hangs below one of its children. Whether
an attempt is empty is then one read of the list of those children (78 µs with 300 of them), not a
look at every process of the machine, and it changes only when one of them is reaped.

The kernel calls this list unreliable, because children may leave it while it is read. Ours do not:
they stay in it, as zombies, until we reap them, and new ones go to its end. So a process that was
orphaned while we read either is in the list, or its parent still was when we came past.
"""

# pathlib would cost 1.4 MB and contextlib 0.6 MB of memory.
# ruff: noqa: PTH123
from __future__ import annotations

import os

from .members import DEAD_STATES, look_at, mark_in, read_environ, scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from .members import Leads, Process


class Strays:
    """Whose each orphan is. A pid is an identity here: nobody else gets it until we reap it."""

    __slots__ = ("_doubted", "owners")

    def __init__(self) -> None:
        self.owners: dict[int, str] = {}  # "": nobody's
        self._doubted: set[int] = set()

    def reaped(self, pid: int) -> None:
        self.owners.pop(pid, None)
        self._doubted.discard(pid)

    def held(self, mains: Container[int], leads: Callable[[], Leads]) -> tuple[set[str], set[int]]:
        """The attempts that have some, and who ended just now: reap those and look again, because
        what they leave behind may be missing in the list."""
        orphans = [pid for pid in own_children() if pid not in mains]
        unknown = [pid for pid in orphans if pid not in self.owners]
        known = leads() if unknown else None
        doubt = set()
        for pid in unknown:
            process = look_at(pid)
            if process is None or process.state in DEAD_STATES:
                doubt.add(pid)
            elif known is not None:
                self._meet(process, known)
        return {owner for pid in orphans if (owner := self.owners.get(pid))}, doubt

    def are_new(self, doubt: set[int]) -> bool:
        """Who was doubted before and is still not reaped is held by a tracer: nobody's."""
        new = not doubt <= self._doubted
        self._doubted |= doubt
        return new

    def of(self, names: Container[str], mains: Container[int], leads: Leads) -> list[Process]:
        """Those attempts' orphans, and the dead of their sessions: all unreaped children of ours,
        so that neither their pids nor the numbers of their groups can be anybody else's."""
        found = []
        for pid in own_children():
            process = look_at(pid) if pid not in mains else None
            if process is None:
                continue
            if pid not in self.owners and process.state not in DEAD_STATES:
                self._meet(process, leads)
            if (self.owners.get(pid) or _by_session(process, leads)) in names:
                found.append(process)
        return found

    def _meet(self, process: Process, leads: Leads) -> None:
        environ = read_environ(process.pid)
        # Its session first: that one nobody can put on, as they can a mark.
        owner = _by_session(process, leads) or leads.marks.get(mark_in(environ) or "")
        if owner or environ:  # in the middle of an exec it reads empty: then it is met again
            self.owners[process.pid] = owner or ""


def _by_session(process: Process, leads: Leads) -> str | None:
    if process.session in leads.mains:
        return leads.mains[process.session]
    if process.session in leads.ended and look_at(process.session) is None:
        return leads.ended[process.session]
    return None


def own_children() -> list[int]:
    pid = os.getpid()
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb", buffering=0) as file:
            return [int(word) for word in file.read().split()]
    except OSError:  # a kernel without CONFIG_PROC_CHILDREN
        return [one.pid for one in scan(dead=True).values() if one.parent == pid]
