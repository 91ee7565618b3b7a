"""What a run wrote and goes on to write: as plain bytes, or as records that say their place.

A follower is told when there is something. How large the pieces are that a reader gets goes by how
much is held for all of them (see `holding`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import Final

from paddock.core.run import Ended, Run
from paddock.logs.bells import Bell
from paddock.logs.shelf import Piece
from paddock.wire.log_record import gap_written, written

from .answering import Stream
from .asking import Asked
from .desk import Desk, Output
from .holding import RECORD_BYTES, Share
from .problems import bad_request

MOST_LINES: Final = 1_000_000
# After a piece, before the next, for each who follows: so all of them together cost no more than
# 2,000 looks a second, however often their agents write. After a silence it is sent at once.
GATHER_S: Final = 0.0005
LONGEST_GATHER_S: Final = 0.1
# Nobody rings for an agent that writes to its file itself, in a virtual machine.
LOOK_S: Final = 0.4
BYTES: Final = "application/octet-stream"
RECORDS: Final = "application/vnd.paddock.log"


async def log(desk: Desk, asked: Asked) -> Stream:
    run = await desk.find(asked.path["run"])
    begin = await _begin(desk, run, asked)
    pieces = _follow(desk, run, begin) if asked.flag("follow") else _once(desk, run, begin)
    if asked.flag("records"):
        return Stream(_in_records(pieces, begin), RECORDS)
    missing = await desk.aside(lambda: desk.output.missing(run.id), within_s=None)
    headers = (
        (b"paddock-missing-bytes", str(missing.bytes).encode()),
        (b"paddock-missing-lines", str(missing.lines).encode()),
    )
    return Stream(_plain(pieces), BYTES, headers)


async def _begin(desk: Desk, run: Run, asked: Asked) -> int:
    """The later one, where it is asked for the last lines and for those since a time."""
    from_byte, lines = asked.whole("from"), asked.whole("lines", most=MOST_LINES)
    since = asked.moment("since")
    if from_byte is not None and (lines is not None or since is not None):
        raise bad_request("found from with lines or since; allowed: from alone, or the other two")
    output, begin = desk.output, from_byte or 0
    if lines is not None:
        wanted = lines
        begin = await desk.aside(lambda: output.tail(run.id, wanted), within_s=None)
    if since is not None:
        at = since
        begin = max(begin, await desk.aside(lambda: output.since(run.id, at), within_s=None))
    return begin


async def _plain(pieces: AsyncGenerator[Piece, None]) -> AsyncGenerator[bytes, None]:
    """The head of the answer does not wait for the run's first word."""
    yield b""
    async with aclosing(pieces):
        async for piece in pieces:
            yield piece.data


async def _in_records(pieces: AsyncGenerator[Piece, None], at: int) -> AsyncGenerator[bytes, None]:
    yield b""
    async with aclosing(pieces):
        async for piece in pieces:
            yield b"".join(_records(piece, at))
            at = piece.at + len(piece.data)


def _records(piece: Piece, at: int) -> Iterator[bytes]:
    if piece.at > at:
        lines = piece.missing_lines
        yield gap_written(piece.at, missing_bytes=piece.at - at, missing_lines=lines)
    for begin in range(0, len(piece.data), RECORD_BYTES):
        yield written(piece.at + begin, piece.data[begin : begin + RECORD_BYTES])


async def _once(desk: Desk, run: Run, at: int) -> AsyncGenerator[Piece, None]:
    """What there is by now."""
    with desk.purse.share() as share:
        async for piece in _read(desk, run, at, share=share):
            yield piece


async def _read(
    desk: Desk, run: Run, at: int, *, share: Share, fresh: bool = False
) -> AsyncGenerator[Piece, None]:
    """What there is, from there to the end. `fresh`: it was read up to there a moment ago, and what
    came since is in the page cache: no disk is waited for."""
    output = desk.output
    while True:
        most = share.next_piece()
        if fresh:
            piece = output.fresh(run.id, at, most)
        else:
            piece = await desk.aside(_look(output, run.id, at, most), within_s=None)
        share.set_piece(len(piece.data))
        if piece.data or piece.at > at:
            yield piece
        if piece.is_last:
            return
        at, fresh = piece.at + len(piece.data), fresh and bool(piece.data)


def _look(output: Output, run: str, at: int, most: int) -> Callable[[], Piece]:
    return lambda: output.piece(run, at, most)


async def _follow(desk: Desk, run: Run, at: int) -> AsyncGenerator[Piece, None]:
    """Until the run has ended and all is sent: an end is told when the last byte is there."""
    output, fresh = desk.output, False
    ringing = output.listening(run.id)
    with ringing as bell, _rung_at_the_end(desk, run, bell), desk.purse.share() as share:
        while True:
            ended, before = _has_ended(desk, run), at
            async for piece in _read(desk, run, at, share=share, fresh=fresh):
                at = piece.at + len(piece.data)
                yield piece
            if ended:
                return
            fresh = True
            if at > before:
                await asyncio.sleep(min(LONGEST_GATHER_S, GATHER_S * output.readers()))
            await bell.heard(LOOK_S)


@contextmanager
def _rung_at_the_end(desk: Desk, run: Run, bell: Bell) -> Iterator[None]:
    async def wait() -> None:
        await desk.supervisor.ended({run.id}, within_s=None)
        bell.ring()

    waiting = asyncio.ensure_future(wait())
    try:
        yield
    finally:
        waiting.cancel()


def _has_ended(desk: Desk, run: Run) -> bool:
    known = desk.supervisor.fleet.runs.get(run.id)
    return known is None or isinstance(known.state, Ended)
