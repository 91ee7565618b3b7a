"""Host-wide leases: so many at a time may hold one of a name, on the whole machine.

A lease is a lock (flock) on a file, held by the process that waits for the command. The kernel
drops it with that process, whatever ended it. What is written in the file is for people.
"""

# ruff: noqa: PTH208, SIM105
from __future__ import annotations

import errno
import fcntl
import os
import time

from .errors import LeaseRefused
from .lease_files import PLACES, open_file, the_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable
    from typing import Any
else:
    import _signal

GATE = "gate"
HELD = (
    "PADDOCK_LEASES"  # `build=1234:tests=1240` in a command's environment: who above it holds what
)
LOOK_AGAIN_S = 0.05
NEVER = float("inf")
TELL_AGAIN_S = 60.0
LONGEST_NAME, MOST_SLOTS = 64, 1000
LONGEST_NOTE = 1024
_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


class Holder:
    """Who has a slot, as far as it is told: anybody could write into the file."""

    __slots__ = ("pid", "run", "since", "slot")

    def __init__(self, slot: int, text: str) -> None:
        words = text[:LONGEST_NOTE].split("\n", 1)[0].split(" ", 2)
        self.slot = slot
        self.pid = int(words[0]) if words[0].isascii() and words[0].isdigit() else None
        plain = len(words) > 1 and words[1].isascii() and words[1].isdigit()
        self.since = int(words[1]) if plain and len(words[1]) < 12 else None
        name = words[2] if len(words) > 2 else ""
        self.run = "".join(sign for sign in name if sign.isprintable())[:100] or None

    def __str__(self) -> str:
        who = f"pid {self.pid}" if self.pid else "somebody"
        run = f" (run {self.run})" if self.run else ""
        since = (
            f" since {time.strftime('%H:%M:%S', time.localtime(self.since))}" if self.since else ""
        )
        return f"{who}{run}{since}"


def check_name(name: str) -> str | None:
    """Why this is no name of a lease."""
    if not name or len(name) > LONGEST_NAME or not set(name) <= _SIGNS or not name[0].isalnum():
        return f"{name[:LONGEST_NAME]!r} is no name: letters, digits and . _ - are, as in build"
    return None


# -- taking one ---------------------------------------------------------------------------------


class Lease:
    """Held until it is closed, or its process is gone."""

    __slots__ = ("_descriptor", "name")

    def __init__(self, name: str, descriptor: int | None) -> None:
        self.name = name
        self._descriptor = descriptor

    def environment(self, env: dict[str, str]) -> dict[str, str]:
        """So that the same lease asked for inside is not waited for: it would wait for us."""
        if self._descriptor is None:
            return env
        held = [one for one in env.get(HELD, "").split(":") if one]
        return env | {HELD: ":".join([*held, f"{self.name}={os.getpid()}"])}

    def close(self) -> None:
        if self._descriptor is not None:
            try:
                os.ftruncate(self._descriptor, 0)
            except OSError:
                pass
            os.close(self._descriptor)
            self._descriptor = None


def take(
    name: str,
    *,
    slots: int,
    wait_s: float,
    say: Callable[[str], object],
    places: tuple[str, ...] = PLACES,
) -> Lease:
    """Waits its turn. LeaseRefused: the time was over, or the place is not safe."""
    if is_held_above(name):
        return Lease(name, None)
    directory = the_directory(places)
    try:
        return Lease(name, _Queue(directory, name, slots, say).wait(wait_s))
    finally:
        os.close(directory)


def is_held_above(name: str) -> bool:
    for one in os.environ.get(HELD, "").split(":"):
        held, _, pid = one.partition("=")
        if held == name and pid.isdigit() and os.path.exists(f"/proc/{pid}"):  # noqa: PTH110
            return True
    return False


class _Late(Exception):
    pass


class _Queue:
    """One waiter at a time, behind a gate whose queue is the kernel's, looks for a free slot: so
    who came first is first, and a hundred waiters cost no more than one."""

    def __init__(self, directory: int, name: str, slots: int, say: Callable[[str], object]) -> None:
        self._directory = directory
        self._name = name
        self._slots = slots
        self._say = say
        self._deadline = 0.0
        self._tell_at = 0.0

    def wait(self, wait_s: float) -> int:
        gate = open_file(self._directory, f"{self._name}.{GATE}")
        try:
            if _try(gate):
                found = self._free_slot()
                if found is not None:
                    return found
            return self._wait(gate, wait_s)
        finally:
            os.close(gate)

    def _wait(self, gate: int, wait_s: float) -> int:
        self._deadline = time.monotonic() + wait_s
        before = _signal.signal(_signal.SIGALRM, lambda *_: self._think())
        try:
            self._think()
            # The handler tells from time to time, and raises when the time is over.
            _signal.setitimer(_signal.ITIMER_REAL, min(1.0, max(0.001, wait_s)), 1.0)
            fcntl.flock(gate, fcntl.LOCK_EX)
            while (found := self._free_slot()) is None:
                time.sleep(min(LOOK_AGAIN_S, max(0.0, self._deadline - time.monotonic()) + 0.001))
                self._think()
            return found
        except _Late:
            who = self._who()
            raise LeaseRefused(
                f"the lease {self._name} was not free within {_seconds(wait_s)}: held by {who}"
            ) from None
        finally:
            _signal.setitimer(_signal.ITIMER_REAL, 0)
            _signal.signal(_signal.SIGALRM, before or _signal.SIG_DFL)

    def _think(self) -> None:
        now = time.monotonic()
        if now >= self._deadline:
            # Once: the timer may ring again while who holds it is looked up for the refusal.
            self._deadline = self._tell_at = NEVER
            raise _Late
        if now >= self._tell_at:
            self._tell_at = now + TELL_AGAIN_S
            self._say(f"waiting for the lease {self._name}, held by {self._who()}")

    def _free_slot(self) -> int | None:
        for slot in range(self._slots):
            descriptor = open_file(self._directory, f"{self._name}.{slot}")
            if _try(descriptor):
                _sign(descriptor)
                return descriptor
            os.close(descriptor)
        return None

    def _who(self) -> str:
        held = [one for one in holders_in(self._directory, self._name) if one.slot < self._slots]
        return ", ".join(map(str, held)) or "nobody any more, with others before us"


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EACCES):
            raise
        return False
    return True


def _sign(descriptor: int) -> None:
    run = os.environ.get("PADDOCK_RUN_NAME") or os.environ.get("PADDOCK_RUN", "")
    text = f"{os.getpid()} {int(time.time())} {run}".split("\n", 1)[0]
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(errors="replace")[:LONGEST_NOTE], 0)
    except OSError:
        pass  # a full disk: the lock is what counts


def _seconds(seconds: float) -> str:
    from paddock.core.units import format_duration

    return format_duration(seconds)


# -- looking ------------------------------------------------------------------------------------


def all_held(places: tuple[str, ...] = PLACES) -> dict[str, list[Holder]]:
    """Every lease that is held now, by name."""
    directory = the_directory(places)
    try:
        names = {file.rpartition(".")[0] for file in os.listdir(directory)}
        found = {
            name: holders_in(directory, name) for name in sorted(names) if not check_name(name)
        }
        return {name: held for name, held in found.items() if held}
    finally:
        os.close(directory)


def holders_in(directory: int, name: str) -> list[Holder]:
    """Asked with a shared lock for an instant: whoever tries meanwhile looks again."""
    found = []
    for file in os.listdir(directory):
        before, _, slot = file.rpartition(".")
        if before == name and slot.isascii() and slot.isdigit():
            holder = _holder(directory, file, int(slot))
            if holder is not None:
                found.append(holder)
    return sorted(found, key=lambda one: one.slot)


def _holder(directory: int, file: str, slot: int) -> Holder | None:
    try:
        descriptor = os.open(
            file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=directory
        )
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return Holder(slot, os.pread(descriptor, LONGEST_NOTE, 0).decode(errors="replace"))
    finally:
        os.close(descriptor)
    return None


def as_object(held: dict[str, list[Holder]]) -> dict[str, Any]:
    return {
        name: [{"slot": h.slot, "pid": h.pid, "run": h.run, "since": h.since} for h in holders]
        for name, holders in held.items()
    }
