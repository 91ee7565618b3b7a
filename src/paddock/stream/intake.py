"""What a step writes, into chunks: in small pieces, as far as the queue has room."""

# contextlib would cost 0.6 MB of memory.
# ruff: noqa: SIM105
from __future__ import annotations

import fcntl
import os
import time

from .chunks import no_room
from .replay import Replay
from .spec import LINES, SEEK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .chunks import OpenChunk
    from .ledger import Link, Record
    from .spec import Stage
    from .spool import Spool

PIECE_BYTES = 256 << 10
# So that one pair of steps does not keep the relay from the others.
MOST_A_TURN_BYTES = 4 << 20
PIPE_BYTES = 1 << 20
_piece = bytearray(PIECE_BYTES)  # one for all: pieces are done with before the next is read


def a_pipe() -> tuple[int, int]:
    """Larger than usual: fewer turns. Without rights there is a limit on all pipes together."""
    read_end, write_end = os.pipe()
    try:
        fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except OSError:
        pass
    return read_end, write_end


class Intake:
    """A full queue is not read from: the pipe fills, and its writer waits."""

    __slots__ = (
        *("_by_lines", "_link", "_open", "_opened_at", "_replay", "_spool", "_stage", "descriptor"),
        *("_paused_at", "_rest", "is_at_end"),
    )

    def __init__(self, spool: Spool, stage: Stage, link: Link) -> None:
        """Its writer begins at `base` again, unless it seeks: what is sealed from there on is only
        compared."""
        self._spool = spool
        self._stage = stage
        self._link = link
        self._by_lines = stage.steps[link.index + 1].cut == LINES
        self._open: OpenChunk | None = None
        self._opened_at = 0.0
        self._rest = b""  # read, and the disk had no room for it
        self._paused_at = 0
        writer = stage.steps[link.index]
        replays = writer.resume != SEEK and bool(link.past)
        self._replay = Replay(spool, link, writer.name) if replays else None
        link.past = None
        self.descriptor = -1
        self.is_at_end = False

    # -- the pipe -----------------------------------------------------------------------------

    def pipe(self) -> int:
        """The end to write to; whoever starts the step closes it."""
        self.descriptor, write_end = a_pipe()
        os.set_blocking(self.descriptor, False)
        self.is_at_end = False
        return write_end

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1

    # -- data ---------------------------------------------------------------------------------

    @property
    def has_room(self) -> bool:
        if self.descriptor < 0 or self.is_at_end or self._rest:
            return False
        return self._replay is not None or not self._stage.is_full(self._link.kept_bytes)

    def pump(self) -> None:
        moved = 0
        while moved < MOST_A_TURN_BYTES and self.has_room:
            try:
                count = os.readv(self.descriptor, [memoryview(_piece)[: self._most()]])
            except BlockingIOError:
                return
            if count == 0:
                self.is_at_end = True
                return
            self._take(memoryview(_piece)[:count])
            moved += count

    def _most(self) -> int:
        if self._replay is not None:
            return min(PIECE_BYTES, self._replay.wanted_bytes)
        filled = self._open.size if self._open is not None else 0
        return min(PIECE_BYTES, self._stage.chunk_bytes - filled)

    def _take(self, data: memoryview) -> None:
        if self._replay is not None:
            self._replay.take(data)
            self._replay = self._replay or None
            return
        if self._open is None:
            self._open = self._spool.begin(self._link)
            self._opened_at = time.monotonic()
        written = self._open.write(data, by_lines=self._by_lines)
        if written < len(data):
            self._pause(bytes(data[written:]))
        elif self._open.size >= self._stage.chunk_bytes:
            self.seal()

    def _pause(self, rest: bytes) -> None:
        """The disk is full. Where the reader has something to do, that makes room: then the writer
        waits for it."""
        if not self._link.kept:
            raise no_room()
        self._spool.free_reserve()
        self._rest, self._paused_at, self._link.has_no_disk = rest, self._link.first, True

    def try_again(self) -> bool:
        """Whether there was something to try."""
        if not self._rest or self._link.first == self._paused_at:
            return False
        rest, self._rest, self._link.has_no_disk = self._rest, b"", False
        self._take(memoryview(rest))
        return True

    # -- seals --------------------------------------------------------------------------------

    def seal_at(self) -> float | None:
        """When what has come so far goes to a reader who has nothing else to read."""
        if self._open is None or (self._by_lines and not self._open.cut):
            return None
        if self._stage.is_crowded(len(self._link.kept)):
            return None
        return self._opened_at + self._stage.linger_s

    def seal(self) -> None:
        """What has come so far; of lines only whole ones, but for one that fills a chunk alone."""
        chunk = self._open
        if chunk is None:
            return
        is_full = chunk.size >= self._stage.chunk_bytes
        if not self._by_lines or chunk.cut == chunk.size or (is_full and not chunk.cut):
            self._seal_all(None)
        elif chunk.cut:
            self._split(chunk)

    def _split(self, before: OpenChunk) -> None:
        """The line that is not whole begins the next chunk."""
        after = self._spool.begin(self._link, after=1)
        for at in range(before.cut, before.size, PIECE_BYTES):
            count = os.preadv(before.descriptor, [memoryview(_piece)[: before.size - at]], at)
            after.write_all(memoryview(_piece)[:count])
        self._spool.seal(self._link, before, at_line=True, ack=None)
        self._open, self._opened_at = after, time.monotonic()

    def finish(self, ack: Record | None = None) -> None:
        """The writer has ended well: all of it, with what it has done of its own input."""
        if self._replay is not None:
            raise self._replay.ended()
        if ack is not None:
            ack["out"] = self._link.sealed + (self._open.size if self._open else 0)
        if self._open is not None:
            self._seal_all(ack)
        elif ack is not None:
            self._spool.acknowledge(ack)

    def _seal_all(self, ack: Record | None) -> None:
        assert self._open is not None
        self._spool.seal(self._link, self._open, at_line=False, ack=ack)
        self._open = None
