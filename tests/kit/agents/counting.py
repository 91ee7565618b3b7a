"""Holds memory and counts, a line a tick, until it is told to finish; asked for a checkpoint it
has one, as every line is on the disk. Called again it goes on where it was.

`counting.py SIZE_MB FILE FINISH`: each line is the number, the attempt and when (of the kernel's
time since boot).
"""

import os
import signal
import sys
import time

TICK_S = 0.02


def checkpoint(*_: object) -> None:
    os.close(os.open(os.environ["PADDOCK_CHECKPOINT_WRITTEN"], os.O_WRONLY | os.O_CREAT))


def counted(file: str) -> int:
    try:
        with open(file, encoding="ascii") as lines:  # noqa: PTH123 - started a hundred times
            return sum(1 for _ in lines)
    except FileNotFoundError:
        return 0


def main() -> None:
    size_mb, file, finish = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    signal.signal(signal.SIGUSR2, checkpoint)
    held = b"\1" * (size_mb << 20)
    number, attempt = counted(file), os.environ["PADDOCK_ATTEMPT_NUMBER"]
    lines = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    while not os.access(finish, os.F_OK):
        number += 1
        os.write(lines, f"{number} {attempt} {time.monotonic():.3f}\n".encode())
        time.sleep(TICK_S)
    print(f"{number} counted, {len(held) >> 20} MB held")  # noqa: T201


if __name__ == "__main__":
    main()
