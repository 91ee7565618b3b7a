"""An agent that is a nuisance, one kind at a time: `nuisance.py KIND [WORD]…`; then it exits 0.

`flood MIB`: as fast as it can, lines of 64 bytes, each with the number of its megabyte.
`orphans COUNT SIGNALS`: children that are left to whoever reaps, and SIGCHLD to its parent.
`fill`: processes until there may be no more, and then it waits.
`escape FILE…`: into another cgroup, with a child, again and again.
"""

import os
import signal
import sys
import time

MIB = 1 << 20


def flood(megabytes: str) -> None:
    for number in range(int(megabytes)):
        data = memoryview(b"%063d\n" % number * (MIB // 64))
        while data:
            data = data[os.write(1, data) :]


def orphans(count: str, signals: str) -> None:
    for _ in range(int(count)):
        child = os.fork()
        if child == 0:
            os.fork()  # both end at once, and of one of them nobody here is the parent
            os._exit(0)
        os.waitpid(child, 0)
    parent = os.getppid()
    for _ in range(int(signals)):
        os.kill(parent, signal.SIGCHLD)


def fill() -> None:
    try:
        while os.fork():
            pass
    except OSError:
        os.write(1, b"full\n")
    while True:
        signal.pause()


def escape(*files: str) -> None:
    if os.fork() == 0:
        os.setsid()
    while True:
        for file in files:
            try:
                with open(file, "w", encoding="ascii") as group:  # noqa: PTH123
                    group.write(f"{os.getpid()}\n")
            except OSError:
                pass
        time.sleep(0.2)


if __name__ == "__main__":
    kind, words = sys.argv[1], sys.argv[2:]
    if kind == "flood":
        flood(*words)
    elif kind == "orphans":
        orphans(*words)
    elif kind == "fill":
        fill()
    elif kind == "escape":
        escape(*words)
