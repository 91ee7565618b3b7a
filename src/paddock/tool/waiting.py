"""Starting a command and waiting for it, as if it had been started without us.

Its exit code, its signals, its standard streams and its process group are its own. Only the
standard library's lightest modules: `signal` alone would take 7 ms (it makes enums).
"""

from __future__ import annotations

import errno
import os

from .errors import CannotRun

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable, Mapping, Sequence
    from typing import NoReturn
else:
    import _signal

TICK_S = 0.1  # 10 looks a second at one cgroup: 0.05 % of a core
# Whoever ends the waiter ends the command: 1.1 ms, against 6 for prctl through ctypes.
SETPRIV = "/usr/bin/setpriv"
MORE_LIKELY = 300  # thousandths of the wall around it: of an agent and its tool the tool dies
MOST_LIKELY = 1000
NOT_EXECUTABLE, NOT_FOUND, KILLED = 126, 127, 137
PASSED_ON = (
    _signal.SIGTERM,
    _signal.SIGINT,
    _signal.SIGHUP,
    _signal.SIGQUIT,
    _signal.SIGUSR1,
    _signal.SIGUSR2,
)


class Command:
    """What to run. `cgroups` are the files to join; `stdout` takes the place of its own."""

    __slots__ = ("argv", "cgroups", "env", "program", "stdout")

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], program: str) -> None:
        self.argv = list(argv)
        self.env = dict(env)
        self.program = program
        self.cgroups: list[str] = []
        self.stdout: int | None = None


def find_program(name: str, path: str, *, but_not_in: str = "") -> str:
    """As a shell finds it. The first that cannot be executed is what is complained about."""
    if "/" in name:
        places = [name]
    else:
        directories = [one for one in path.split(os.pathsep) if not _is_same(one, but_not_in)]
        places = [f"{directory or '.'}/{name}" for directory in directories]
    seen = None
    for place in places:
        if os.path.isfile(place):  # noqa: PTH113
            if os.access(place, os.X_OK):
                return place
            seen = seen or place
    if seen:
        raise CannotRun(f"{seen}: not executable", NOT_EXECUTABLE)
    raise CannotRun(f"{name}: not found", NOT_FOUND)


def without(path: str, directory: str) -> str:
    """A PATH in which this directory is not."""
    kept = [one for one in path.split(os.pathsep) if not _is_same(one, directory)]
    return os.pathsep.join(kept)


def _is_same(one: str, other: str) -> bool:
    if not one or not other:
        return False
    return one.rstrip("/") == other.rstrip("/") or (
        one.rpartition("/")[2] == other.rpartition("/")[2]
        and os.path.realpath(one) == os.path.realpath(other)
    )


def run(command: Command, tick: Callable[[], None] | None = None) -> int:
    """Its exit code, 128 + n after signal n. `tick` is called while it runs."""
    # Ignored, a child's end would tell us nothing; and blocked, no signal is missed before we wait.
    before = _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    watched = {_signal.SIGCHLD, *PASSED_ON}
    mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, watched)
    try:
        pid = _start(command, lambda: _restore(mask, before))
        return _wait(pid, watched, tick)
    finally:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
        _signal.signal(_signal.SIGCHLD, before)


def become(command: Command) -> NoReturn:
    """The command itself, in our place: nothing is to be done after it."""
    _as_found()
    _execute(command, [command.program, *command.argv[1:]])


def _restore(mask: set[_signal.Signals] | set[int], on_child: object) -> None:
    _as_found()
    _signal.signal(_signal.SIGCHLD, on_child)  # type: ignore[arg-type]
    _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)


def _as_found() -> None:
    """Python ignores these for itself, and what is ignored stays so in what we run."""
    for name in (_signal.SIGPIPE, _signal.SIGXFSZ):
        _signal.signal(name, _signal.SIG_DFL)


# -- the child ----------------------------------------------------------------------------------


def _start(command: Command, restore: Callable[[], None]) -> int:
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _child(command, restore)
        except OSError as error:
            os.write(tell, f"{error.errno or 0} {error.strerror}".encode())
        finally:
            os._exit(NOT_FOUND)
    os.close(tell)
    said = os.read(told, 4096).decode(errors="replace")
    os.close(told)
    if said:
        os.waitpid(pid, 0)
        number, _, why = said.partition(" ")
        missing = number == str(errno.ENOENT)
        code = NOT_FOUND if missing else NOT_EXECUTABLE
        raise CannotRun(f"{command.program}: {why}", code)
    return pid


def _child(command: Command, restore: Callable[[], None]) -> NoReturn:
    for file in command.cgroups:
        _join(file)
    if command.cgroups:
        _offer_to_the_kernel()
    if command.stdout is not None:
        os.dup2(command.stdout, 1)
    restore()
    words = [command.program, *command.argv[1:]]
    if os.access(SETPRIV, os.X_OK) and _has_a_head(command.program):
        words = [SETPRIV, "--pdeathsig", "KILL", "--", *words]
    _execute(command, words)


def _join(file: str) -> None:
    """`0` is the writer itself: it is inside before the command's first instruction."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, b"0")
        finally:
            os.close(descriptor)
    except OSError as error:
        os.write(2, f"paddock: no wall for this command: {file}: {error.strerror}\n".encode())


def _offer_to_the_kernel() -> None:
    """Where the agent's wall is met by both, the command is the smaller loss."""
    try:
        with open("/proc/self/oom_score_adj", "r+b", buffering=0) as file:  # noqa: PTH123
            found = int(file.read())
            file.write(str(min(MOST_LIKELY, found + MORE_LIKELY)).encode())
    except (OSError, ValueError):
        pass


def _has_a_head(program: str) -> bool:
    """A script without `#!` is for /bin/sh, which only an exec of our own finds out in time."""
    try:
        with open(program, "rb", buffering=0) as file:  # noqa: PTH123
            return file.read(4)[:2] in (b"#!", b"\x7fE")
    except OSError:
        return True  # executable and not readable: no script


def _execute(command: Command, words: list[str]) -> NoReturn:
    try:
        os.execve(words[0], words, command.env)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
    os.execve("/bin/sh", ["/bin/sh", *words], command.env)


# -- the waiter ---------------------------------------------------------------------------------


def _wait(
    pid: int,
    watched: set[_signal.Signals] | set[_signal.Signals | int],
    tick: Callable[[], None] | None,
) -> int:
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found == pid:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        heard = _hear(watched, patient=tick is None)
        if heard is None:
            if tick is not None:
                tick()
        elif heard.si_signo in PASSED_ON and heard.si_code <= 0:
            # Above 0 the kernel itself sent it, as for Ctrl-C: to the whole process group, so the
            # command has had it already.
            os.kill(pid, heard.si_signo)


def _hear(
    watched: set[_signal.Signals] | set[_signal.Signals | int], *, patient: bool
) -> _signal.struct_siginfo | None:
    return _signal.sigwaitinfo(watched) if patient else _signal.sigtimedwait(watched, TICK_S)
