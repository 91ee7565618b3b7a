"""A pipeline behind a wall: its cgroup, five kills of everything in it, and what it peaked at."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from paddock import stream
from paddock.cgroups.group import Group, Walls
from paddock.cgroups.home import find_home
from paddock.cgroups.v2 import Group2
from paddock.stream.spec import CHUNK_BYTES

JOIN = 'for file in $0; do echo 0 >"$file" || exit 99; done; exec "$@"'
# The same bytes for the same seed, as fast as a pipe takes them; nothing in memory but one block.
PRODUCER = """
import os, random, sys
block = random.Random(int(sys.argv[2])).randbytes(1 << 20)
left, number = int(sys.argv[1]), 0
while left > 0:
    piece = (number.to_bytes(8, "big") + block[8:])[:left]
    left, number = left - len(piece), number + 1
    while piece:
        piece = piece[os.write(1, piece):]
"""
# Takes so many bytes a second of one chunk, and puts it in its place; exit 0 says it is there.
CONSUMER = """
import os, sys, time
out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600)
with open(sys.argv[1] + ".log", "a") as log:
    log.write("%s\\n" % os.environ["PADDOCK_CHUNK"])
at, a_second = int(os.environ["PADDOCK_CHUNK_FIRST_BYTE"]), float(sys.argv[2])
began, taken = time.monotonic(), 0
while data := os.read(0, 1 << 18):
    os.pwrite(out, data, at + taken)
    taken += len(data)
    if taken % (1 << 22) == 0:
        os.posix_fadvise(out, 0, 0, os.POSIX_FADV_DONTNEED)
    time.sleep(max(0.0, began + taken / a_second - time.monotonic()))
os.fdatasync(out)
os.posix_fadvise(out, 0, 0, os.POSIX_FADV_DONTNEED)
"""


class Pen:
    """One attempt's place, with its wall. Everything in it is killed at once."""

    def __init__(self, limit_bytes: int) -> None:
        home = find_home(f"stream-{uuid.uuid4().hex[:8]}")
        self.group: Group = home.group
        self.group.ensure()
        if home.version == 2:
            Group2(self.group.path.rpartition("/")[0]).hand_down()
        self.group.set(Walls(limit_bytes=limit_bytes))

    def start(self, env: Mapping[str, str], *command: str, **more: Any) -> subprocess.Popen[bytes]:
        words = ["/bin/sh", "-c", JOIN, " ".join(self.group.procs), *command]
        return subprocess.Popen(words, env={**os.environ, **env}, **more)

    def kill(self) -> None:
        give_up_at = time.monotonic() + 30
        while self.group.pids():
            self.group.kill()
            assert time.monotonic() < give_up_at
            time.sleep(0.005)

    def remove(self) -> None:
        self.kill()
        while not self.group.remove():
            time.sleep(0.01)


class Pipeline:
    """A producer, and a consumer that takes `a_second` bytes a second, through a relay."""

    def __init__(self, directory: Path, size: int, *, a_second: float, **stage: Any) -> None:
        self.directory = directory
        self.size = size
        self.out = directory / "out"
        self.chunk_s = stage.get("chunk_bytes", CHUNK_BYTES) / a_second
        self.producer = [sys.executable, "-IS", "-c", PRODUCER, str(size), "6"]
        self.consumer = [sys.executable, "-IS", "-c", CONSUMER, str(self.out), str(a_second)]
        steps = [
            {"name": "produce", "command": self.producer},
            {"name": "consume", "command": self.consumer, "each": "chunk"},
        ]
        self.env = {
            "PADDOCK_CHECKPOINT_DIR": str(directory),
            "PADDOCK_STAGE": json.dumps({"steps": steps, **stage}),
        }

    def acked_bytes(self) -> int:
        """As the journal says it."""
        journal = self.directory / "stream/journal"
        lines = journal.read_text().splitlines() if journal.exists() else []
        said = [line.partition('"upto":')[2].partition("}")[0] for line in lines if '"ack"' in line]
        return max((int(number) for number in said if number), default=0)

    def run(self, pen: Pen, kills: int, look: Callable[[], None]) -> int:
        """To its end, with everything killed so many times on the way; the last code."""
        for number in range(kills):
            process = pen.start(self.env, *stream.command())
            wanted = self.size * (number + 1) // (kills + 1)
            while self.acked_bytes() < wanted and process.poll() is None:
                look()
                time.sleep(0.02)
            time.sleep(self.chunk_s * (number + 1) / (kills + 1))  # anywhere within a chunk
            assert process.poll() is None, f"it ended by itself with {process.poll()}"
            pen.kill()
            process.wait()
        process = pen.start(self.env, *stream.command())
        while process.poll() is None:
            look()
            time.sleep(0.02)
        return process.returncode

    def is_exact(self) -> bool:
        """Byte by byte, against a producer of its own."""
        source = subprocess.Popen(self.producer, stdout=subprocess.PIPE)
        assert source.stdout
        with self.out.open("rb") as got:
            while wanted := source.stdout.read(1 << 20):
                if got.read(len(wanted)) != wanted:
                    source.kill()
                    break
            is_same = not wanted and not got.read(1)
        source.stdout.close()
        source.wait()
        return is_same
