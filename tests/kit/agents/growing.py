"""Holds so many megabytes, says so, waits for a file, then grows at a steady rate until somebody
stops it. `growing.py START_MB MB_A_SECOND GO`"""

import mmap
import os
import sys
import time

MB = 1_000_000
STEP_MB = 2


def filled(megabytes: int) -> mmap.mmap:
    one = mmap.mmap(-1, megabytes * MB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for _ in range(megabytes):
        one.write(b"\1" * MB)
    return one


def main() -> None:
    start_mb, rate, go = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
    held = [filled(start_mb)]
    os.write(1, b"ready\n")
    while not os.access(go, os.F_OK):
        time.sleep(0.01)
    began, grown = time.monotonic(), 0
    while True:
        held.append(filled(STEP_MB))
        grown += STEP_MB
        time.sleep(max(0.0, began + grown / rate - time.monotonic()))


if __name__ == "__main__":
    main()
