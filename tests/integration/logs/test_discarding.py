"""A daemon killed while it takes what has no room: the next one knows where it stands."""

from __future__ import annotations

import os
import random
import select
import subprocess
import sys
import threading
import time
from pathlib import Path

from paddock.core.run import Attempt
from paddock.drivers.draining import waiting_bytes
from paddock.logs.output import OutputStore

ROUNDS = 15
A = Attempt("run", 1)
TAKER = """
import os, select, sys
from pathlib import Path
from paddock.core.run import Attempt
from paddock.drivers.draining import waiting_bytes
from paddock.logs.output import OutputStore

fifo = os.open(sys.argv[1], os.O_RDWR | os.O_NONBLOCK)
store = OutputStore(Path(sys.argv[2]), packers=0)
store.take_up()
print("takes", flush=True)
while True:
    select.select([fifo], [], [])
    store.intake.discard(Attempt("run", 1), fifo, waiting_bytes(fifo))
"""


def written(at: int, size: int) -> bytes:
    lines = b"".join(b"%063d\n" % n for n in range(at // 64, (at + size) // 64 + 1))
    return lines[at % 64 :][:size]


def keep_writing(fifo: str, enough: threading.Event) -> None:
    with open(fifo, "wb", buffering=0) as file:  # noqa: PTH123
        at = 0
        while not enough.is_set():
            left = memoryview(written(at, 1 << 15))
            at += len(left)
            while left:
                left = left[file.write(left) :]


def test_what_follows_stands_in_its_place(tmp_path: Path) -> None:
    """Once a piece that was taken just before the kill was never counted."""
    fifo, output = f"{tmp_path}/fifo", tmp_path / "output"
    os.mkfifo(fifo)
    held = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    enough = threading.Event()
    writer = threading.Thread(target=keep_writing, args=(fifo, enough), daemon=True)
    writer.start()
    chance = random.Random(7)
    try:
        for _ in range(ROUNDS):
            taker = [sys.executable, "-c", TAKER, fifo, str(output)]
            with subprocess.Popen(taker, stdout=subprocess.PIPE) as process:
                assert process.stdout is not None
                assert process.stdout.readline() == b"takes\n"
                time.sleep(chance.uniform(0.005, 0.05))
                process.kill()
            store = OutputStore(output, packers=0)
            store.take_up()
            select.select([held], [], [], 10)
            at, found = store.size("run"), os.read(held, 64)
            assert found == written(at, len(found)), "what lies in the pipe now is what comes next"
            store.append(A, found)
            store.close()
    finally:
        enough.set()
        while writer.is_alive():
            if waiting_bytes(held):
                os.read(held, 1 << 20)
            writer.join(0.01)
        os.close(held)
    assert store.missing("run").bytes > 1 << 20
