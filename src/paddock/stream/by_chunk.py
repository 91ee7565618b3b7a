"""A step that is run once for each chunk, with the chunk as its input. Exit 0 acknowledges it."""

from __future__ import annotations

import os

from .chunks import WINDOW_BYTES, give_back
from .runner import Runner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .ledger import Chunk
    from .spec import Stage
    from .spool import Spool

GIVE_BACK_S = 0.25


class ByChunk(Runner):
    def __init__(self, stage: Stage, index: int, spool: Spool) -> None:
        super().__init__(stage, index, spool)
        self.link = spool.ledger.links[index - 1]
        self._chunk: Chunk | None = None
        self._descriptor = -1
        self._given_back_at = 0.0
        # One at a time: of those that an earlier life sealed it can have begun the first.
        self._maybe_below = max(self.link.reached, self.link.kept[0].end if self.link.kept else 0)

    @property
    def is_hungry(self) -> bool:
        return self._chunk is None and not self.link.kept

    def advance(self, now: float, *, ended: bool) -> float | None:
        if self._chunk is not None and self.has_ended_well:
            self._acknowledge(self._chunk)
        if self._chunk is None and self.link.kept and self.link.kept[0].is_there:
            self._begin(self.link.kept[0])
        if self.is_hungry and ended:
            self.finish()
        if self._chunk is None or self._chunk.size < WINDOW_BYTES:
            return None
        return self._give_back(now)

    def _begin(self, chunk: Chunk) -> None:
        self._chunk = chunk
        self._descriptor = os.open(self.spool.path(self.link, chunk), os.O_RDONLY | os.O_CLOEXEC)
        facts: dict[str, object] = {
            "PADDOCK_CHUNK": chunk.number,
            "PADDOCK_CHUNK_FIRST_BYTE": chunk.at,
            "PADDOCK_CHUNK_LAST_BYTE": chunk.end - 1,
        }
        if chunk.at < self._maybe_below:
            facts["PADDOCK_CHUNK_MAYBE_DONE"] = 1
        self.start(facts, {0: self._descriptor})

    def _acknowledge(self, chunk: Chunk) -> None:
        """With what it wrote about it, where another step reads that."""
        ack: dict[str, object] = {"link": self.link.index, "upto": chunk.end}
        if self.intake is not None:
            self.intake.finish(ack)
            self.intake.close()
        else:
            self.spool.acknowledge(ack)
        os.close(self._descriptor)
        self._chunk, self._descriptor, self.code = None, -1, None

    def _give_back(self, now: float) -> float:
        """Its place in the file is ours too: what it has read need not stay in memory."""
        if now >= self._given_back_at + GIVE_BACK_S:
            self._given_back_at = now
            place = os.lseek(self._descriptor, 0, os.SEEK_CUR)
            if place > 0:  # 0 would mean all of it
                give_back(self._descriptor, place)
        return self._given_back_at + GIVE_BACK_S
