"""The store's own thread: a disk may keep it waiting as long as it likes, and nobody else."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final, TypeVar

T = TypeVar("T")

# At the end of a daemon, for each thing it waits for: `paddock daemon stop` looks for a minute
# whether all of it is done. A disk that answers later has lost nothing: none of it was promised.
ANSWERS_WITHIN_S: Final = 10.0
NO_ANSWER: Final = "the disk of the store does not answer: %s"

Done = Callable[[T | None, BaseException | None], None]


class Disk:
    """Does one piece of work after the other, and says in the loop what came of it.

    An executor would do the same through two futures and more turns of the loop: 40 µs of CPU for
    a submission (643 against 605, interleaved).
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._work: SimpleQueue[tuple[Callable[[], object], Done[object]] | None] = SimpleQueue()
        # Nobody waits for it at the very end: what it has not committed was never promised.
        self._thread = threading.Thread(target=self._serve, name="store", daemon=True)
        self._thread.start()

    def do(self, work: Callable[[], T], done: Done[T]) -> None:
        self._work.put((work, done))  # type: ignore[arg-type]  # each with its own kind of result

    async def result_of(self, work: Callable[[], T]) -> T:
        answer: asyncio.Future[T] = self._loop.create_future()

        def done(result: T | None, error: BaseException | None) -> None:
            if answer.done():
                return  # whoever asked has gone
            if error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(result)  # type: ignore[arg-type]

        self.do(work, done)
        return await answer

    async def close(self) -> None:
        """After all that was asked for so far."""
        self._work.put(None)
        while self._thread.is_alive():  # not by another thread: those may have work for minutes
            await asyncio.sleep(0.002)

    def _serve(self) -> None:
        while (asked := self._work.get()) is not None:
            work, done = asked
            result, problem = None, None
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001 - told to whoever asked
                problem = error
            try:
                self._loop.call_soon_threadsafe(done, result, problem)
            except RuntimeError:
                return  # the loop is closed: there is nobody left to tell
            del asked, work, done, result, problem  # held until the next one came otherwise
