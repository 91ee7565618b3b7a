"""Leaves a daemon behind (double fork, setsid) and exits 0; the daemon ignores SIGTERM."""

import os
import signal


def main() -> None:
    reader, writer = os.pipe()
    if os.fork():
        os.read(reader, 1)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.write(writer, b"!")
    signal.pause()


if __name__ == "__main__":
    main()
