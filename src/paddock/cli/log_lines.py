"""What happens to output on its way out of `paddock logs`: cleaned for a terminal, or by lines.

All of it streams: memory stays bounded however much there is, and however long a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from paddock.wire.plain_text import Cleaner

# A longer line is looked at, and printed, in pieces of this size.
LONGEST_LINE: Final = 1024 * 1024


def cleaned(chunks: Iterable[bytes], *, colours: bool) -> Iterator[bytes]:
    cleaner = Cleaner(colours=colours)
    for chunk in chunks:
        if clean := cleaner.feed(chunk):
            yield clean
    if last := cleaner.close():
        yield last


def lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """With their ends; one that is too long comes in pieces, and the last may have no end."""
    held = bytearray()
    for chunk in chunks:
        held += chunk
        start = 0
        while (end := held.find(b"\n", start)) >= 0:
            yield from _pieces(bytes(held[start : end + 1]))
            start = end + 1
        del held[:start]
        while len(held) >= LONGEST_LINE:
            yield bytes(held[:LONGEST_LINE])
            del held[:LONGEST_LINE]
    if held:
        yield bytes(held)


def matching(chunks: Iterable[bytes], pattern: re.Pattern[bytes]) -> Iterator[bytes]:
    """Lines that match, as many at a time as came together: one by one took thrice as long."""
    search = pattern.search
    for block in _whole_lines(chunks):
        found = [line for line in block.split(b"\n") if search(line.rstrip(b"\r"))]
        if found:
            yield b"\n".join((*found, b""))


def _whole_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Cut at an end of line, which is left out; one that is too long is cut anywhere."""
    held = bytearray()
    for chunk in chunks:
        end = chunk.rfind(b"\n")
        if end >= 0:
            held += chunk[:end]
            yield bytes(held)
            held.clear()
        held += chunk[end + 1 :]
        if len(held) >= LONGEST_LINE:
            yield bytes(held)
            held.clear()
    if held:
        yield bytes(held)


def _pieces(line: bytes) -> Iterator[bytes]:
    for start in range(0, len(line), LONGEST_LINE):
        yield line[start : start + LONGEST_LINE]
