"""What a reader says it has done: a number of bytes a line, from the stream's beginning."""

from __future__ import annotations

import os

from .ends import SAYS_OTHERWISE, Trouble

LONGEST = 64


class Acks:
    """The end of a pipe that we read from; -1 once its writers are gone."""

    __slots__ = ("_held", "_name", "descriptor", "upto")

    def __init__(self, name: str, upto: int) -> None:
        self._name = name
        self._held = b""
        self.upto = upto
        self.descriptor = -1

    def pipe(self) -> int:
        self.descriptor, write_end = os.pipe()
        os.set_blocking(self.descriptor, False)
        return write_end

    def hear(self, given: int) -> None:
        """Acknowledging less than before changes nothing; more than was `given` cannot be."""
        try:
            data = os.read(self.descriptor, 1 << 16)
        except BlockingIOError:
            return
        if not data:
            os.close(self.descriptor)
            self.descriptor = -1
            return
        *lines, self._held = (self._held + data).split(b"\n")
        for line in lines:
            self._take(line, given)
        if len(self._held) > LONGEST:
            raise self._trouble(f"{self._held[:40]!r}: one number of bytes a line")

    def _take(self, line: bytes, given: int) -> None:
        text = line.strip()
        if not text.isdigit() or len(text) > LONGEST:
            raise self._trouble(f"{line[:40]!r}: one number of bytes a line")
        if int(text) > given:
            raise self._trouble(f"{int(text)} bytes, and was given only {given}")
        self.upto = max(self.upto, int(text))

    def _trouble(self, text: str) -> Trouble:
        return Trouble(SAYS_OTHERWISE, f"step {self._name} acknowledges {text}")
