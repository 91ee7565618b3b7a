"""A piece of reckoning in a process of its own, which Ctrl-C ends without a word."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import Pipe, Process
from multiprocessing.connection import Connection
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def beside(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> Iterator[Callable[[], T]]:
    """Yields what waits for the result; whoever leaves before that leaves nothing behind."""
    receiving, sending = Pipe(duplex=False)
    process = Process(target=_do, args=(sending, work, args, named), daemon=True)
    # A terminal sends Ctrl-C to all its processes. This one is ours to end, so it is born deaf.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        sending.close()

    def result() -> T:
        found, error = receiving.recv()
        if error is not None:
            raise error
        return found  # type: ignore[no-any-return]

    try:
        yield result
    finally:
        process.kill()
        process.join()
        receiving.close()


def _do(
    sending: Connection,
    work: Callable[..., object],
    args: tuple[object, ...],
    named: dict[str, object],
) -> None:
    found: tuple[object, Exception | None]
    try:
        found = work(*args, **named), None
    except Exception as error:  # noqa: BLE001 - raised again where it is waited for
        found = None, error
    with suppress(BrokenPipeError):  # nobody waits any more
        sending.send(found)
