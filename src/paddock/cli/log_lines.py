"""What happens to output on its way out of `paddock logs`: cleaned for a terminal, or by lines.

All of it streams: memory stays bounded however much there is, and however long a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

# A longer line is looked at, and printed, in pieces of this size.
LONGEST_LINE: Final = 1024 * 1024
# An escape sequence that is not finished after so much is none.
LONGEST_ESCAPE: Final = 4096

_COLOUR: Final = rb"\x1b\[[0-9;:]*m"
_STRINGS: Final = rb"\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, clipboards, links
_CONTROL: Final = rb"\x1b\[[0-?]*[ -/]*[@-~]"
_SHORT: Final = rb"\x1b[ -/]*[0-OQ-WYZ\\`-~]"
_DANGEROUS: Final = re.compile(
    rb"("
    + _COLOUR
    + rb")|"
    + rb"|".join((_STRINGS, _CONTROL, _SHORT))
    # C0 but tab, newline and carriage return; DEL; C1 as UTF-8, which some terminals act upon.
    + rb"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]"
)
_UNFINISHED: Final = re.compile(
    rb"(?:\x1b(?:[\]PX^_][^\x07\x1b]*\x1b?|\[[0-?]*[ -/]*|[ -/]*)|\xc2)\Z"
)


def cleaned(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Text and colours only: what else an agent wrote may not act on the reader's terminal."""
    held, coloured = b"", False
    for chunk in chunks:
        data = held + chunk
        cut = _UNFINISHED.search(data, max(0, len(data) - LONGEST_ESCAPE))
        data, held = (data, b"") if cut is None else (data[: cut.start()], data[cut.start() :])
        coloured = coloured or b"\x1b[" in data
        if data:
            yield _DANGEROUS.sub(lambda match: match[1] or b"", data)
    if coloured:
        yield b"\x1b[0m"


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
    for line in lines(chunks):
        if pattern.search(line.rstrip(b"\r\n")):
            yield line if line.endswith(b"\n") else line + b"\n"


def _pieces(line: bytes) -> Iterator[bytes]:
    for start in range(0, len(line), LONGEST_LINE):
        yield line[start : start + LONGEST_LINE]
