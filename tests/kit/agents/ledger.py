"""Prints a number a tick, from where it left off, until it may finish. Asked for a checkpoint it
keeps the number it has printed, says so and waits for its end.

`ledger.py FINISH TICK_S [forgetful]`: a forgetful one knows nothing of checkpoints.
"""

import os
import signal
import sys
import time
from pathlib import Path

PLACE = Path(os.environ["PADDOCK_CHECKPOINT_DIR"], "printed")
asked: list[int] = []


def main() -> None:
    finish, tick_s = Path(sys.argv[1]), float(sys.argv[2])
    if "forgetful" not in sys.argv:
        signal.signal(signal.SIGUSR2, lambda number, _: asked.append(number))
    printed = int(PLACE.read_text(encoding="ascii")) if PLACE.exists() else 0
    while not finish.exists():
        if asked:
            PLACE.write_text(str(printed), encoding="ascii")
            Path(os.environ["PADDOCK_CHECKPOINT_WRITTEN"]).touch()
            time.sleep(3600)
        printed += 1
        os.write(1, f"{printed}\n".encode())
        time.sleep(tick_s)


if __name__ == "__main__":
    main()
