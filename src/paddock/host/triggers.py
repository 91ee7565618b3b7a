"""Being told by the kernel instead of looking: PSI triggers, v2's event files, v1's eventfds.

`Alarms` only rings: what is wrong, and what to do, is for whoever looks then. A kernel that refuses
one is no error, there is still the regular look.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import select
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

log = logging.getLogger("paddock.alarms")

# Tasks that stalled for 150 ms within the window. Without CAP_SYS_RESOURCE a kernel takes only
# windows of a multiple of 2 s (EINVAL otherwise, seen on 6.18), and looks once in 2 s.
STALL_S: Final = 0.15
WINDOWS_S: Final = (1.0, 2.0)


class AlarmKind(StrEnum):
    STALL = "stall"  # PSI: `some` above STALL_S in a window
    EVENTS = "events"  # a v2 file such as memory.events changed
    OOM = "oom"  # v1: the cgroup is out of memory


@dataclass(frozen=True, slots=True)
class Alarm:
    """What was asked for, so that whoever is rung knows where to look."""

    kind: AlarmKind
    path: Path  # the file that was asked to tell
    window_s: float | None = None  # of a stall: the one that the kernel took


class _Source(Protocol):
    """Something that becomes ready; `heard` makes it unready, and is False once it is gone."""

    alarm: Alarm

    def heard(self) -> bool: ...

    def close(self) -> None: ...


class Alarms:
    """Rings in the event loop. One that rings often rings often: gathering is the listener's.

    A stall or a v1 alarm whose cgroup is removed rings a last time and is forgotten. That an event
    file went nobody is told (seen on 6.18): take its alarm back with the cgroup.
    """

    def __init__(self, ring: Callable[[Alarm], None]) -> None:
        self._ring = ring
        self._loop = asyncio.get_running_loop()
        # By the descriptor that the loop, or the shared epoll, watches.
        self._sources: dict[int, _Source] = {}
        self._shared: select.epoll | None = None

    @property
    def watched(self) -> frozenset[Alarm]:
        return frozenset(source.alarm for source in self._sources.values())

    def add_stall(self, file: Path) -> Alarm | None:
        """Of `/proc/pressure/memory`, or of a v2 cgroup's `memory.pressure`."""
        stall = _first_taken(file)
        if stall is None:
            return None
        self._sources[stall.epoll.fileno()] = stall
        self._loop.add_reader(stall.epoll.fileno(), self._heard, stall.epoll.fileno())
        return stall.alarm

    def add_events(self, file: Path) -> Alarm | None:
        """Of a v2 cgroup's `memory.events` or `cgroup.events`."""
        try:
            events = _Events(file)
        except OSError as error:
            _refused(file, error)
            return None
        return self._share(events.descriptor, events, mask=select.EPOLLPRI)

    def add_oom(self, cgroup: Path) -> Alarm | None:
        """Of a v1 memory cgroup."""
        alarm = Alarm(AlarmKind.OOM, cgroup / "memory.oom_control")
        try:
            counter = _Counter(alarm)
        except OSError as error:
            _refused(alarm.path, error)
            return None
        return self._share(counter.descriptor, counter, mask=select.EPOLLIN)

    def remove(self, alarm: Alarm) -> None:
        """No harm in repeating it, or in being late: its cgroup may be gone."""
        for descriptor, source in list(self._sources.items()):
            if source.alarm == alarm:
                self._drop(descriptor)

    def close(self) -> None:
        for descriptor in list(self._sources):
            self._drop(descriptor)
        if self._shared is not None:
            self._loop.remove_reader(self._shared.fileno())
            self._shared.close()
            self._shared = None

    def _share(self, descriptor: int, source: _Source, *, mask: int) -> Alarm:
        """All but stalls stay ready until they were read, so one epoll serves any number."""
        if self._shared is None:
            self._shared = select.epoll()
            self._loop.add_reader(self._shared.fileno(), self._hear_shared)
        self._shared.register(descriptor, mask)
        self._sources[descriptor] = source
        return source.alarm

    def _hear_shared(self) -> None:
        # One call of the loop's, many alarms: a ring may close us or remove some of the others.
        for descriptor, _ in self._shared.poll(0) if self._shared else ():
            self._heard(descriptor)

    def _heard(self, descriptor: int) -> None:
        source = self._sources.get(descriptor)
        if source is None:
            return
        if not source.heard():
            self._drop(descriptor)
        self._ring(source.alarm)

    def _drop(self, descriptor: int) -> None:
        source = self._sources.pop(descriptor)
        if isinstance(source, _Stall):
            self._loop.remove_reader(descriptor)
        elif self._shared is not None:
            self._shared.unregister(descriptor)
        source.close()


class _Stall:
    """A PSI trigger, in an epoll of its own.

    Being asked is what resets a trigger. The loop asks its epoll, that asks ours, and ours asks the
    trigger: when our turn comes to ask, nothing is ready any more (seen: every wake-up found an
    empty list). So being woken is the message, and an epoll shared by two could not say whose.
    """

    def __init__(self, file: Path, window_s: float) -> None:
        self.alarm = Alarm(AlarmKind.STALL, file, window_s)
        # The trigger lasts as long as this descriptor. The kernel wants the NUL at its end.
        line = f"some {STALL_S * 1e6:.0f} {window_s * 1e6:.0f}\0"
        self._descriptor = os.open(file, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        with contextlib.ExitStack() as undo:
            undo.callback(os.close, self._descriptor)
            os.write(self._descriptor, line.encode())
            self.epoll = select.epoll()
            undo.callback(self.epoll.close)
            self.epoll.register(self._descriptor, select.EPOLLPRI)
            undo.pop_all()

    def heard(self) -> bool:
        return not any(mask & select.EPOLLERR for _, mask in self.epoll.poll(0))

    def close(self) -> None:
        self.epoll.close()
        os.close(self._descriptor)


class _Events:
    """A file of a v2 cgroup: POLLPRI after each change, until it is read again."""

    def __init__(self, file: Path) -> None:
        self.alarm = Alarm(AlarmKind.EVENTS, file)
        self.descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        if not self.heard():  # what it says so far is no news
            os.close(self.descriptor)
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV), str(file))

    def heard(self) -> bool:
        try:
            os.pread(self.descriptor, 4096, 0)
        except OSError:  # ENODEV: removed, and would be ready for ever
            return False
        return True

    def close(self) -> None:
        os.close(self.descriptor)


class _Counter:
    """An eventfd that a v1 memory cgroup was asked to count up."""

    def __init__(self, alarm: Alarm) -> None:
        self.alarm = alarm
        control = alarm.path.with_name("cgroup.event_control")
        with contextlib.ExitStack() as done, contextlib.ExitStack() as undo:
            told = os.open(alarm.path, os.O_RDONLY | os.O_CLOEXEC)
            done.callback(os.close, told)
            asking = os.open(control, os.O_WRONLY | os.O_CLOEXEC)
            done.callback(os.close, asking)
            self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
            undo.callback(os.close, self.descriptor)
            os.write(asking, f"{self.descriptor} {told} ".encode())
            undo.pop_all()

    def heard(self) -> bool:
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self.descriptor)
        # The removal of the cgroup counts it up too, once.
        return self.alarm.path.exists()

    def close(self) -> None:
        os.close(self.descriptor)


def _first_taken(file: Path) -> _Stall | None:
    """The trigger with the shortest window that the kernel takes."""
    for window_s in WINDOWS_S:
        try:
            return _Stall(file, window_s)
        except OSError as error:
            refused = error
            # Only these can be about the window; anything else will not get better.
            if error.errno not in (errno.EINVAL, errno.EPERM):
                break
    _refused(file, refused)
    return None


def _refused(file: Path, error: OSError) -> None:
    log.info("no alarm from %s: %s", file, error.strerror)
