"""Text that others wrote, made safe for a terminal: nothing in it may act there."""

from __future__ import annotations

import codecs
import re
from typing import Final

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
# Most text has nothing of it, and to know that takes a tenth of looking closer.
_SUSPECT: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_UNFINISHED: Final = re.compile(
    # Only from the first of many carriage returns on: to try each takes the square of the time.
    r"(?:\x1b(?:[\]PX^_][^\x07\x1b]*\x1b?|\[[0-?]*[ -/]*|[ -/]*)|(?<!\r)\r+)\Z"
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
        return self.text(data).encode()

    def text(self, data: bytes) -> str:
        # Decoded before anything is taken out: else the halves on both sides could make a sign.
        text = self._held + self._decoder.decode(data)
        cut = _UNFINISHED.search(text, max(0, len(text) - LONGEST_ESCAPE))
        at = len(text) if cut is None else cut.start()
        text, self._held = text[:at], text[at:]
        if _SUSPECT.search(text) is None:
            return text
        clean = _DANGEROUS.sub(_harmless if self._colours else _plain, text)
        self._coloured = self._coloured or "\x1b" in clean
        return clean

    def close(self) -> bytes:
        """The colours of whoever reads, again."""
        return b"\x1b[0m" if self._coloured else b""


def _harmless(match: re.Match[str]) -> str:
    return match[1] or ("\n" if match[2] else "")


def _plain(match: re.Match[str]) -> str:
    return "" if match[0].startswith("\x1b") else _harmless(match)
