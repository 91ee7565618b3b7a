"""Attempts as the keeper knows them: spawned through the shim, reaped with `wait4`, forgotten."""

# pathlib would cost 1.4 MB and contextlib 0.6 MB of memory.
# ruff: noqa: PTH108
from __future__ import annotations

import errno
import os
import signal
import stat
import time

from . import shim
from .members import Census, Leads, read_proc, scan, start_of
from .output import Outlet
from .protocol import Refused
from .strays import Strays

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from .journal import Journal
    from .members import Process
    from .protocol import Message, Order

STARTING, RUNNING = "starting", "running"
EXITED, SPAWN_FAILED = "exited", "spawn_failed"
ALIVE = (STARTING, RUNNING)

REPORT_PREFIX = "shim."
NOTHING = "/dev/null"
FIRST_LOOK_S = 0.001  # a shim takes about 1 ms
LONGEST_LOOK_S = 0.05
# bash runs a script without an interpreter line itself, under the shim's own command line.
STARTING_AT_MOST_S = 2.0
# An orphan may end while we ask whose it is, or be in the middle of an exec. One that never lets
# itself be reaped (traced, or a main thread that left its threads behind) must not keep us here:
# after that many looks, and after a pause, it is looked at again.
STRAY_LOOKS = 3
STRAYS_AGAIN_S = 0.05
# What may be better a moment later; anything else would fail again in the same way.
NO_ROOM = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT)
PASSING = (*NO_ROOM, errno.EIO, errno.EROFS)
# Without 32 and 33, which glibc keeps for itself (and leaves ignored after any posix_spawn).
ALL_SIGNALS = signal.valid_signals()


class Attempt:
    """One process life, from its order until the daemon says `forget`."""

    __slots__ = (
        *(
            "became",
            "empty",
            "ended_at",
            "exit_code",
            "look_gap_s",
            "look_next_at",
            "mark",
            "max_rss_bytes",
        ),
        *("notes", "number", "order", "outlet", "permanent", "pid", "reason", "report"),
        *("settled_at", "signal", "spawned_at", "start", "state", "stop", "system_s", "user_s"),
    )

    def __init__(self, number: int, order: Order, report: str) -> None:
        self.number = number
        self.order = order
        self.mark = order.env["PADDOCK_ATTEMPT"]
        self.report = report
        self.outlet: Outlet | None = None
        self.state = STARTING
        self.became = False  # the agent: it was seen to be no shim any more
        self.pid = self.start = 0
        self.spawned_at = time.time()
        now = time.monotonic()
        self.look_gap_s = FIRST_LOOK_S
        self.look_next_at = now + FIRST_LOOK_S
        self.settled_at = now + STARTING_AT_MOST_S
        self.ended_at: float | None = None
        self.exit_code: int | None = None
        self.signal: int | None = None
        self.max_rss_bytes: int | None = None
        self.user_s = self.system_s = 0.0
        self.reason: str | None = None
        self.permanent = False  # of a failure to start: the same again would fail again
        self.empty = True  # of an ended one: nothing it orphaned is left
        self.stop: Message | None = None  # why it is being killed
        self.notes: list[str] = []

    @property
    def name(self) -> str:
        return self.order.attempt

    @property
    def is_alive(self) -> bool:
        return self.state in ALIVE

    def record(self) -> Message:
        """What `list`, events and the journal say of it."""
        known: Message = {
            "attempt": self.name,
            "number": self.number,
            "state": self.state,
            "pid": self.pid,
            "start": self.start,
            "mark": self.mark,
            "spawned_at": self.spawned_at,
            "fifo": self.order.fifo,
            "segment": self.outlet.segment if self.outlet else self.order.segment,
            "fifo_fd": self.outlet.fifo_fd if self.outlet else -1,
            "pipe_bytes": self.outlet.pipe_bytes if self.outlet else 0,
            "limit_bytes": self.order.limit_bytes,
        }
        if self.stop is not None:
            known["stop"] = self.stop
        if self.notes:
            known["notes"] = self.notes
        if self.is_alive:
            return known
        known |= {"ended_at": self.ended_at, "reason": self.reason}
        known |= {"exit_code": self.exit_code, "signal": self.signal}
        known |= {"user_s": self.user_s, "system_s": self.system_s, "empty": self.empty}
        if self.state == SPAWN_FAILED:
            known["permanent"] = self.permanent
        return known | {"max_rss_bytes": self.max_rss_bytes}


class Children:
    """All attempts. `changed` gathers those of which the daemon has not been told."""

    def __init__(self, directory: str, journal: Journal) -> None:
        self.attempts: dict[str, Attempt] = {}
        self.changed: list[Attempt] = []
        # What agents get unless they are told otherwise: as it was before the keeper's own birth.
        self.usual_nofile: int | None = None
        self.usual_oom_score_adj: int | None = None
        self.most = 1 << 20
        self._by_pid: dict[int, Attempt] = {}
        self._starting: dict[int, Attempt] = {}
        self._strays = Strays()
        self._haunted: list[Attempt] = []  # ended, and something of them is left
        self._strays_at: float | None = None  # whose some are was not to be seen
        self._directory = directory
        self._journal = journal
        self._spawned = 0

    def spawn(self, order: Order) -> Attempt:
        """The same attempt twice is one attempt: the answer is what became of the first."""
        known = self.attempts.get(order.attempt)
        if known is not None:
            return known
        if len(self.attempts) >= self.most:
            raise Refused("full", f"{self.most} attempts are all the descriptors there are")
        self._spawned += 1
        # No agent may guess it, and say of another that it was never started.
        report = f"{self._directory}/{REPORT_PREFIX}{os.urandom(16).hex()}"
        attempt = Attempt(self._spawned, order, report)
        self.attempts[attempt.name] = attempt
        if order.nofile is None:
            order.nofile = self.usual_nofile
        if order.oom_score_adj is None:
            order.oom_score_adj = self.usual_oom_score_adj
        try:
            attempt.outlet = Outlet(order)
            attempt.pid = start_shim(order, attempt.outlet.fifo_fd, attempt.report)
        except (OSError, ValueError) as error:
            # The FIFO's place is ours, and no fault of the run's.
            passing = attempt.outlet is None or getattr(error, "errno", None) in PASSING
            attempt.permanent = not passing
            self._fail(attempt, why_not(error))
        else:
            self._by_pid[attempt.pid] = self._starting[attempt.pid] = attempt
            attempt.start = start_of(attempt.pid)  # not reaped: it is there, if only as a zombie
            # Should we die, and the daemon too: nobody else knows which of its processes it is.
            self._journal.add(attempt.record(), self.endings)
        order.slim()
        return attempt

    def look_at_starting(self, now: float) -> None:
        """Which shims have become agents."""
        for attempt in [a for a in self._starting.values() if a.look_next_at <= now]:
            still = shim.is_still_shim(read_proc(attempt.pid, "cmdline"))
            if still and now < attempt.settled_at:
                attempt.look_gap_s = min(2 * attempt.look_gap_s, LONGEST_LOOK_S)
                attempt.look_next_at = now + attempt.look_gap_s
                continue
            del self._starting[attempt.pid]
            attempt.state, attempt.became = RUNNING, not still
            attempt.notes += take_report(attempt.report).notes
            self.changed.append(attempt)

    def look_in_s(self, now: float) -> float | None:
        times = [attempt.look_next_at for attempt in self._starting.values()]
        times += [] if self._strays_at is None else [self._strays_at]
        return max(0.0, min(times) - now) if times else None

    def is_in_doubt(self, now: float) -> bool:
        """Then `reap`, though nobody has ended: an exec is done, and no signal says so."""
        return self._strays_at is not None and self._strays_at <= now

    def reap(self) -> list[int]:
        """Everything that has ended, agents and orphans; the pids that are no agent's."""
        ended: list[tuple[Attempt, int]] = []
        others: list[int] = []
        held: set[str] = set()
        doubt: set[int] = set()
        for _ in range(STRAY_LOOKS):
            self._reap_now(ended, others)
            if not ended and not (others and self._haunted) and self._strays_at is None:
                return others
            held, doubt = self._strays.held(self._by_pid, self.leads)
            if not doubt:
                break
        # Somebody forks and leaves faster than we look, or is not to be known: nobody is empty.
        now, self._strays_at = time.monotonic(), None
        if doubt and self._strays.are_new(doubt, now):
            held |= {one.name for one, _ in ended} | {one.name for one in self._haunted}
            self._strays_at = now + STRAYS_AGAIN_S
        self._settle(ended, held)
        return others

    def _reap_now(self, ended: list[tuple[Attempt, int]], others: list[int]) -> None:
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            attempt = self._by_pid.pop(pid, None)
            if attempt is None:
                self._strays.reaped(pid)
                others.append(pid)
                continue
            self._starting.pop(pid, None)
            attempt.user_s, attempt.system_s = usage.ru_utime, usage.ru_stime
            # Never below the keeper's own (11 to 20 MB): between vfork and exec they share memory.
            attempt.max_rss_bytes = usage.ru_maxrss * 1024
            # So that orphans are led to it by its session from now on.
            attempt.state = EXITED
            ended.append((attempt, os.waitstatus_to_exitcode(status)))

    def _settle(self, ended: list[tuple[Attempt, int]], held: set[str]) -> None:
        """Whether an attempt is empty is said together with its end, and once more later."""
        for attempt in [one for one in self._haunted if one.name not in held]:
            self._haunted.remove(attempt)
            attempt.empty = True
            self.changed.append(attempt)
        for attempt, code in ended:
            attempt.empty = attempt.name not in held
            if not attempt.empty:
                self._haunted.append(attempt)
            self._end(attempt, code)

    def note_stop(self, attempt: Attempt, stop: Message) -> None:
        """Written down before the first signal: whoever finds it dead then knows why."""
        attempt.stop = stop
        self._journal.add(attempt.record(), self.endings)

    def forget(self, name: str) -> bool:
        """The daemon has drained and committed it. An attempt that is alive is never forgotten."""
        attempt = self.attempts.get(name)
        if attempt is None or attempt.is_alive:
            return False
        del self.attempts[name]
        if not attempt.empty:
            self._haunted.remove(attempt)
        if attempt.outlet is not None:
            attempt.outlet.close()
        self._journal.forgot(len(self.attempts), self.endings)
        return True

    def write_again(self) -> None:
        self._journal.again(self.endings)

    def endings(self) -> list[Message]:
        """What the journal holds: how they ended; of those that have not, which process it is, and
        why it is being killed."""
        return [attempt.record() for attempt in self.attempts.values()]

    def leads(self) -> Leads:
        leads = Leads(os.getpid())
        # In order of birth: a number used again is the later attempt's.
        for attempt in self.attempts.values():
            leads.marks[attempt.mark] = attempt.name
            if attempt.pid and not attempt.is_alive:
                leads.ended[attempt.pid] = attempt.name
        leads.mains = {pid: attempt.name for pid, attempt in self._by_pid.items()}
        return leads

    def census(self) -> Census:
        met = {pid: owner for pid, owner in self._strays.owners.items() if owner}
        return Census(scan(), self.leads(), met=met)

    def strays_of(self, names: Container[str]) -> list[Process]:
        return self._strays.of(names, self._by_pid, self.leads())

    def _end(self, attempt: Attempt, code: int) -> None:
        report = take_report(attempt.report)
        attempt.notes += report.notes
        # bash runs the shim's trap also when a signal kills it: that is no failure to start.
        if report.fail is not None and code >= 0 and not attempt.became:
            attempt.exit_code = code
            attempt.permanent = report.fail in ("exec", "cwd")
            self._fail(attempt, shim.why_failed(report.fail, code, attempt.order))
            return
        attempt.state = EXITED
        attempt.exit_code, attempt.signal = (code, None) if code >= 0 else (None, -code)
        self._ended(attempt)

    def _fail(self, attempt: Attempt, reason: str) -> None:
        attempt.state, attempt.reason = SPAWN_FAILED, reason
        self._ended(attempt)

    def _ended(self, attempt: Attempt) -> None:
        attempt.ended_at = time.time()
        self._journal.add(attempt.record(), self.endings)
        self.changed.append(attempt)


def start_shim(order: Order, fifo_fd: int, report: str) -> int:
    """`posix_spawn`, never fork: a Python fork costs four times as much and grows with the parent.

    The agent's stdout is an open of its own (through /proc, whatever became of the path): sharing
    the keeper's would share O_NONBLOCK both ways.
    """
    output = [
        (os.POSIX_SPAWN_OPEN, 1, f"/proc/self/fd/{fifo_fd}", os.O_RDWR, 0),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    commands, env = shim.commands(order, report), shim.environment(order)
    if order.stdin == NOTHING:
        nothing = (os.POSIX_SPAWN_OPEN, 0, NOTHING, os.O_RDONLY, 0)
        return _spawned(commands, env, [nothing, *output])
    stdin = os.open(order.stdin, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(stdin).st_mode):
            raise OSError(errno.EINVAL, "stdin must be a regular file", order.stdin)
        return _spawned(commands, env, [(os.POSIX_SPAWN_DUP2, stdin, 0), *output])
    finally:
        os.close(stdin)


def _spawned(
    commands: Iterable[tuple[str, list[str]]],
    env: dict[str, str],
    actions: list[tuple[object, ...]],
) -> int:
    """Of the first that can be: our own program may lie where nothing may be executed."""
    refusal = OSError(errno.ENOEXEC, "there is no shim")
    for program, words in commands:
        try:
            return _spawn(program, words, env, actions)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOEXEC):
                raise
            refusal = error
    raise refusal


def _spawn(
    program: str, words: list[str], env: dict[str, str], actions: list[tuple[object, ...]]
) -> int:
    return os.posix_spawn(
        program,
        words,
        env,
        file_actions=actions,
        setsid=True,
        setsigmask=[],
        setsigdef=ALL_SIGNALS,
    )


def why_not(error: OSError | ValueError) -> str:
    """Without saying that it could not be started: whoever tells of it says that."""
    name = getattr(error, "filename", None)
    return f"{name}: {getattr(error, 'strerror', error)}" if name else str(error)


def take_report(path: str) -> shim.Report:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return shim.Report("")
    try:
        text = os.read(descriptor, 4096).decode("utf-8", "replace")
        os.unlink(path)
    except OSError:
        text = ""
    finally:
        os.close(descriptor)
    return shim.Report(text)
