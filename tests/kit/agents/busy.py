"""An agent that looks like one at work: memory in waves up to a size, and a line now and then."""

import itertools
import math
import random
import sys
import time

MIB = 1 << 20
WORDS = ("read", "edited", "searched", "ran", "planned", "tested", "looked at", "moved")
FILES = ("retry.py", "auth/token.py", "api/routes.py", "queue.go", "README.md", "billing/tax.rs")


def main() -> None:
    most_mb, seed, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    luck = random.Random(seed)
    held: list[bytearray] = []
    began = time.monotonic()
    for tick in itertools.count():
        if time.monotonic() - began > seconds:
            return
        wave = 0.55 + 0.45 * math.sin((tick + 7 * seed) / (6 + seed % 5))
        wanted = max(1, int(most_mb * wave / 4))
        del held[wanted:]
        while len(held) < wanted:
            held.append(bytearray(b"x" * (4 * MIB)))
        verb, file = luck.choice(WORDS), luck.choice(FILES)
        colour = luck.choice(("\x1b[32m", "\x1b[36m", "", ""))
        end = "\x1b[0m" if colour else ""
        sys.stdout.write(f"{colour}{verb}{end} {file}: {luck.randrange(3, 90)} lines\n")
        sys.stdout.flush()
        time.sleep(1.0)


if __name__ == "__main__":
    main()
