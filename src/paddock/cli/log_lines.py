"""What happens to output on its way out of `paddock logs`: cleaned for a terminal, or by lines.

All of it streams: memory stays bounded however much there is, and however long a line.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from typing import Final

# A longer line is looked at, and printed, in pieces of this size.
LONGEST_LINE: Final = 1024 * 1024
# An escape sequence that is not finished after so much is none.
LONGEST_ESCAPE: Final = 4096

_COLOUR: Final = r"\x1b\[[0-9;:]*m"
_STRINGS: Final = r"\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, clipboards, links
_CONTROL: Final = r"\x1b\[[0-?]*[ -/]*[@-~]"
_SHORT: Final = r"\x1b[ -/]*[0-OQ-WYZ\\`-~]"
# C0 but tab and newline; DEL; C1, by which some terminals are told the same as by ESC.
_SIGNS: Final = r"[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f]"
_DANGEROUS: Final = re.compile(
    rf"({_COLOUR}|\r+\n)|(\r+)|{_STRINGS}|{_CONTROL}|{_SHORT}|{_SIGNS}",
)
_UNFINISHED: Final = re.compile(
    r"(?:\x1b(?:[\]PX^_][^\x07\x1b]*\x1b?|\[[0-?]*[ -/]*|[ -/]*)|\r+)\Z"
)


class Cleaner:
    """Text, and colours if wanted: what else an agent wrote may not act on the reader's terminal.

    What is no UTF-8 is shown as the sign for that. A carriage return, which lets a line be written
    over by another, begins a line of its own.
    """

    def __init__(self, *, colours: bool) -> None:
        self._colours = colours
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._coloured = False

    def feed(self, data: bytes) -> bytes:
        # Decoded before anything is taken out: else the halves on both sides could make a sign.
        text = self._held + self._decoder.decode(data)
        cut = _UNFINISHED.search(text, max(0, len(text) - LONGEST_ESCAPE))
        at = len(text) if cut is None else cut.start()
        text, self._held = text[:at], text[at:]
        clean = _DANGEROUS.sub(_harmless if self._colours else _plain, text)
        self._coloured = self._coloured or "\x1b" in clean
        return clean.encode()

    def close(self) -> bytes:
        """The colours of whoever reads, again."""
        return b"\x1b[0m" if self._coloured else b""


def _harmless(match: re.Match[str]) -> str:
    return match[1] or ("\n" if match[2] else "")


def _plain(match: re.Match[str]) -> str:
    return "" if match[0].startswith("\x1b") else _harmless(match)


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
