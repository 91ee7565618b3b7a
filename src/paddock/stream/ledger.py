"""What is written down of a stage, as state: which chunks are sealed, kept, done. No files here.

The same `apply` makes the state when the journal is read and while it is written, so what a killed
relay leaves is what the next one knows.
"""

from __future__ import annotations

from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Record = dict[str, Any]


class Chunk:
    """A sealed part of a stream. `is_there`: its file is whole; else a replay makes it again."""

    __slots__ = ("at", "is_there", "number", "sha256", "size")

    def __init__(self, number: int, at: int, size: int, sha256: str) -> None:
        self.number = number
        self.at = at  # of its first byte in the stream
        self.size = size
        self.sha256 = bytes.fromhex(sha256)
        self.is_there = True

    @property
    def end(self) -> int:
        return self.at + self.size


class Link:
    """The stream between a step and the next. All numbers but `number` are bytes of it."""

    __slots__ = (
        *("acked", "base", "has_no_disk", "index", "kept", "number", "past", "reached", "sealed"),
        "zeros",
    )

    def __init__(self, index: int) -> None:
        self.index = index  # of the step that writes; the reader is the next
        self.kept: deque[Chunk] = deque()  # sealed and not yet done with
        self.past: list[Chunk] | None = []  # sealed from `base` on; None once nobody replays
        self.has_no_disk = False  # its writer waits for room, be the queue full or not
        self.reached = 0  # below it an earlier life may have been
        self.zeros = 0  # times that it began at zero, as the journal has them
        self.forget()

    def forget(self) -> None:
        self.kept.clear()
        if self.past is not None:
            self.past = []
        self.number = 0
        self.sealed = 0  # so much is durable, or was and is done
        self.acked = 0  # so much the reader has done
        self.base = 0  # where the writer's output begins when it is started again

    @property
    def first(self) -> int:
        """From here on it can be read."""
        return self.kept[0].at if self.kept else self.sealed

    @property
    def kept_bytes(self) -> int:
        return self.sealed - self.first

    @property
    def is_lost(self) -> bool:
        """Something was dropped that nobody acknowledged."""
        return self.first > self.acked


class Ledger:
    __slots__ = ("done", "links")

    def __init__(self, steps: int) -> None:
        self.links = [Link(index) for index in range(steps - 1)]
        self.done: set[int] = set()

    def apply(self, record: Record) -> list[tuple[Link, Chunk]]:
        """The chunks that nobody needs any more. KeyError and the like: this is no record."""
        gone: list[tuple[Link, Chunk]] = []
        if "seal" in record:
            self._seal(record["seal"])
        if "ack" in record:
            gone += self._ack(record["ack"])
        if "drop" in record:
            link = self.links[record["drop"]]
            gone.append((link, link.kept.popleft()))
        if "done" in record:
            gone += self._finish(record["done"])
        if "zero" in record:
            gone += self._zero(self.links[record["zero"]])
        if "from" in record:
            self._begin(record["from"])
        if "upto" in record:
            self._stand(record["upto"])
        return gone

    def _begin(self, said: Record) -> None:
        """What was before it is in no journal any more."""
        link = self.links[said["link"]]
        link.number, link.sealed = int(said["n"]), int(said["at"])

    def _stand(self, said: Record) -> None:
        link = self.links[said["link"]]
        while link.kept and link.kept[0].number < said["kept"]:
            link.kept.popleft()
        link.acked, link.reached = int(said["acked"]), int(said["reached"])
        self._begin_output_at(link, int(said["base"]))

    def _begin_output_at(self, link: Link, base: int) -> None:
        link.base = base
        if link.past is not None:
            link.past = [chunk for chunk in link.past if chunk.at >= base]

    def _seal(self, said: Record) -> None:
        link = self.links[said["link"]]
        chunk = Chunk(said["n"], said["at"], said["bytes"], said["sha256"])
        if (chunk.number, chunk.at) != (link.number, link.sealed):
            raise ValueError("a chunk is not where it should be")
        link.kept.append(chunk)
        if link.past is not None:
            link.past.append(chunk)
        link.number += 1
        link.sealed = chunk.end

    def _ack(self, said: Record) -> list[tuple[Link, Chunk]]:
        """`out`: so much of the reader's own output belongs to what it has done."""
        link, gone = self.links[said["link"]], []
        link.acked = max(link.acked, int(said["upto"]))
        while link.kept and link.kept[0].end <= link.acked:
            gone.append((link, link.kept.popleft()))
        if said.get("out") is not None:
            self._begin_output_at(self.links[link.index + 1], int(said["out"]))
        return gone

    def _finish(self, step: int) -> list[tuple[Link, Chunk]]:
        self.done.add(step)
        if step == 0:
            return []
        link = self.links[step - 1]
        gone = [(link, chunk) for chunk in link.kept]
        link.kept.clear()
        return gone

    def _zero(self, link: Link) -> list[tuple[Link, Chunk]]:
        gone = [(link, chunk) for chunk in link.kept]
        link.reached = max(link.reached, link.sealed)
        link.zeros += 1
        link.forget()
        self.done.discard(link.index)
        return gone
