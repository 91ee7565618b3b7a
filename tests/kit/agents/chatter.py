"""Writes numbered lines of 64 bytes: `COUNT` of them, or a hundred a millisecond until SIGTERM."""

import os
import signal
import sys
import time


def lines(first: int, count: int) -> bytes:
    return b"".join(b"%063d\n" % number for number in range(first, first + count))


def write_all(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def main() -> None:
    if len(sys.argv) > 1:
        for first in range(0, int(sys.argv[1]), 1000):
            write_all(lines(first, min(1000, int(sys.argv[1]) - first)))
        return
    told: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: told.append(number))
    number = 0
    while not told:
        write_all(lines(number, 100))
        number += 100
        time.sleep(0.001)


if __name__ == "__main__":
    main()
