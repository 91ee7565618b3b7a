"""The relay's loop: what is ready is moved, who has ended is dealt with, until all is done."""

# contextlib would cost 0.6 MB of memory.
# ruff: noqa: SIM105
from __future__ import annotations

import os
import select
import time
from functools import partial

from .by_chunk import ByChunk
from .by_stream import ByStream
from .ends import BY_SIGNAL, NO_DISK, Trouble, say
from .intake import Intake
from .resuming import resume
from .runner import Runner
from .signals import CHECKPOINT, ENDING, Signals, end, kill
from .spec import BY_CHUNK, read_stage, spool_of
from .spool import Spool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .spec import Stage

REQUEST, WRITTEN = "PADDOCK_CHECKPOINT_REQUEST", "PADDOCK_CHECKPOINT_WRITTEN"


def main(words: list[str]) -> int:
    try:
        stage = read_stage(words, os.environ)
        relay = Relay(stage, Spool(spool_of(os.environ), stage))
    except Trouble as trouble:
        say(str(trouble))
        return trouble.code
    except OSError as error:
        say(_disk(error))
        return NO_DISK
    return relay.run()


def _disk(error: OSError) -> str:
    where = f" ({error.filename})" if error.filename else ""
    return (
        f"the stage's spool cannot be written or read: {error.strerror}{where}; "
        "it goes on where it was once that is mended"
    )


class Relay:
    def __init__(self, stage: Stage, spool: Spool) -> None:
        self._stage = stage
        self._spool = spool
        self._code: int | None = None  # with what it ends, once it is being ended
        self._was_asked = False  # for a checkpoint, by a file that is still there
        self._signals = Signals()
        self._runners = [self._runner(n) for n, runs in enumerate(resume(stage, spool)) if runs]

    def _runner(self, index: int) -> Runner:
        kind = ByChunk if self._stage.steps[index].each == BY_CHUNK else ByStream
        runner = (kind if index else Runner)(self._stage, index, self._spool)
        if index < len(self._stage.steps) - 1:
            runner.intake = Intake(self._spool, self._stage, self._spool.ledger.links[index])
        return runner

    def run(self) -> int:
        while True:
            try:
                look_at = self._advance(time.monotonic())
                if self._is_over():
                    return self._close()
                self._wait(look_at)
                self._reap()
            except Trouble as trouble:
                self._fail(trouble.code, str(trouble))
            except OSError as error:
                self._fail(NO_DISK, _disk(error))

    def _is_over(self) -> bool:
        alive = any(runner.pid for runner in self._runners)
        is_done = len(self._stage.steps) - 1 in self._spool.ledger.done
        return not alive and (is_done or self._code is not None)

    def _close(self) -> int:
        if self._code is not None:
            self._write_last_words()
            return self._code
        self._spool.sweep()
        self._spool.free_reserve()
        return 0

    def _write_last_words(self) -> None:
        """What was acknowledged while they were being ended; no further trouble is of interest."""
        try:
            for runner in self._runners:
                runner.last_words()
        except (Trouble, OSError):
            pass

    # -- one turn -----------------------------------------------------------------------------

    def _advance(self, now: float) -> float | None:
        """Whatever can be done without waiting; when to look again."""
        looks = [self._press(runner, now) for runner in self._runners]
        if self._code is None:
            self._look_for_request()
            done = self._spool.ledger.done
            for runner in self._runners:
                if not runner.is_unneeded and not runner.is_done:
                    looks.append(runner.advance(now, ended=runner.index - 1 in done))
                if runner.is_done:
                    self._leave_those_before(runner, now)
            looks += [self._hand_over(runner, now) for runner in self._runners]
            if any(one.intake.try_again() for one in self._runners if one.intake is not None):
                looks.append(now)
        return min((at for at in looks if at is not None), default=None)

    def _hand_over(self, runner: Runner, now: float) -> float | None:
        """To a reader that has nothing to read: what has come, be it little."""
        readers = [one for one in self._runners if one.index == runner.index + 1]
        if not self._may_seal(runner) or not any(reader.is_hungry for reader in readers):
            return None
        assert runner.intake is not None
        at = runner.intake.seal_at()
        if at is not None and at <= now:
            runner.intake.seal()
            return now
        return at

    def _may_seal(self, runner: Runner) -> bool:
        """What is run by chunks begins its chunk again after a kill: what it wrote for half of one
        is of no use before all of it is there."""
        if runner.intake is None or runner.is_unneeded or runner.is_done:
            return False
        return not isinstance(runner, ByChunk)

    def _wait(self, until: float | None) -> None:
        poller = select.poll()
        poller.register(self._signals.descriptor, select.POLLIN)
        calls: dict[int, Callable[[], None]] = {}
        for runner in self._runners:
            self._watch(runner, poller, calls)
        wait_s = None if until is None else max(0.0, until - time.monotonic())
        for descriptor, _ in poller.poll(None if wait_s is None else int(1000 * wait_s) + 1):
            if descriptor == self._signals.descriptor:
                self._hear(self._signals.take())
            elif self._code is None:
                calls[descriptor]()

    def _watch(
        self, runner: Runner, poller: select.poll, calls: dict[int, Callable[[], None]]
    ) -> None:
        if self._code is not None or runner.is_unneeded or runner.is_done:
            return
        intake = runner.intake
        if intake is not None and intake.has_room:
            poller.register(intake.descriptor, select.POLLIN)
            calls[intake.descriptor] = intake.pump
        for descriptor, writes in runner.wanted().items():
            poller.register(descriptor, select.POLLOUT if writes else select.POLLIN)
            calls[descriptor] = partial(runner.ready, descriptor)

    # -- signals ------------------------------------------------------------------------------

    def _hear(self, numbers: bytes) -> None:
        for number in numbers:
            if number in ENDING and self._code is None:
                self._seal_all()
                self._end(BY_SIGNAL + number)
            elif number == CHECKPOINT and self._code is None:
                self._checkpoint()

    def _look_for_request(self) -> None:
        """A signal may come before we listen, or be lost while a step is started; a file stays."""
        is_asked = _is_there(REQUEST) and not _is_there(WRITTEN)
        if is_asked and not self._was_asked:
            self._checkpoint()
        self._was_asked = is_asked

    def _checkpoint(self) -> None:
        self._seal_all()
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            os.close(os.open(os.environ[WRITTEN], flags, 0o600))
        except (KeyError, OSError):
            pass  # nobody waits for it there

    def _seal_all(self) -> None:
        for runner in self._runners:
            if self._may_seal(runner) and runner.intake is not None:
                runner.intake.seal()
            runner.last_words()

    # -- ends ---------------------------------------------------------------------------------

    def _reap(self) -> None:
        for runner in self._runners:
            if not runner.pid:
                continue
            pid, status = os.waitpid(runner.pid, os.WNOHANG)
            if pid == 0:
                continue
            code = os.waitstatus_to_exitcode(status)
            runner.pid, runner.code = 0, code if code >= 0 else BY_SIGNAL - code
            if code != 0 and not runner.is_unneeded:
                how = f"ended with {code}" if code > 0 else f"was ended by signal {-code}"
                self._fail(runner.code, f"step {runner.step.name} {how}")

    def _fail(self, code: int, text: str) -> None:
        """The first trouble is what is said; what follows from it is not."""
        if self._code is None:
            say(text)
            self._end(code)

    def _end(self, code: int) -> None:
        """Input stays open until they are gone: an end of it would look like the stream's."""
        self._code = code
        now = time.monotonic()
        for runner in self._runners:
            runner.term_at, runner.kill_at = now, None
            self._press(runner, now)

    def _leave_those_before(self, reader: Runner, now: float) -> None:
        """Who reads has ended well, and needed no more: as in a shell, that is no failure."""
        for runner in self._runners[: self._runners.index(reader)]:
            if not runner.is_done and not runner.is_unneeded:
                runner.leave()
                runner.term_at = now + self._stage.grace_s

    def _press(self, runner: Runner, now: float) -> float | None:
        if not runner.pid:
            return None
        if runner.term_at is not None and now >= runner.term_at:
            end(runner.pid)
            runner.term_at, runner.kill_at = None, now + self._stage.grace_s
        if runner.kill_at is not None and now >= runner.kill_at:
            kill(runner.pid)
            runner.kill_at = None
        return runner.kill_at if runner.term_at is None else runner.term_at


def _is_there(variable: str) -> bool:
    path = os.environ.get(variable)
    return path is not None and os.access(path, os.F_OK)
