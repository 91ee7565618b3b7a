"""Stages of real processes: run, killed, run again, and what their readers got."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from paddock import stream
from tests.kit.leaks import end, marked
from tests.kit.waiting import until

MORTAL = Path(__file__).with_name("mortal.py")
ROOM = str(Path(stream.__file__).parent)
# Writes each chunk in a file of its own, whole or not at all, and says what it was told.
BY_CHUNK = (
    'n=$PADDOCK_CHUNK; cat >"$0/tmp" && mv "$0/tmp" "$0/$PADDOCK_CHUNK_FIRST_BYTE" && '
    'echo "$n ${PADDOCK_CHUNK_MAYBE_DONE:-0}" >>"$0/log"'
)
# Takes its own file to where it is told to go on, and acknowledges after every few bytes.
BY_STREAM = """
import os, sys
step, offset = int(sys.argv[2]), int(os.environ["PADDOCK_STREAM_OFFSET"])
out = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
assert os.fstat(out).st_size >= offset, "bytes were skipped"
os.ftruncate(out, offset)
os.lseek(out, offset, 0)
while data := os.read(0, step):
    os.write(out, data)
    offset += len(data)
    os.write(int(os.environ["PADDOCK_ACK_FD"]), b"%d\\n" % offset)
"""
# Says a few bytes at once, and the rest when it is told to go on.
SLOW = 'printf first; while [ ! -e "$0" ]; do sleep 0.02; done; printf second'


def a_step(name: str, *command: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "command": list(command), **more}


def reads(path: Path) -> dict[str, Any]:
    return a_step("read", "cat", str(path))


def collects_by_chunk(directory: Path, **more: Any) -> dict[str, Any]:
    directory.mkdir(exist_ok=True)
    return a_step("collect", "sh", "-c", BY_CHUNK, str(directory), each="chunk", **more)


def collects_by_stream(path: Path, step: int = 1000) -> dict[str, Any]:
    return a_step("collect", sys.executable, "-ISc", BY_STREAM, str(path), str(step))


def collected(directory: Path) -> bytes:
    """All chunks in order; a failed test if one is there twice or not at all."""
    together = b""
    for first in sorted(int(path.name) for path in directory.glob("[0-9]*")):
        assert first == len(together), "bytes are there twice, or not at all"
        together += (directory / str(first)).read_bytes()
    return together


def told(directory: Path) -> list[tuple[int, bool]]:
    """Which chunks were done, in order, and whether it was said that they might be done already."""
    lines = (directory / "log").read_text().splitlines() if (directory / "log").exists() else []
    return [(int(number), maybe == "1") for number, maybe in map(str.split, lines)]


class House:
    """A checkpoint directory that outlives the attempts of a run, and the attempts."""

    def __init__(self, directory: Path, steps: Sequence[Mapping[str, Any]], **more: Any) -> None:
        self.directory = directory
        self.mark = f"stream-{uuid.uuid4().hex}"
        self.stage = {"steps": list(steps), "grace_s": 2, "linger_s": 0.05, **more}
        self.env = {
            "PATH": os.environ["PATH"],
            "PADDOCK_CHECKPOINT_DIR": str(directory / "checkpoint"),
            "PADDOCK_STAGE": json.dumps(self.stage),
            "PADDOCK_ATTEMPT": self.mark,
        }

    @property
    def spool(self) -> Path:
        return self.directory / "checkpoint/stream"

    def chunks(self) -> list[str]:
        return sorted(path.name for path in self.spool.glob("*.chunk"))

    def start(self, *before: str, nth: int | None = None) -> subprocess.Popen[bytes]:
        words = stream.command()
        if nth is not None:
            words = [sys.executable, "-ISX", "utf8", str(MORTAL), ROOM, str(nth)]
        return subprocess.Popen(
            [*before, *words],
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *, nth: int | None = None) -> tuple[int, str, str]:
        """Code, output and errors of one attempt; nothing of it is left."""
        process = self.start(nth=nth)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
            self.clear()
        return process.returncode, out.decode(), err.decode()

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait(timeout=30)
        self.clear()
        process.communicate(timeout=30)

    def clear(self) -> None:
        """As the attempt's wall does it: a step that was being started may outlive its relay."""
        end(marked(self.mark))
        until(lambda: not marked(self.mark))


MakeHouse = Callable[..., House]
