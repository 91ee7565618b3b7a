"""What attempts are called and how they are spoken to, whichever driver they live in."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

from paddock.cgroups.files import number
from paddock.cgroups.group import Walls
from paddock.core.events import CheckpointDeclined, CheckpointWritten, Event
from paddock.core.run import Attempt, Priority
from paddock.ports import Launch

SAFE_RUN: Final = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]+")
OURS: Final = "PADDOCK_"
MARK: Final = "PADDOCK_ATTEMPT"  # the keeper, which imports nothing, has it too
LARGEST_NOTE: Final = 64 * 1024
CHECKPOINT_LOOK_S: Final = 0.05
YOUNG_S: Final = 2.0  # so long a program may take until it has set its handlers
# The kernel adds this to an agent's size, in thousandths of the fleet's wall: one of low priority
# goes before one of high priority that is larger by less than three quarters of the wall. Raising
# it is everybody's right.
OOM_SCORES: Final = {
    Priority.CRITICAL: 100,
    Priority.HIGH: 250,
    Priority.NORMAL: 500,
    Priority.LOW: 1000,
}
_INSTANCE: Final = re.compile(r"[0-9a-f]{16}")
# What `paddock` inside an agent needs to find the daemon that its submitter spoke with.
_HANDED_ON: Final = ("PADDOCK_STATE", "PADDOCK_PROFILE")

log = logging.getLogger("paddock.attempts")


# -- names --------------------------------------------------------------------------------------


def name_of(attempt: Attempt) -> str:
    return f"{attempt.run}.{attempt.number}"


def attempt_of(name: str) -> Attempt | None:
    """None for what names none: a process may wear any mark, and put anything into it."""
    run, _, text = name.rpartition(".")
    count = number(text)
    return None if count is None or not SAFE_RUN.fullmatch(run) else Attempt(run, count)


def unsafe(run: str) -> str | None:
    """Why nothing can have this run's name."""
    if SAFE_RUN.fullmatch(run):
        return None
    return f"the run's id {run!r} may hold only letters, digits and . _ -"


def instance_of(directory: Path) -> str:
    """This paddock's own random name, the same for ever: made once, by whoever comes first."""
    path = directory / "instance"
    for _ in range(2):
        try:
            found = note_in(path).decode("ascii", "replace").strip()
        except FileNotFoundError:
            found = ""
        except OSError:
            found = "no plain file"
        if _INSTANCE.fullmatch(found):
            return found
        fresh = directory / f".instance.{os.getpid()}"
        fresh.unlink(missing_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(8) + "\n")
        if found:
            fresh.replace(path)  # what is there is no name
            continue
        try:
            path.hardlink_to(fresh)  # unlike a rename, never takes the place of another's
        except FileExistsError:
            pass
        finally:
            fresh.unlink(missing_ok=True)
    return note_in(path).decode("ascii", "replace").strip()


# -- notes --------------------------------------------------------------------------------------


def note_in(path: str | Path, most: int = LARGEST_NOTE) -> bytes:
    """A small file of ours that lies where an agent may write too: no link is followed, no pipe is
    waited in, and no more is read than this. OSError where it is no plain file."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a plain file", str(path))
        return os.read(descriptor, most)
    finally:
        os.close(descriptor)


# -- walls --------------------------------------------------------------------------------------


def walls_of(launch: Launch) -> Walls:
    """As the submission's labels say them; what is no number was checked before, and is none."""
    labels = launch.labels
    high, pids = number(labels.get("memory_high", "")), number(labels.get("pids", ""))
    try:
        cpus = float(labels["cpu"])
    except (KeyError, ValueError):
        cpus = None
    # After an out-of-memory kill it may be tried with a larger limit: the label knows the first.
    high = None if high is None or not 0 < high < launch.limit_bytes else high
    return Walls(limit_bytes=launch.limit_bytes, high_bytes=high, pids=pids or None, cpus=cpus)


# -- signs --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Signs:
    """The files by which agent and driver speak beside signals, which may come too early for a
    program that is just starting, or be more than it can take (Node)."""

    soft_timeout: str
    checkpoint_request: str
    checkpoint_written: str

    def __iter__(self) -> Iterator[str]:
        return iter((self.soft_timeout, self.checkpoint_request, self.checkpoint_written))


def environment_of(launch: Launch, mark: str, signs: Signs) -> dict[str, str]:
    """The submitter's, without what another paddock around it may have said."""
    said = launch.environment.items()
    given = {k: v for k, v in said if not k.startswith(OURS) or k in _HANDED_ON}
    given |= launch.ours
    given |= {
        MARK: mark,
        "PADDOCK_RUN": launch.attempt.run,
        "PADDOCK_RUN_NAME": launch.name,
        "PADDOCK_ATTEMPT_NUMBER": str(launch.attempt.number),
        "PADDOCK_SOFT_TIMEOUT": signs.soft_timeout,
        "PADDOCK_CHECKPOINT_REQUEST": signs.checkpoint_request,
        "PADDOCK_CHECKPOINT_WRITTEN": signs.checkpoint_written,
    }
    return given | ({"PADDOCK_RESUME": "1"} if launch.resume else {})


def make_sign(path: str, mode: int = 0o600) -> None:
    """An empty file: that it is there is what it says. An agent may write to its directory, so a
    link or a FIFO in its place is not followed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        os.close(os.open(path, flags, mode))
    except OSError as error:
        log.warning("an agent is told by signal only: %s", error)


def remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)  # noqa: PTH108


def heeds(pid: int, number: int) -> bool | None:
    """Whether the process has a handler for the signal; None while it is too young to tell."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:  # noqa: PTH123 - as everywhere here
            caught = next((line for line in file if line.startswith(b"SigCgt:")), b"SigCgt:\t0")
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            begun = int(file.read().rpartition(b")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return False
    if int(caught.split()[1], 16) >> (number - 1) & 1:
        return True
    return None if time.clock_gettime(time.CLOCK_BOOTTIME) - begun < YOUNG_S else False


# -- checkpoints --------------------------------------------------------------------------------


class Asked(Protocol):
    """A life of either driver, as far as it is asked for a checkpoint."""

    @property
    def attempt(self) -> Attempt: ...

    @property
    def forgotten(self) -> bool: ...

    @property
    def tell(self) -> Callable[[Event], None]: ...


L = TypeVar("L", bound=Asked)


class Checkpoints(Generic[L]):
    """An agent is asked by a file and SIGUSR2, and answers with a file. No timer runs while nobody
    is asked.

    One that does not heed the signal is said to decline, unless it may be just starting. It may
    look at the file all the same: its answer is still waited for, and it is signalled as soon as
    it heeds."""

    def __init__(
        self,
        signs: Callable[[L], Signs],
        heeds: Callable[[L], bool | None],
        signal: Callable[[L], None],
        *,
        mode: int = 0o600,
    ) -> None:
        self._signs = signs
        self._heeds = heeds
        self._signal = signal
        self._mode = mode
        self._unheard: dict[Attempt, bool | None] = {}  # what was last known of it
        self._asked: dict[Attempt, L] = {}
        self._timer: asyncio.TimerHandle | None = None

    def ask(self, life: L) -> None:
        """An older file is no answer."""
        if life.attempt in self._asked:
            return
        signs = self._signs(life)
        remove(signs.checkpoint_written)
        make_sign(signs.checkpoint_request, self._mode)
        self._asked[life.attempt] = life
        self._watch()
        self._unheard[life.attempt] = None
        asyncio.get_running_loop().call_soon(self._try, life)

    def _try(self, life: L) -> None:
        """Until it heeds, which may be never."""
        if life.attempt not in self._unheard:
            return
        heeds, before = self._heeds(life), self._unheard[life.attempt]
        if heeds:
            del self._unheard[life.attempt]
            self._signal(life)
        elif heeds is False and before is None and not life.forgotten:
            self._unheard[life.attempt] = False
            life.tell(CheckpointDeclined(asyncio.get_running_loop().time(), life.attempt))

    def drop(self, life: L) -> None:
        self._asked.pop(life.attempt, None)
        self._unheard.pop(life.attempt, None)

    def close(self) -> None:
        self._asked.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _watch(self) -> None:
        if self._timer is None and self._asked:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(CHECKPOINT_LOOK_S, self._look)

    def _look(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for life in list(self._asked.values()):
            signs = self._signs(life)
            self._try(life)
            if os.access(signs.checkpoint_written, os.F_OK):
                self.drop(life)
                remove(signs.checkpoint_request)
                if not life.forgotten:
                    life.tell(CheckpointWritten(now, life.attempt))
        self._watch()
