"""A step that is started again says again what it said: all of it is compared, none believed."""

from __future__ import annotations

from _hashlib import openssl_sha256

from .ends import SAYS_OTHERWISE, Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .chunks import OpenChunk
    from .ledger import Chunk, Link
    from .spool import Spool


class Replay:
    """What the journal knows of this stream, chunk by chunk. Chunks whose file is gone are made
    again as they go by."""

    __slots__ = ("_again", "_chunks", "_hash", "_link", "_name", "_seen", "_spool")

    def __init__(self, spool: Spool, link: Link, name: str) -> None:
        assert link.past is not None
        self._spool = spool
        self._link = link
        self._name = name
        self._chunks = list(reversed(link.past))
        self._again: OpenChunk | None = None
        self._begin()

    def __bool__(self) -> bool:
        return bool(self._chunks)

    @property
    def wanted_bytes(self) -> int:
        """To the end of the chunk that is being compared."""
        return self._chunks[-1].size - self._seen

    def take(self, data: memoryview) -> None:
        self._hash.update(data)
        self._seen += len(data)
        if self._again is not None:
            self._again.write_all(data)
        if self.wanted_bytes == 0:
            self._compare(self._chunks.pop())
            self._begin()

    def ended(self) -> Trouble:
        """The producer has nothing more to say, and had said more before."""
        here = self._chunks[-1].at + self._seen
        return Trouble(
            SAYS_OTHERWISE,
            f"step {self._name} ended after {here} bytes, and had written {self._link.sealed} "
            f"before it was killed: {_ADVICE}",
        )

    def _begin(self) -> None:
        self._hash, self._seen = openssl_sha256(), 0
        if self._chunks and not self._chunks[-1].is_there:
            self._again = self._spool.begin_again(self._link, self._chunks[-1])

    def _compare(self, chunk: Chunk) -> None:
        if self._hash.digest() != chunk.sha256:
            raise Trouble(
                SAYS_OTHERWISE,
                f"step {self._name} says something else than before it was killed, in bytes "
                f"{chunk.at} to {chunk.end - 1}: {_ADVICE}",
            )
        if self._again is not None:
            self._spool.restore(self._link, chunk, self._again)
            self._again = None


_ADVICE = "it must write the same again, or go on by itself (`resume: seek`)"
