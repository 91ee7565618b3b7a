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

from .members import DEAD_STATES, look_at, mark_in, read_proc, scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from .members import Leads, Process


class Strays:
    """Whose each orphan is. A pid is an identity here: nobody else gets it until we reap it."""

    __slots__ = ("_owners",)

    def __init__(self) -> None:
        self._owners: dict[int, str] = {}  # "": nobody's

    def reaped(self, pid: int) -> None:
        self._owners.pop(pid, None)

    def held(self, mains: Container[int], leads: Callable[[], Leads]) -> tuple[set[str], bool]:
        """The attempts that have some; False if one ended just now: reap it and look again."""
        orphans = [pid for pid in own_children() if pid not in mains]
        unknown = [pid for pid in orphans if pid not in self._owners]
        known = leads() if unknown else None
        certain = True
        for pid in unknown:
            process = look_at(pid)
            if process is None or process.state in DEAD_STATES:
                certain = False  # what it leaves behind may be missing in the list
            elif known is not None:
                self._meet(process, known)
        return {owner for pid in orphans if (owner := self._owners.get(pid))}, certain

    def _meet(self, process: Process, leads: Leads) -> None:
        environ = read_proc(process.pid, "environ")
        owner = leads.marks.get(mark_in(environ) or "") or _by_session(process, leads)
        if owner or environ:  # in the middle of an exec it reads empty: then it is met again
            self._owners[process.pid] = owner or ""


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
