"""A daemon that only moves output: `python -m tests.kit.stand_in_daemon DIRECTORY EPOCH`."""

from __future__ import annotations

import sys
from pathlib import Path

from paddock.drivers.local.keeper.output import MoverLock, move, open_fifo, open_segment
from paddock.drivers.local.keeper.protocol import MOVER_LOCK_NAME
from paddock.drivers.local.keeper_client import KeeperClient


def main() -> None:
    directory, epoch = Path(sys.argv[1]), int(sys.argv[2])
    client = KeeperClient(directory)
    client.hello(epoch)
    lock = MoverLock(str(directory / MOVER_LOCK_NAME))
    if not lock.take():
        sys.exit("somebody else moves")
    pipes = [(open_fifo(one["fifo"]), open_segment(one["segment"])) for one in client.attempts()]
    sys.stdout.write("moving\n")
    sys.stdout.flush()
    while True:
        client.pump(0)
        for fifo, segment in pipes:
            # Steps so small that it is always in the middle of one when it is killed: with `read`
            # and `write` instead of `splice`, one death in eight then loses bytes.
            move(fifo, segment, 256)


if __name__ == "__main__":
    main()
