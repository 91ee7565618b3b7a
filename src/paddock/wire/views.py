"""What the API answers and asks, version 1. Keys are only ever added.

Environment values are in none of these but `Submit` and `Again`, which only go in.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from .run_request import HeartbeatRequest, PriorityWord, RunRequest

VERSION = "v1"

StateWord = Literal["queued", "starting", "running", "stopping", "ended"]
ClearedWord = Literal["removed", "would_remove", "kept"]


class Problem(msgspec.Struct, kw_only=True):
    """Whatever was not done. `code` is for programs: bad_request, refused, large (a question),
    not_found, ambiguous, ended, trouble (the store), internal."""

    code: str
    message: str


class Submit(msgspec.Struct, kw_only=True):
    """One submission, taken whole or refused whole. The same `key` again changes nothing."""

    key: str
    runs: tuple[RunRequest, ...] = ()
    heartbeats: tuple[HeartbeatRequest, ...] = ()
    fleet: str | None = None
    directory: str
    environment: dict[str, str] = {}
    stdin: str | None = None  # the token that an upload gave
    profile: str | None = None
    umask: int | None = None


class Taken(msgspec.Struct, kw_only=True):
    id: str
    name: str
    state: StateWord
    place: int | None = None  # 1 is next
    waits_for: str | None = None  # a sentence


class Submission(msgspec.Struct, kw_only=True):
    runs: tuple[Taken, ...]
    heartbeats: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # what was taken differently than asked (CAP-3)


class RunView(msgspec.Struct, kw_only=True):
    """A run as `ls --json` shows it. Times are wall-clock seconds since 1970."""

    id: str
    name: str
    state: StateWord
    outcome: str | None
    exit_code: int | None
    priority: PriorityWord
    group: str
    attempt: int
    memory_bytes: int | None
    limit_bytes: int
    waits_for: str | None
    needs: tuple[str, ...]
    place: int | None = None
    sentence: str = ""
    because: str | None = None  # of the end
    submitted_at: float | None = None
    since_at: float | None = None  # of the present state
    frozen: str | None = None
    peak_bytes: int | None = None
    expected_bytes: int | None = None
    signal: int | None = None  # that ended it; then there is no exit code
    step: str | None = None  # of a run in steps: the first that is not done
    steps_done: int = 0
    steps: int = 0
    tries: int = 0  # attempts, but that a next step is no new try


class HostView(msgspec.Struct, kw_only=True):
    total_bytes: int
    available_bytes: int | None
    used_percent: float | None
    ladder: str  # calm, skip_low, queue, preempt, emergency
    because: str = ""
    swap_percent: float = 0.0
    rungs: dict[str, float] = {}  # the ladder's steps, and at which percent of use each begins


class FleetView(msgspec.Struct, kw_only=True):
    limit_bytes: int  # the fleet's wall
    expected_bytes: int
    used_bytes: int
    max_agents: int | None = None
    max_agents_by: str = ""  # who set it, as part of a sentence


class QueueView(msgspec.Struct, kw_only=True):
    waiting: int
    depth: int
    first: tuple[Taken, ...] = ()


class BreakerView(msgspec.Struct, kw_only=True):
    group: str
    state: Literal["open", "half_open", "closed"]
    failures: int = 0
    retry_in_s: float | None = None
    probe: str | None = None
    last_run: str | None = None  # its name, of the newest that is known: groups are hard to read


class HeartbeatView(msgspec.Struct, kw_only=True):
    name: str
    every_s: float
    next_in_s: float
    beats: int
    skipped_pressure: int
    skipped_busy: int


class SilenceView(msgspec.Struct, kw_only=True):
    """A cluster that does not answer."""

    since_at: float  # by the clock on the wall
    because: str
    runs: int  # that live there, as far as is known


class StatusView(msgspec.Struct, kw_only=True):
    host: HostView | None  # None until the first look
    fleet: FleetView
    counts: dict[str, int]  # by state, and by outcome of those kept in memory
    queue: QueueView
    breakers: tuple[BreakerView, ...]
    heartbeats: tuple[HeartbeatView, ...] = ()
    driver: str = ""
    trouble: str | None = None  # of the store: nothing new is taken meanwhile
    notices: tuple[str, ...] = ()  # what should be known, and stops nothing: a disk nearly full
    silent_cluster: SilenceView | None = None


class MemoryView(msgspec.Struct, kw_only=True):
    id: str
    name: str
    group: str
    used_bytes: int
    expected_bytes: int
    limit_bytes: int
    soft_limit_bytes: int | None = None
    peak_bytes: int = 0
    cpu_s: float | None = None  # CPU time of this attempt; None: not known on this host
    processes: int | None = None  # that it has now; None: they live on another machine
    # The most in each second of the last minute, oldest first; only when asked for.
    recent_bytes: tuple[int, ...] = ()


class LearnedView(msgspec.Struct, kw_only=True):
    group: str
    attempts: int  # ended ones, the evidence
    typical_bytes: int | None  # None: not enough evidence, limits count
    peak_bytes: int
    limit_bytes: int
    last_run: str | None = None  # its name, as in a breaker
    # How long which size was in use: (bytes, seconds), from small to large; old time counts less.
    histogram: tuple[tuple[int, float], ...] = ()


class MoveView(msgspec.Struct, kw_only=True):
    at: float
    state: str
    attempt: int
    because: str
    moves: int = 1


class StepView(msgspec.Struct, kw_only=True):
    """A step that is done, and what is kept of it."""

    step: int  # from 1
    name: str
    at: float
    attempt: int
    exit_code: int | None = None
    output_digest: str | None = None
    commit: str | None = None  # of its workspace
    run: str | None = None  # which did it, where that was the run that this one goes on with


class WhyView(msgspec.Struct, kw_only=True):
    sentence: str
    black_box: dict[str, str] | None = None


class DaemonView(msgspec.Struct, kw_only=True):
    pid: int
    keeper_pid: int | None
    version: str
    socket: str
    uptime_s: float
    state: str = ""
    listen: str | None = None
    epoch: int = 0


class Happening(msgspec.Struct, kw_only=True):
    """One line of the event stream."""

    n: int  # counts up; a gap means that some were missed
    at: float
    run: str
    name: str
    state: StateWord
    attempt: int
    because: str
    outcome: str | None = None
    exit_code: int | None = None


class Kill(msgspec.Struct, kw_only=True):
    runs: tuple[str, ...] = ()
    fleet: str | None = None  # its runs that have not ended, and its heartbeats
    all: bool = False
    force: bool = False


class Killed(msgspec.Struct, kw_only=True):
    runs: tuple[str, ...] = ()
    heartbeats: tuple[str, ...] = ()  # removed


class Otherwise(msgspec.Struct, frozen=True, kw_only=True):
    """What is not to be as it was the last time; None: as it was."""

    memory_bytes: int | None = None
    timeout_s: float | Literal["none"] | None = None
    priority: PriorityWord | None = None
    retries: int | None = None


class Again(msgspec.Struct, kw_only=True):
    """Run it once more, as a new run, with the environment of whoever asks."""

    key: str
    environment: dict[str, str] = {}
    from_start: bool = False  # also what was done already: steps, checkpoints
    otherwise: Otherwise = Otherwise()


class SetPriority(msgspec.Struct, kw_only=True):
    priority: PriorityWord


class ResetBreaker(msgspec.Struct, kw_only=True):
    group: str


class Await(msgspec.Struct, kw_only=True):
    runs: tuple[str, ...] = ()
    fleet: str | None = None  # those of the newest of that name, instead
    timeout_s: float = 25.0


class StopDaemon(msgspec.Struct, kw_only=True):
    kill: bool = False  # end all agents first


class Uploaded(msgspec.Struct, kw_only=True):
    token: str
    size: int


class DiffView(msgspec.Struct, kw_only=True):
    """What a run changed in its workspace, as a patch."""

    text: str
    cut: bool = False  # it went on, and only the beginning is here
    raw: bytes | None = None  # the very bytes (base64), where they are no UTF-8 text
    path: str | None = None  # of its workspace; None when that is gone
    branch: str | None = None  # None: it is gone as well


class WorkspaceView(msgspec.Struct, kw_only=True):
    run: str | None  # None: prepared, and nobody has it
    name: str | None = None  # of the run, if it is still known
    path: str | None = None
    repository: str
    branch: str
    state: str  # making, slot, taken, idle, going; gone: only its branch is left
    idle_s: float | None = None  # None: not idle
    made_at: float | None = None
    commits: int | None = None  # on its branch since its start; None: nobody knows
    unmerged: int | None = None  # of them, not in the branch it began on
    base: str = ""  # that branch
    uncommitted: int | None = None  # files; None: nobody knows, or they were saved on its branch


class ClearWorkspaces(msgspec.Struct, kw_only=True):
    dry_run: bool = False
    merged: bool = False  # those that are merged, now and with their branches


class RemoveWorkspace(msgspec.Struct, kw_only=True):
    run: str


class ClearedView(msgspec.Struct, kw_only=True):
    path: str
    run: str | None = None
    name: str | None = None
    repository: str = ""
    done: ClearedWord
    because: str
