"""An agent without a model: holds as much memory as its trace says, for as long. A program.

`python -I -S player.py FILE` reads lines of `SECONDS BYTES CORES` and lives them one after the
other; FILE is `-` for stdin, and then it says `ready` before it reads. Memory is really touched.
Knows nothing of paddock, and imports little: what it needs for itself (some 8 MiB) counts as part
of what the trace says.
"""

# ruff: noqa: PTH123, T201 - pathlib would be half of the program's memory
from __future__ import annotations

import mmap
import os
import sys
import time

PAGE = mmap.PAGESIZE
SLICE_S = 0.05  # of burning a core


class Held:
    """Memory that is ours, in pieces: the last come back first."""

    def __init__(self) -> None:
        self._own = own_bytes()
        self._pieces: list[mmap.mmap] = []

    def hold(self, level: int) -> None:
        wanted = max(0, level - self._own) // PAGE * PAGE
        held = sum(map(len, self._pieces))
        while held > wanted:
            piece = self._pieces.pop()
            held -= len(piece)
            piece.close()
        if wanted > held:
            self._pieces.append(touched(wanted - held))


def touched(size: int) -> mmap.mmap:
    piece = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    piece[::PAGE] = b"\1" * (size // PAGE)
    return piece


def own_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        resident, shared = file.read().split()[1:3]
    return (int(resident) - int(shared)) * PAGE


def spend(seconds: float, cores: float) -> None:
    """With so much of a core at work; more than one is one."""
    until = time.monotonic() + seconds
    share = min(max(cores, 0.0), 1.0)
    while (left := until - time.monotonic()) > 0:
        slot = min(left, SLICE_S)
        busy_until = time.monotonic() + slot * share
        while time.monotonic() < busy_until:
            pass
        time.sleep(max(0.0, slot * (1 - share)))


def phases_in(text: str) -> list[tuple[float, int, float]]:
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            seconds, level, cores = line.split()
            found.append((float(seconds), int(level), float(cores)))
        except ValueError:
            raise SystemExit(
                f"line {number}: found {line[:60]!r}; allowed: SECONDS BYTES CORES"
            ) from None
    return found


def main(words: list[str]) -> int:
    if len(words) != 1:
        print("say one file of lines SECONDS BYTES CORES, or -", file=sys.stderr)
        return 2
    try:
        if words[0] == "-":  # whoever starts many lets them begin together
            os.write(1, b"ready\n")
        with open(0 if words[0] == "-" else words[0], encoding="ascii") as file:
            phases = phases_in(file.read())
    except (OSError, UnicodeDecodeError) as error:
        print(f"{words[0]}: {error}", file=sys.stderr)
        return 2
    held = Held()
    for seconds, level, cores in phases:
        held.hold(level)
        spend(seconds, cores)
    return 0


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))  # without the interpreter's own tidying up
