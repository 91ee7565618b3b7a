"""One command of an agent, inside its wall: made, watched, explained and removed."""

from __future__ import annotations

import os
import time

from .counts import cores, counts_for
from .errors import NoWall
from .waiting import KILLED, Command, become, find_program, run, without
from .wall import LEAST_BYTES, Seat, Wall, find_seat, make_wall, sweep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_SHARE = 75  # percent of the agent's room: the agent itself needs 200 to 600 MB beside it
GONE_WITHIN_S = 5.0
LEASE_WAIT_S = 600.0
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Size:
    """How much of the agent's wall: bytes, or a share in percent."""

    __slots__ = ("amount_bytes", "percent")

    def __init__(self, *, amount_bytes: int | None = None, percent: float | None = None) -> None:
        self.amount_bytes = amount_bytes
        self.percent = percent

    def of(self, around_bytes: int | None) -> int:
        """Never more than what is around it: that would be no wall of its own."""
        if self.amount_bytes is not None:
            return min(self.amount_bytes, around_bytes or self.amount_bytes)
        if around_bytes is None:
            raise NoWall("the agent has no wall to take a share of", expected=True)
        return max(LEAST_BYTES, int(around_bytes * (self.percent or DEFAULT_SHARE) / 100))


class Ask:
    """What a shim or `paddock tool` asks for. `size` None: no wall, only a lease."""

    __slots__ = ("argv", "lease", "own_directory", "size", "stdout", "verbose")

    def __init__(self, argv: Sequence[str], size: Size | None) -> None:
        self.argv = list(argv)
        self.size = size
        self.lease: str | None = None
        self.own_directory = ""  # of the shims: what is looked for is not in it
        self.stdout: int | None = None
        self.verbose = False


class End:
    """How it went. `stopped` is where: `own` wall, the `agent`'s, or None."""

    __slots__ = (
        "around_bytes",
        "code",
        "largest",
        "limit_bytes",
        "peak_bytes",
        "processes",
        "stopped",
    )

    def __init__(self, code: int) -> None:
        self.code = code
        self.stopped: str | None = None
        self.limit_bytes: int | None = None
        self.around_bytes: int | None = None
        self.peak_bytes: int | None = None
        self.processes = 0  # at most, as far as seen
        self.largest: tuple[int, str] | None = None  # bytes and command line


def say(text: str) -> None:
    os.write(2, f"paddock: {text}\n".encode(errors="replace"))


def run_tool(ask: Ask) -> End:
    """CannotRun and LeaseRefused are for the caller. Where nothing is to be done after the command,
    it takes our place and this does not return."""
    path = os.environ.get("PATH", os.defpath)
    program = find_program(ask.argv[0], path, but_not_in=ask.own_directory)
    env = dict(os.environ)
    if "PATH" in env and ask.own_directory:
        # What the command starts itself is inside the same wall: no shim is needed there.
        env["PATH"] = without(path, ask.own_directory)
    command = Command(ask.argv, env, program)
    command.stdout = ask.stdout
    if ask.lease is not None:
        return _run_leased(ask, command)
    return _run_walled(ask, command, may_become=ask.stdout is None)


def _run_leased(ask: Ask, command: Command) -> End:
    from .leases import take

    assert ask.lease is not None
    lease = take(ask.lease, slots=1, wait_s=LEASE_WAIT_S, say=say)
    try:
        command.env = lease.environment(command.env)
        return _run_walled(ask, command, may_become=False)
    finally:
        lease.close()


def _run_walled(ask: Ask, command: Command, *, may_become: bool) -> End:
    try:
        seat, wall = _wall_for(ask)
    except NoWall as error:
        if ask.verbose or not error.expected:
            say(f"no memory wall for {os.path.basename(ask.argv[0])}: {error}")  # noqa: PTH119
        if may_become:
            become(command)
        return End(run(command))
    try:
        return _run_in(seat, wall, command)
    finally:
        _clear(wall)


def _wall_for(ask: Ask) -> tuple[Seat, Wall]:
    if ask.size is None:
        raise NoWall("none was asked for", expected=True)
    seat = find_seat()
    if seat.is_inside_a_wall:
        raise NoWall("it is inside another command's wall already", expected=True)
    sweep(seat)
    return seat, make_wall(seat, ask.size.of(seat.room_bytes()))


def _run_in(seat: Seat, wall: Wall, command: Command) -> End:
    cwd = _here(command.env)
    command.env |= counts_for(command.env, limit_bytes=wall.limit_bytes, cpus=cores(), cwd=cwd)
    command.cgroups = wall.procs
    watch = Watch(wall)
    end = End(run(command, watch))
    end.limit_bytes, end.around_bytes = wall.limit_bytes, seat.limit_bytes()
    end.processes, end.largest = watch.processes, watch.largest
    end.peak_bytes = wall.peak_bytes()
    if wall.oom_kills():
        end.stopped = "own" if wall.group().counters().oom else "agent"
        if watch.ended_the_rest:
            end.code = KILLED
    return end


def _here(env: dict[str, str]) -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:  # it was removed
        return env.get("PWD", "/")


def _clear(wall: Wall) -> None:
    """Nothing of the command outlives it, however it hid: the cgroup knows."""
    if wall.remove():
        return
    group = wall.group()
    give_up_at = time.monotonic() + GONE_WITHIN_S
    while time.monotonic() < give_up_at:
        group.kill()
        if group.remove():
            break
        time.sleep(0.005)
    wall.let_go()  # if it is still there, whoever sweeps next may have it


class Watch:
    """Looks while the command runs. v1 kills one process at a wall: this ends the others too."""

    __slots__ = ("_most_bytes", "_wall", "ended_the_rest", "largest", "processes")

    def __init__(self, wall: Wall) -> None:
        self._wall = wall
        self._most_bytes = 0
        self.processes = 0
        self.largest: tuple[int, str] | None = None
        self.ended_the_rest = False

    def __call__(self) -> None:
        wall = self._wall
        if wall.used_bytes() * 2 > wall.limit_bytes:
            self._sample()
        if wall.version == 1 and wall.oom_kills():
            self.ended_the_rest = True
            wall.group().kill()

    def _sample(self) -> None:
        sizes = {pid: _resident_bytes(pid) for pid in self._wall.pids()}
        if sum(sizes.values()) <= self._most_bytes:
            return
        self._most_bytes = sum(sizes.values())
        self.processes = len(sizes)
        pid = max(sizes, key=lambda one: sizes[one])
        self.largest = (sizes[pid], _command_line(pid))


def _resident_bytes(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb", buffering=0) as file:  # noqa: PTH123
            return int(file.read(200).split()[1]) * PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return 0


def _command_line(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb", buffering=0) as file:  # noqa: PTH123
            words = file.read(400).replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
    return "".join(sign for sign in words if sign.isprintable())[:100].strip()
