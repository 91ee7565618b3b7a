"""Forks `COUNT` children, each in a process group of its own, and waits; they sleep."""

import os
import signal
import sys


def main() -> None:
    for _ in range(int(sys.argv[1])):
        if os.fork() == 0:
            os.setpgid(0, 0)
            signal.pause()
    os.write(1, b"forked\n")
    signal.pause()


if __name__ == "__main__":
    main()
