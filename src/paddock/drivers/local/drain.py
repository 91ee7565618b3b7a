"""A local attempt's output: from its FIFO to its file by `splice`, as it comes."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
from typing import Final

from paddock.core.run import Attempt
from paddock.drivers.draining import Drain, Ends, Trouble
from paddock.drivers.local.keeper.output import move, open_fifo, open_segment
from paddock.ports import Capture

# The name stands for something else now, or for nothing.
NOT_THERE: Final = (errno.ENOENT, errno.ENOTDIR, errno.EINVAL, errno.ELOOP, errno.EISDIR)


def drain_of(
    fifos: tuple[str, str],
    segment: str,
    trouble: Trouble,
    *,
    attempt: Attempt,
    capture: Capture,
) -> Drain:
    """`fifos`: its name, and where it is found without one ("": nowhere)."""

    def opened() -> int:
        name, spare = fifos
        try:
            return open_fifo(name)
        except OSError as error:
            if not spare or error.errno not in NOT_THERE:
                raise
        return open_fifo(spare, through_a_link=True)

    def keep(fifo_fd: int, most_bytes: int) -> int:
        """Opened for each move: a descriptor less for each agent, and after a rotation another
        file has this name."""
        segment_fd = open_segment(segment)
        try:
            move(fifo_fd, segment_fd, most_bytes)
            return os.fstat(segment_fd).st_size
        finally:
            os.close(segment_fd)

    return Drain(Ends(opened, keep, segment), trouble, attempt=attempt, capture=capture)


def raise_descriptors() -> None:
    """One an agent: the usual 1,024 are too few."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
