"""Ignores every signal that can be ignored, says so, and sleeps."""

import os
import signal
import time


def main() -> None:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
        signal.signal(number, signal.SIG_IGN)
    os.write(1, b"deaf\n")
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main()
