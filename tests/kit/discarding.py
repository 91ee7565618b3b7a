"""Output that has no room, as an agent writes it: into a pipe."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from paddock.core.run import Attempt
from paddock.logs.output import OutputStore


@contextmanager
def a_pipe(data: bytes) -> Iterator[int]:
    """Its reading end."""
    reader, writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        assert os.write(writer, data) == len(data)
        yield reader
    finally:
        os.close(reader)
        os.close(writer)


def discard(store: OutputStore, attempt: Attempt, data: bytes) -> bool:
    with a_pipe(data) as reader:
        return store.intake.discard(attempt, reader, len(data))
