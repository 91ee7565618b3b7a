"""One run in the foreground: its output to stdout, signals to it, and its end as a view.

Threads read, the main thread decides: a signal handler only leaves a word in the mailbox, so
nothing is torn in the middle, and a reader that blocks never keeps Ctrl-C from being heard.
"""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import takewhile
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING, Final

from paddock.core.units import format_size

from .connecting import Door
from .exits import ExitCode, OutputLost
from .printing import coloured, counted, note, safe
from .staying import Staying

if TYPE_CHECKING:
    from paddock.client import Record
    from paddock.wire.views import RunView, Taken

CANCEL: Final = (signal.SIGINT, signal.SIGTERM)
# A connection that broke is no reason to lose hours of work.
LEAVE: Final = (signal.SIGQUIT, signal.SIGHUP)
WAITING_EVERY_S: Final = 1.0
RUNNING_EVERY_S: Final = 5.0
IN_SCRIPTS_EVERY_S: Final = 10.0  # there may be hundreds of them
RETRIED_EVERY_S: Final = 1.0
# `timeout` signals its child and then the group, milliseconds apart: that is one wish, not two.
ONE_WISH_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Signalled:
    number: int


@dataclass(frozen=True, slots=True)
class Over:
    run: RunView


class ReaderLeft:
    """Nobody reads our stdout any more."""


@dataclass(frozen=True, slots=True)
class Broke:
    error: Exception


Word = Signalled | Over | ReaderLeft | Broke


@dataclass(frozen=True, slots=True)
class Followed:
    """How following ended: with the run, or with a code because we went away before it."""

    run: RunView | None
    code: ExitCode | None = None


class Follower:
    def __init__(
        self, run: Taken, door: Door, *, write: Callable[[bytes], None], retries: int = 0
    ) -> None:
        self._run = run
        # One that may be tried again is looked at often enough to see the shortest wait for it.
        usual_s = RUNNING_EVERY_S if sys.stderr.isatty() else IN_SCRIPTS_EVERY_S
        self._look_every_s = RETRIED_EVERY_S if retries else usual_s
        self._door = door
        self._write = write
        self._mailbox: SimpleQueue[Word] = SimpleQueue()
        self._notice = Notice(sys.stderr)
        self._over = threading.Event()
        self._stops = 0
        self._cancelled_by = 0

    def follow(self) -> Followed:
        with listening(lambda number: self._mailbox.put(Signalled(number))):
            self._in_thread(self._read)
            threading.Thread(target=self._say_why_it_waits, daemon=True).start()
            try:
                return self._decide()
            finally:
                self._over.set()
                self._notice.clear()

    def _decide(self) -> Followed:
        while True:
            word = self._mailbox.get()
            match word:
                case Over(run):
                    return Followed(run, self._code_of_cancel(run))
                case Broke(error):
                    raise error
                case ReaderLeft():
                    self._kill(force=False)
                    return Followed(None, ExitCode.BROKEN_PIPE)
                case Signalled(number) if number in LEAVE:
                    self._say(f"left running: paddock logs -f {self._run.id}")
                    return Followed(None, ExitCode.LEFT_RUNNING)
                case Signalled(number):
                    if self._cancel(number):
                        return Followed(None, ExitCode.INTERRUPTED)

    def _cancel(self, number: int) -> bool:
        """The first time politely, then by force; the third time we are no longer wanted."""
        self._stops += 1
        self._cancelled_by = number
        if self._stops > 2:
            return True
        force = self._stops == 2
        name = self._run.name
        again = "; Ctrl-C again kills it" if number == signal.SIGINT else ""
        self._say(f"killing {name}" if force else f"stopping {name}{again}")
        self._in_thread(lambda: self._kill(force=force))
        return False

    def _code_of_cancel(self, run: RunView) -> ExitCode | None:
        if run.outcome == "cancelled" and self._cancelled_by == signal.SIGTERM:
            return ExitCode.TERMINATED
        return None

    def _kill(self, *, force: bool) -> None:
        from paddock.client.errors import Refused

        # Refused: it has ended meanwhile, and its reader will say how.
        with suppress(Refused), Staying(self._door) as daemon:
            daemon.ask(lambda client: client.kill((self._run.id,), force=force))

    def _in_thread(self, work: Callable[[], None]) -> None:
        def guarded() -> None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - the main thread raises it
                self._mailbox.put(Broke(error))

        threading.Thread(target=guarded, daemon=True).start()

    def _read(self) -> None:
        with Staying(self._door) as daemon:
            for record in daemon.records(self._run.id):
                self._notice.clear()
                if record.missing_bytes:
                    self._say(missing(record))
                try:
                    self._write(record.data)
                except BrokenPipeError:
                    self._mailbox.put(ReaderLeft())
                    return
            self._mailbox.put(Over(daemon.view(self._run.id)))

    def _say_why_it_waits(self) -> None:
        """In the queue, before another try, and after it had to give way to another run."""
        from paddock.client.errors import ClientError

        said: tuple[int, int | None] | None = None
        every_s = 0.0 if self._run.state == "queued" else self._next_look_s(self._run.state)
        # Trouble is the reader's to tell.
        with suppress(ClientError, OSError), Staying(self._door) as daemon:
            while not self._over.wait(every_s):
                run = daemon.view(self._run.id)
                if run.state == "ended":
                    return
                if run.state != "queued":
                    every_s = self._next_look_s(run.state)
                    self._say_that_it_starts(run)
                    continue
                every_s = WAITING_EVERY_S
                if self._notice.in_place or said != (run.attempt, run.place):
                    said = run.attempt, run.place
                    self._notice.say(_why_it_waits(run, daemon))

    def _say_that_it_starts(self, run: RunView) -> None:
        """Of one whose clone takes its time; in a script nobody waits for it."""
        if run.state == "starting" and self._notice.in_place:
            self._notice.say(run.sentence)
        else:
            self._notice.clear()

    def _next_look_s(self, state: str) -> float:
        """One that starts may come back, for want of a workspace, and its start takes no second."""
        return WAITING_EVERY_S if state == "starting" else self._look_every_s

    def _say(self, text: str) -> None:
        self._notice.clear()
        note(text)


def _why_it_waits(run: RunView, daemon: Staying) -> str:
    waits = run.waits_for or run.sentence
    if not run.attempt:
        return f"queued: {waits}"
    if run.place is None:  # "tried again in 5 s (ended with exit code 3)"
        return waits
    moves = daemon.ask(lambda client: client.story(run.id))
    # What brought it back here, and not what moved it within the queue since.
    back = list(takewhile(lambda move: move.state == "queued", reversed(moves)))
    because = f"{back[-1].because}; " if back else ""
    return f"queued again: {because}{waits}"


class Notice:
    """A line on stderr that is written over on a terminal, and cleared before anything else."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._shown = False
        self.in_place = coloured(stream)

    def say(self, text: str) -> None:
        with self._lock:
            end = "" if self.in_place else "\n"
            start = "\r\x1b[K" if self.in_place else ""
            line = f"paddock: {safe(text)}"
            self._stream.write(start + (self._cut(line) if self.in_place else line) + end)
            self._stream.flush()
            self._shown = self.in_place

    def clear(self) -> None:
        if not self._shown:
            return
        with self._lock:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._shown = False

    def _cut(self, line: str) -> str:
        from .printing import terminal_width
        from .tables import cut

        return cut(line, (terminal_width(self._stream) or 80) - 1)


@contextmanager
def listening(tell: Callable[[int], None]) -> Iterator[None]:
    """The signals of a terminal go to `tell`; one that was ignored from outside stays so."""
    before, terminated_at = {}, -math.inf

    def hear(number: int, _frame: object) -> None:
        nonlocal terminated_at
        if number == signal.SIGTERM:
            last_at, terminated_at = terminated_at, time.monotonic()
            if terminated_at - last_at < ONE_WISH_S:
                return
        tell(number)

    for number in (*CANCEL, *LEAVE):
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, hear)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def missing(record: Record) -> str:
    """Output that was written and is not there any more."""
    lines = "" if record.missing_lines is None else f" ({counted(record.missing_lines, 'line')})"
    return f"{format_size(record.missing_bytes)}{lines} of its output are not kept"


class Screen:
    """Where an agent's output is shown: on a terminal only as text, and colours if it has them."""

    def __init__(self, stream: IO[str]) -> None:
        from paddock.wire.plain_text import Cleaner

        self._write = raw_writer(stream)
        self._cleaner = Cleaner(colours=coloured(stream)) if stream.isatty() else None

    def __call__(self, data: bytes) -> None:
        self._write(data if self._cleaner is None else self._cleaner.feed(data))

    def close(self) -> None:
        if self._cleaner is not None:
            with suppress(OSError, OutputLost):
                self._write(self._cleaner.close())


def raw_writer(stream: IO[str]) -> Callable[[bytes], None]:
    """Bytes as they are, at once, and without the buffer's lock: a thread that blocks in it while
    the interpreter ends would abort the program."""
    stream.flush()
    buffer = stream.buffer  # type: ignore[attr-defined]
    raw = getattr(buffer, "raw", buffer)

    def write(data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[raw.write(view) or 0 :]
        except BrokenPipeError:
            raise  # its reader went away, which is no trouble
        except OSError as error:
            raise OutputLost(error.strerror or str(error)) from error

    return write
