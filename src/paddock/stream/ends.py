"""How a stage ends where no step's own code says it: a number and one line each."""

from __future__ import annotations

import os

BAD_STAGE = 64  # what is to be run cannot be read, or makes no sense
SAYS_OTHERWISE = 65  # a step contradicts what is written down of it
DAMAGED = 66  # the spool has lost something that nobody can say again
NO_DISK = 74  # full, read-only, broken
BUSY = 75  # another relay has this spool
OTHER_VERSION = 76  # the spool is of another paddock, or of other steps
NOT_EXECUTABLE, NOT_FOUND = 126, 127
BY_SIGNAL = 128  # and the signal's number, as a shell says it
LONGEST = 1000


class Trouble(Exception):
    """The stage cannot go on; the text is for people, whatever was found in a file."""

    def __init__(self, code: int, text: str) -> None:
        shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
        super().__init__("".join(sign if sign.isprintable() else "?" for sign in shown))
        self.code = code


def say(text: str) -> None:
    os.write(2, f"paddock: {text}\n".encode(errors="replace"))
