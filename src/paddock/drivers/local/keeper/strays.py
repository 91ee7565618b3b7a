"""What agents orphaned: the keeper's children that are no attempt's main process.

The keeper is a subreaper, so every process of an attempt hangs below one of its children. Whether
an attempt is empty is then one read of the list of those children (78 µs with 300 of them), not a
look at every process of the machine, and it changes only when one of them is reaped.

The kernel calls this list unreliable, because children may leave it while it is read. Ours do not:
they stay in it, as zombies, until we reap them, and new ones go to its end. So a process that was
orphaned while we read either is in the list, or its parent still was when we came past.
"""

from __future__ import annotations

import os

from .members import DEAD_STATES, look_at, mark_in, read_environ, read_proc, scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from .members import Leads, Process

# For so long it is not known whose one is that nobody can look into. A zombie that is not reaped by
# then is held by a tracer, and who has not begun its program by then has none.
DOUBTED_AT_MOST_S = 2.0
LIST_BYTES = 1 << 16
ENV_START, ENV_END = 47, 48  # of /proc/PID/stat, after the name


class Strays:
    """Whose each orphan is. A pid is an identity here: nobody else gets it until we reap it."""

    __slots__ = ("_doubted", "owners")

    def __init__(self) -> None:
        self.owners: dict[int, str] = {}  # "": nobody's
        self._doubted: dict[int, float] = {}  # since when

    def reaped(self, pid: int) -> None:
        self.owners.pop(pid, None)
        self._doubted.pop(pid, None)

    def held(self, mains: Container[int], leads: Callable[[], Leads]) -> tuple[set[str], set[int]]:
        """The attempts that have some, and whom to look at again: who ended just now, because what
        those leave behind may be missing in the list, and who is in the middle of an exec."""
        orphans = [pid for pid in own_children() if pid not in mains]
        unknown = [pid for pid in orphans if pid not in self.owners]
        known = leads() if unknown else None
        doubt = set()
        for pid in unknown:
            process = look_at(pid)
            lives = process is not None and process.state not in DEAD_STATES
            if not (lives and known and process and self._meet(process, known)):
                doubt.add(pid)
        return {owner for pid in orphans if (owner := self.owners.get(pid))}, doubt

    def are_new(self, doubt: set[int], now: float) -> bool:
        """Whether one of them may still be somebody's."""
        since = [self._doubted.setdefault(pid, now) for pid in doubt]
        return now - max(since, default=0.0) < DOUBTED_AT_MOST_S

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

    def _meet(self, process: Process, leads: Leads) -> bool:
        """False in the middle of an exec, when every environment reads empty: whoever has left its
        session too is then known by nothing, and may be anybody's."""
        environ = read_environ(process.pid)
        # Its session first: that one nobody can put on, as they can a mark.
        owner = _by_session(process, leads) or leads.marks.get(mark_in(environ) or "")
        if owner or environ:
            self.owners[process.pid] = owner or ""
            return True
        return _was_given_none(process.task)


def _was_given_none(pid: int) -> bool:
    """By where its environment begins and ends, which in the middle of an exec is not known yet.

    Not by its words: those may be there a moment after the environment was read, and found empty.
    """
    stat = read_proc(pid, "stat")
    fields = stat[stat.rfind(b")") + 2 :].split()
    return len(fields) > ENV_END and fields[ENV_START] == fields[ENV_END] != b"0"


def _by_session(process: Process, leads: Leads) -> str | None:
    if process.session in leads.mains:
        return leads.mains[process.session]
    if process.session in leads.ended and look_at(process.session) is None:
        return leads.ended[process.session]
    return None


def own_children() -> list[int]:
    pid = os.getpid()
    try:
        return [int(word) for word in _read_whole(f"/proc/{pid}/task/{pid}/children").split()]
    except OSError:  # a kernel without CONFIG_PROC_CHILDREN
        return [one.pid for one in scan(dead=True).values() if one.parent == pid]


def _read_whole(path: str) -> bytes:
    """Not with `open`, which is four calls of the kernel more, at every end of an agent."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = b""
        while part := os.read(descriptor, LIST_BYTES):
            data += part
        return data
    finally:
        os.close(descriptor)
