"""Counts the words of a file, line by line, as an agent that paddock can stop at any time.

python agent.py FILE [PAUSE_S] [MB]: PAUSE_S and MB stand for the work that a real agent has with
each line, and for what it would like to keep in memory of it.
"""

import sys
import threading
import time

from paddock import agent


def keep_and_wait(done, words):
    """Waits for its end: what it did now, the attempt after it would do once more."""
    print(f"makes room after line {done}", flush=True)  # first: the answer may be its end
    agent.checkpoint({"done": done, "words": words})
    time.sleep(60)


def main(file, pause_s=0.0, mb=0):
    time_is_short = threading.Event()
    agent.on_soft_timeout(time_is_short.set)
    # Says that this program knows of checkpoints. It looks between two lines, where it knows how
    # far it has come; a callback that returned what to keep would be called in the middle of one.
    kept = agent.load({"done": 0, "words": 0})
    agent.checkpoint(kept)
    done, words = kept["done"], kept["words"]
    if agent.resumed:
        print(f"goes on after line {done}", flush=True)
    cache = []
    with open(file, encoding="utf-8") as lines:  # line by line: it may be larger than the memory
        for number, line in enumerate(lines, 1):
            if number <= done:
                continue
            if agent.should_reduce_memory() and cache:
                print(f"lets go of {len(cache) * mb} MB", flush=True)
                cache.clear()
            cache.append(b"\1" * (mb << 20))
            words += len(line.split())
            time.sleep(pause_s)
            done = number
            print(f"line {done}", flush=True)
            if agent.checkpoint_asked():
                keep_and_wait(done, words)
            if time_is_short.is_set():
                print(f"time is short: {words} words in the first {done} lines", flush=True)
                return
    print(f"{words} words in {done} lines", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *(float(word) for word in sys.argv[2:3]), *map(int, sys.argv[3:4]))
