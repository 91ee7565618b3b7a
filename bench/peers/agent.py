"""One agent of the race. A program: `python -I -S agent.py PLAYER TRACE LEDGER`.

Lives its trace with the memory of `player.py`, and writes into the ledger how much of its work is
done, four times a second: what was done in an attempt that never came to its end is work lost. Time
in which it stood still (frozen, stopped) is no work.
"""

# ruff: noqa: PTH123
from __future__ import annotations

import os
import sys
import time

SLICE_S = 0.05
LATE_S = 0.25  # a slice that took longer was not ours alone: we stood still
NOTE_S = 0.25


def work(seconds, note):
    """Slice by slice; `note` is told what was done in all."""
    done = 0.0
    while done < seconds:
        began = time.monotonic()
        time.sleep(min(SLICE_S, seconds - done))
        took = min(time.monotonic() - began, LATE_S)
        done += took
        note(took)


class Ledger:
    """A file for each attempt: seconds of work done, and `end` when all of it is."""

    def __init__(self, path):
        self._file = os.open(f"{path}.{os.getpid()}", os.O_CREAT | os.O_WRONLY, 0o600)
        self._done = self._noted = 0.0
        self.write()

    def note(self, more):
        self._done += more
        if self._done - self._noted >= NOTE_S:
            self._noted = self._done
            self.write()

    def write(self, end=""):
        os.pwrite(self._file, f"{self._done:09.3f} {end}\n".encode(), 0)


def main(words):
    directory, trace, path = words
    sys.path.append(directory)
    import player

    ledger = Ledger(path)
    held = player.Held()
    with open(trace, encoding="ascii") as file:
        phases = player.phases_in(file.read())
    for seconds, level, _ in phases:
        held.hold(level)
        work(seconds, ledger.note)
    ledger.write("end")


if __name__ == "__main__":
    main(sys.argv[1:])
    os._exit(0)
