"""A container's output: from its FIFO to its file, as it comes."""

from __future__ import annotations

from paddock.core.run import Attempt
from paddock.drivers.container.moving import move, open_fifo, widen
from paddock.drivers.draining import Drain, Ends, Trouble
from paddock.ports import Capture


def drain_of(
    fifo: str, segment: str, trouble: Trouble, *, attempt: Attempt, capture: Capture
) -> Drain:
    """OSError: there is no such FIFO any more."""
    descriptor = open_fifo(fifo)
    widen(descriptor)

    def keep(fifo_fd: int, most_bytes: int) -> int:
        return move(fifo_fd, segment, most_bytes).size_bytes

    ends = Ends(lambda: descriptor, keep, segment)
    return Drain(ends, trouble, attempt=attempt, capture=capture)
