"""A step that reads a whole stream in one process. The last of a stage may acknowledge as it goes.

What a step in the middle has done is in its output, and nothing says which part of that belongs to
which part of its input: it is given no way to acknowledge, and reads from the beginning again.
"""

from __future__ import annotations

import errno
import os

from .acks import Acks
from .chunks import WINDOW_BYTES, give_back
from .ends import say
from .intake import a_pipe
from .runner import Runner
from .starting import ACK_DESCRIPTOR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .ledger import Chunk
    from .spec import Stage
    from .spool import Spool

SYNC_ACKS_S = 0.2
STUCK_S = 30.0
PIECE_BYTES = 64 << 10


class ByStream(Runner):
    def __init__(self, stage: Stage, index: int, spool: Spool) -> None:
        super().__init__(stage, index, spool)
        self.link = spool.ledger.links[index - 1]
        self._position = self.link.acked
        self._input = -1
        self._acks = Acks(self.step.name, self.link.acked)
        self._synced_at = 0.0
        self._stuck_since: float | None = None
        self._chunk: Chunk | None = None
        self._descriptor = -1
        self._given_back = 0

    @property
    def is_hungry(self) -> bool:
        return self._input >= 0 and self._position == self.link.sealed

    def advance(self, now: float, *, ended: bool) -> float | None:
        if not self.has_begun:
            self._begin()
        if ended and self.is_hungry:
            self._close_input()
        if self.has_ended_well:
            self.finish()
            return None
        again = [self._write_acks(now), self._make_room(now)]
        return min((at for at in again if at is not None), default=None)

    def _begin(self) -> None:
        read_end, self._input = a_pipe()
        os.set_blocking(self._input, False)
        facts: dict[str, object] = {"PADDOCK_STREAM_OFFSET": self._position}
        descriptors = {0: read_end}
        if self.intake is None:
            descriptors[ACK_DESCRIPTOR] = self._acks.pipe()
            facts["PADDOCK_ACK_FD"] = ACK_DESCRIPTOR
        try:
            self.start(facts, descriptors)
        finally:
            for descriptor in descriptors.values():
                os.close(descriptor)

    def wanted(self) -> dict[int, bool]:
        wanted = {}
        if self._input >= 0 and self._next() is not None:
            wanted[self._input] = True
        if self._acks.descriptor >= 0:
            wanted[self._acks.descriptor] = False
        return wanted

    def ready(self, descriptor: int) -> None:
        if descriptor == self._acks.descriptor:
            self._acks.hear(self._position)
        else:
            self._feed()

    def leave(self) -> None:
        super().leave()
        self._close_input()

    def last_words(self) -> None:
        if self._acks.descriptor >= 0:
            self._acks.hear(self._position)
        if self._acks.upto > self.link.acked and not self.is_done:
            self._acknowledge()

    # -- its input ----------------------------------------------------------------------------

    def _next(self) -> Chunk | None:
        """The chunk with the next byte."""
        chunk = self._chunk
        if chunk is None or self._position >= chunk.end:
            chunk = next((one for one in self.link.kept if one.end > self._position), None)
        return chunk if chunk is not None and chunk.is_there else None

    def _feed(self) -> None:
        chunk = self._next()
        if chunk is None or self._input < 0:
            return
        if chunk is not self._chunk:
            self._open(chunk)
        try:
            count = self._move(self._position - chunk.at, chunk.end - self._position)
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._close_input()  # it reads no more; its end says whether it had enough
            return
        if count == 0:
            raise self.spool.lost(self.stage.steps[self.link.index].name, chunk)
        self._position += count
        within = self._position - chunk.at
        if within - self._given_back >= WINDOW_BYTES or self._position == chunk.end:
            give_back(self._descriptor, within)
            self._given_back = within

    def _move(self, at: int, most_bytes: int) -> int:
        """The pages go into the pipe as they are, and through no memory of ours."""
        try:
            return os.splice(
                self._descriptor,
                self._input,
                most_bytes,
                offset_src=at,
                flags=os.SPLICE_F_NONBLOCK,
            )
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
        data = os.pread(self._descriptor, min(most_bytes, PIECE_BYTES), at)
        return os.write(self._input, data) if data else 0

    def _open(self, chunk: Chunk) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = os.open(self.spool.path(self.link, chunk), os.O_RDONLY | os.O_CLOEXEC)
        self._chunk, self._given_back = chunk, 0

    def _close_input(self) -> None:
        if self._input >= 0:
            os.close(self._input)
        self._input = -1

    # -- what it has done ---------------------------------------------------------------------

    def _write_acks(self, now: float) -> float | None:
        """At once where that frees a chunk; else some together, for each costs a sync."""
        if self._acks.upto <= self.link.acked:
            return None
        frees = self.link.kept and self.link.kept[0].end <= self._acks.upto
        if frees or now >= self._synced_at + SYNC_ACKS_S:
            self._acknowledge()
            self._synced_at = now
            return None
        return self._synced_at + SYNC_ACKS_S

    def _acknowledge(self) -> None:
        self.spool.acknowledge({"link": self.link.index, "upto": self._acks.upto})

    def _make_room(self, now: float) -> float | None:
        """Nobody has to acknowledge. Who has read a full queue and does not gets more, for the
        price of a stage that begins at zero after a kill: what is dropped is gone."""
        is_full = self.link.has_no_disk or self.stage.is_full(self.link.kept_bytes)
        is_crowded = self.stage.is_crowded(len(self.link.kept))
        if not self.is_hungry or not (is_full or is_crowded):
            self._stuck_since = None
            return None
        if self._acks.upto == 0 or self.link.is_lost:
            if not self.link.kept:
                return None
            self.spool.drop(self.link)
            return now
        return self._wait_for_acks(now) if is_full else None

    def _wait_for_acks(self, now: float) -> float | None:
        """It may be busy with what it has read, for as long as it likes; but it may also wait for
        more, for ever."""
        if self._stuck_since is None:
            self._stuck_since = now
        if self._stuck_since == 0.0:
            return None
        if now < self._stuck_since + STUCK_S:
            return self._stuck_since + STUCK_S
        self._stuck_since = 0.0
        writer = self.stage.steps[self.link.index].name
        say(
            f"step {writer} waits: {self.step.name} has read {self._position} bytes and "
            f"acknowledged {self.link.acked}; there is no room for more"
        )
        return None
