"""Which processes belong to an attempt, and signals to exactly those.

By descent from the main process, by the mark in the environment, by session: an agent's child may
leave its session (setsid), its parent (double fork) or its environment, but seldom all at once.
"""

# pathlib would cost 1.4 MB and contextlib 0.6 MB of memory.
# ruff: noqa: PTH115, PTH208
from __future__ import annotations

import os
import signal

from .protocol import MARK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

DEAD_STATES = "ZXx"
STOPPED_STATES = "Tt"
MARK_BYTES = f"{MARK}=".encode()
PROC_READ_BYTES = 1 << 16


class Process:
    """One line of /proc/PID/stat. `start` (ticks since boot) and `pid` together are an identity.

    `task` is a thread of it that lives: its memory and environment are read there, because those of
    a main thread that has left the others behind (exit, pthread_exit) read empty.
    """

    __slots__ = ("group", "parent", "pid", "session", "start", "state", "task")

    def __init__(self, pid: int, state: str, parent: int, session: int, start: int) -> None:
        self.pid, self.state, self.parent = pid, state, parent
        self.session, self.start = session, start
        self.group = 0
        self.task = pid


def parse_stat(data: bytes) -> Process:
    # The name may hold anything, ')' and spaces too: what counts begins after the last ')'.
    pid, _, rest = data.partition(b" ")
    fields = rest[rest.rindex(b")") + 2 :].split()
    process = Process(
        int(pid), fields[0].decode(), int(fields[1]), int(fields[3]), start=int(fields[19])
    )
    process.group = int(fields[2])
    return process


def look_at(pid: int) -> Process | None:
    data = read_proc(pid, "stat")
    if not data:
        return None
    process = parse_stat(data)
    if process.state in DEAD_STATES:
        _find_a_living_thread(process)
    return process


def start_of(pid: int) -> int:
    """When it began, which with its pid is its identity; 0: it is not there."""
    data = read_proc(pid, "stat")
    return parse_stat(data).start if data else 0


def _find_a_living_thread(process: Process) -> None:
    """A process whose main thread has ended looks like a zombie, and runs on."""
    try:
        tasks = os.listdir(f"/proc/{process.pid}/task")
    except OSError:
        return
    for task in map(int, tasks) if len(tasks) > 1 else ():
        data = read_proc(task, "stat")  # a thread has a directory too, only not in the listing
        state = parse_stat(data).state if data and task != process.pid else "Z"
        if state not in DEAD_STATES:
            process.task, process.state = task, state
            return


def read_proc(pid: int, name: str) -> bytes:
    """Empty if the process is gone or not ours to read."""
    try:
        descriptor = os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    # Not `open`: with its buffers and checks a look at all processes takes half as long again.
    try:
        data = part = os.read(descriptor, PROC_READ_BYTES)
        while part and len(data) >= PROC_READ_BYTES:
            part = os.read(descriptor, PROC_READ_BYTES)
            data += part
    except OSError:
        return b""
    finally:
        os.close(descriptor)
    return data


def scan(*, dead: bool = False) -> dict[int, Process]:
    """All live processes, or also zombies: 10 µs each."""
    found = {}
    for name in os.listdir("/proc"):
        process = look_at(int(name)) if name.isdigit() else None
        if process is not None and (dead or process.state not in DEAD_STATES):
            found[process.pid] = process
    return found


def read_mark(pid: int) -> str | None:
    return mark_in(read_environ(pid))


def read_environ(pid: int) -> bytes:
    """Of any living thread: the main one may have ended."""
    environ = read_proc(pid, "environ")
    if environ:
        return environ
    process = look_at(pid)
    return read_proc(process.task, "environ") if process and process.task != pid else b""


def mark_in(environ: bytes) -> str | None:
    """The first one counts, as for getenv."""
    begin = 0 if environ.startswith(MARK_BYTES) else environ.find(b"\0" + MARK_BYTES) + 1
    if not begin and not environ.startswith(MARK_BYTES):
        return None
    begin += len(MARK_BYTES)
    end = environ.find(b"\0", begin)
    return os.fsdecode(environ[begin:] if end < 0 else environ[begin:end])


class Leads:
    """What points from a process to its attempt.

    `mains` are processes not yet reaped, so their pids cannot be anybody else's. `ended` are mains
    long gone: as a session the number may be in use again, so it counts only below the keeper and
    only while no process has it as its pid.
    """

    __slots__ = ("ended", "keeper", "mains", "marks")

    def __init__(self, keeper: int) -> None:
        self.keeper = keeper
        self.mains: dict[int, str] = {}
        self.ended: dict[int, str] = {}
        self.marks: dict[str, str] = {}


class Census:
    """Every live process of every attempt, from one look at all."""

    def __init__(
        self,
        processes: dict[int, Process],
        leads: Leads,
        mark_of: Callable[[int], str | None] = read_mark,
        met: Mapping[int, str] | None = None,
    ) -> None:
        """`met`: whose a process was when first seen. No mark that it wears later changes that."""
        self._met = met or {}
        self._processes = processes
        self._leads = leads
        self._mark_of = mark_of
        # None: not ours; "": below the keeper, and nobody's.
        self._owners: dict[int, str | None] = {leads.keeper: "", **leads.mains}
        self.members: dict[str, list[Process]] = {}
        for process in processes.values():
            owner = self._owner(process)
            if owner:
                self.members.setdefault(owner, []).append(process)

    def _owner(self, process: Process) -> str | None:
        """Up the line of parents to the first whose owner is known, then down again."""
        line: list[Process] = []
        seen: Process | None = process
        while seen is not None and seen.pid not in self._owners:
            self._owners[seen.pid] = None
            line.append(seen)
            seen = self._processes.get(seen.parent)
        owner = self._owners[seen.pid] if seen is not None else None
        for member in reversed(line):
            # An agent's child is the agent's, whatever it did to its own session or environment.
            owner = owner or self._by_lead(member, owner)
            self._owners[member.pid] = owner
        return self._owners[process.pid]

    def _by_lead(self, process: Process, above: str | None) -> str | None:
        """Its session first: that one nobody can put on, as they can a mark."""
        if above is not None:
            mains, ended = self._leads.mains, self._leads.ended
            if process.session in mains:
                return mains[process.session]
            if process.session in ended and process.session not in self._processes:
                return ended[process.session]
        marked = self._leads.marks.get(self._mark_of(process.pid) or "")
        return self._met.get(process.pid, marked) if marked else above


def send(pid: int, start: int, number: int) -> bool:
    """A signal to this very process, never to one that got its pid later.

    False if it is gone, or not ours to signal (`sudo` below an agent): it stays in the list then.
    """
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        # Looked at after the descriptor is open: what it stands for cannot change any more.
        process = look_at(pid)
        if process is None or process.start != start:
            return False
        signal.pidfd_send_signal(descriptor, number)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def harm_of(pid: int, number: int) -> str | None:
    """Why a polite signal (soft timeout, checkpoint) must not be sent to this process.

    The shim leaves them ignored, but a program may undo that: Node sets every signal back to its
    default as it starts, so that SIGUSR2 kills it, and opens a debugger port on SIGUSR1.
    """
    if read_link(pid, "exe").rpartition("/")[2].startswith("node"):
        return "it is a Node program"
    heeded = heeded_in(read_proc(pid, "status"))
    return None if heeded >> (number - 1) & 1 else "it would die of it"


def heeded_in(status: bytes) -> int:
    """The signals that are ignored or caught, a bit each. A program chooses its own name, which is
    the first line: a carriage return in it must not look like another."""
    lines = (line.partition(b":\t") for line in status.split(b"\n")[1:])
    masks = {name: mask for name, _, mask in lines if name in (b"SigIgn", b"SigCgt")}
    return int(masks.get(b"SigIgn") or b"0", 16) | int(masks.get(b"SigCgt") or b"0", 16)


def read_link(pid: int, name: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/{name}")
    except OSError:
        return ""


def send_each(members: Iterable[Process], number: int) -> int:
    """How many got it. Those that stand still are not stopped again: 0 says that all do."""
    if number == signal.SIGSTOP:
        members = [process for process in members if process.state not in STOPPED_STATES]
    return sum(send(process.pid, process.start, number) for process in members)
