"""`make chaos`: the long campaign. Ends with 1 if anything was lost, run twice, wrong or torn."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos.rounds import Books, one_round
from tests.kit.house import a_house


def main() -> int:
    words = argparse.ArgumentParser(prog="make chaos")
    words.add_argument("--rounds", type=int, default=200)
    words.add_argument("--seed", type=int, default=1)
    asked = words.parse_args()
    books, draw, began = Books(), random.Random(asked.seed), time.monotonic()
    with tempfile.TemporaryDirectory() as directory, a_house(Path(directory)) as house:
        while books.rounds < asked.rounds and books.clean:
            one_round(house, draw, books)
            if books.rounds % 10 == 0 or not books.clean:
                say(f"{books} ({time.monotonic() - began:.0f} s)")
        if not books.clean:
            say(house.log()[-10_000:])
    for found in (*books.lost, *books.twice, *books.wrong, *books.torn):
        say(found)
    say(f"seed {asked.seed}: {books}")
    return 0 if books.clean else 1


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
