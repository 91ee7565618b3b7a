"""When what was thought goes to the store: at once if somebody waits for it, and one at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, Protocol

from paddock.ports import Store
from paddock.storage.errors import StoreError
from paddock.supervisor.batch import Batch, Kept
from paddock.supervisor.disk import Disk
from paddock.supervisor.early import prepared_among
from paddock.supervisor.thoughts import Thought

# A step that nobody waits for (an agent was seen to run) is remembered with the next that somebody
# does wait for, or after this: half the commits of short runs, and none of them in a start's way.
LINGER_S: Final = 0.01


class Thinker(Protocol):
    """Who has the thoughts: the loop."""

    def batch_of(self, thoughts: list[Thought]) -> tuple[Batch, Callable[[], None]]:
        """What goes to the store, and what to do when it could not be kept."""

    def kept(self, thoughts: list[Thought], kept: Kept) -> None: ...

    def not_kept(self, error: StoreError, thoughts: list[Thought]) -> Awaitable[list[Thought]]:
        """What is to be tried again."""

    def broke(self, error: BaseException) -> None: ...


class Writer:
    """Everything that was thought meanwhile is one transaction."""

    def __init__(self, thinker: Thinker, store: Store, disk: Disk) -> None:
        self.thoughts: list[Thought] = []
        self._thinker = thinker
        self._store = store
        self._disk = disk
        self._failures: asyncio.Queue[tuple[StoreError, list[Thought]]] = asyncio.Queue()
        self._may_write = False
        self._writing = False
        self._is_due = False  # somebody waits for what was thought
        self._is_scheduled = False
        self._lingering: asyncio.TimerHandle | None = None
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def is_settled(self) -> bool:
        return self._idle.is_set()

    async def settled(self) -> None:
        await self._idle.wait()

    async def write(self) -> None:
        """While this runs, what was thought is remembered."""
        self._may_write = self._is_due = True
        self.flush()
        try:
            while True:
                error, thoughts = await self._failures.get()
                self.thoughts = await self._thinker.not_kept(error, thoughts) + self.thoughts
                self._writing, self._is_due = False, True
                self.flush()
        finally:
            self._may_write = False

    def add(self, thought: Thought, *, awaited: bool) -> None:
        """`awaited`: somebody waits for more than that it was seen."""
        self.thoughts.append(thought)
        self._idle.clear()
        if thought.answer is not None:
            self._is_due = True  # the loop flushes when it has thought of everything
        elif awaited:
            self._soon()
        elif self._lingering is None:
            loop = asyncio.get_running_loop()
            self._lingering = loop.call_later(LINGER_S, self._linger_no_longer)

    def flush(self) -> None:
        """Whatever is due, unless this turn of the loop has more to come, or the store is busy."""
        if self._writing or self._is_scheduled or not (self._is_due and self._may_write):
            return
        self._is_due = False
        if not self.thoughts:
            self._idle.set()
            return
        self._writing = True
        thoughts, self.thoughts = self.thoughts, []
        try:
            batch, undo = self._thinker.batch_of(thoughts)
        except Exception as error:  # noqa: BLE001 - a bug: the daemon starts anew
            self._thinker.broke(error)
            return
        done = partial(self._done, thoughts, undo)
        early = prepared_among(thoughts)
        self._disk.do(partial(batch.keep, self._store, early), done)

    def _done(
        self,
        thoughts: list[Thought],
        undo: Callable[[], None],
        kept: Kept | None,
        error: BaseException | None,
    ) -> None:
        if isinstance(error, StoreError):
            undo()
            self._failures.put_nowait((error, thoughts))
        elif error is not None:
            self._thinker.broke(error)
        elif kept is not None and self._may_write:
            # Once it may not, the next daemon derives what is to be done from the store.
            self._go_on(thoughts, kept)

    def _go_on(self, thoughts: list[Thought], kept: Kept) -> None:
        try:
            self._thinker.kept(thoughts, kept)
        except Exception as error:  # noqa: BLE001 - likewise
            self._thinker.broke(error)
            return
        self._writing = False
        self.flush()
        if not self.thoughts and not self._writing:
            self._idle.set()

    def _soon(self) -> None:
        """With all that follows in this turn of the loop: an exit and what it leads to are one."""
        self._is_due = True
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._flush_scheduled)

    def _flush_scheduled(self) -> None:
        self._is_scheduled = False
        self.flush()

    def _linger_no_longer(self) -> None:
        self._lingering = None
        self._soon()

    def stop(self) -> None:
        if self._lingering is not None:
            self._lingering.cancel()
