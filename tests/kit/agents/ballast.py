"""Holds as many megabytes as the last line of its stdin says, and repeats the line when it does.
Belongs to no fleet: a neighbour that nobody can ask to leave."""

import mmap
import sys

MIB = 1 << 20


def filled() -> mmap.mmap:
    """Its own mapping: given back to the kernel when it is closed, not to an allocator."""
    one = mmap.mmap(-1, MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    one.write(b"\1" * MIB)
    return one


def main() -> None:
    held: list[mmap.mmap] = []
    for line in sys.stdin:
        wanted = int(line)
        while len(held) < wanted:
            held.append(filled())
        while len(held) > wanted:
            held.pop().close()
        sys.stdout.write(line)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
