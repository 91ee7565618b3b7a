"""A stage of streamed steps behind its wall: 2 GB, ten times slower at one end, killed five times.

Targets: exact to the byte, no kill by the kernel, and a peak under 428 MB with everything counted,
page cache and kernel memory too (S3's profile of design B, whose wall is 512 MB). How fast it is
beside a plain pipe, and one into a synced file, is printed, not judged: the disk is shared.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.ground import keep, verdict
from paddock import stream
from tests.integration.stream.walled import PRODUCER, Pen, Pipeline

MIB = 1 << 20
WALL_BYTES = 512 * MIB
MOST_BYTES = 428 * MIB
SIZE = int(os.environ.get("STREAM_BYTES", "2000000000"))
FLOW = SIZE // 4
KILLS = 5
SLOWER = 10


def producer(size: int) -> list[str]:
    return [sys.executable, "-IS", "-c", PRODUCER, str(size), "6"]


def pipe_s(size: int) -> float:
    """A producer and a reader that throws it away, with nothing between."""
    began = time.perf_counter()
    source = subprocess.Popen(producer(size), stdout=subprocess.PIPE)
    subprocess.run(["cat"], stdin=source.stdout, stdout=subprocess.DEVNULL, check=True)
    assert source.stdout
    source.stdout.close()
    assert source.wait() == 0
    return time.perf_counter() - began


def file_s(directory: Path, size: int) -> float:
    """What is durable costs at least this: the same bytes in one file, synced once."""
    began = time.perf_counter()
    source = subprocess.Popen(producer(size), stdout=subprocess.PIPE)
    write = ["dd", f"of={directory}/file", "bs=256k", "conv=fsync", "status=none"]
    subprocess.run(write, stdin=source.stdout, check=True)
    assert source.stdout
    source.stdout.close()
    assert source.wait() == 0
    took = time.perf_counter() - began
    (directory / "file").unlink()
    return took


def relay_s(directory: Path, size: int, **reader: Any) -> float:
    """The same two, through a relay."""
    steps = [
        {"name": "produce", "command": producer(size)},
        {"name": "read", "command": ["sh", "-c", "exec cat >/dev/null"], **reader},
    ]
    env = {
        "PADDOCK_CHECKPOINT_DIR": str(directory / json.dumps(reader)),
        "PADDOCK_STAGE": json.dumps({"steps": steps}),
    }
    began = time.perf_counter()
    subprocess.run(stream.command(), env={**os.environ, **env}, check=True)
    return time.perf_counter() - began


def killed_often(directory: Path, a_second: float) -> dict[str, float]:
    pen = Pen(WALL_BYTES)
    resident: list[int] = []
    try:
        pipeline = Pipeline(directory, SIZE, a_second=a_second)
        began = time.perf_counter()
        code = pipeline.run(pen, KILLS, lambda: resident.append(pen.group.used_bytes()))
        took = time.perf_counter() - began
        counted = pen.group.counters()
        assert code == 0 and pipeline.is_exact(), "what came out is not what went in"
    finally:
        pen.remove()
    runs = (directory / "out.log").read_text(encoding="ascii").split()
    return {
        "seconds": took,
        "chunks_again": len(runs) - len(set(runs)),
        "peak_mb": (counted.peak_bytes or 0) / MIB,
        "resident_mb": max(resident) / MIB,
        "oom_kills": counted.oom_kills,
    }


def main(_: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as place:
        directory = Path(place)
        pipe = FLOW / MIB / pipe_s(FLOW)
        file = FLOW / MIB / file_s(directory, FLOW)
        by_stream = FLOW / MIB / relay_s(directory, FLOW)
        by_chunk = FLOW / MIB / relay_s(directory, FLOW, each="chunk")
        again = FLOW / MIB / pipe_s(FLOW)
        a_second = max(pipe, again) * MIB / SLOWER
        found = killed_often(directory, a_second)
    pipe = (pipe + again) / 2
    print(f"a plain pipe            {pipe:6.0f} MiB/s")
    print(f"into a synced file      {file:6.0f} MiB/s, {file / pipe:.2f} of it")
    print(f"by a relay, as a stream {by_stream:6.0f} MiB/s, {by_stream / pipe:.2f} of it")
    print(f"by a relay, by chunks   {by_chunk:6.0f} MiB/s, {by_chunk / pipe:.2f} of it")
    print(
        f"{SIZE / 1e9:.1f} GB to a consumer of {a_second / MIB:.0f} MiB/s, {KILLS} kills: exact, "
        f"{found['seconds']:.0f} s, {found['chunks_again']:.0f} chunks begun again"
    )
    print(
        f"peak {found['peak_mb']:.0f} MiB with page cache, {found['resident_mb']:.0f} without, "
        f"of a wall of {WALL_BYTES / MIB:.0f}"
    )
    rates = {"pipe_mb_s": pipe, "file_mb_s": file}
    rates |= {"stream_mb_s": by_stream, "chunk_mb_s": by_chunk}
    keep("stream", {key: round(value, 2) for key, value in {**rates, **found}.items()})
    return verdict(
        [
            ("428 MiB / peak of the pipeline", MOST_BYTES / MIB / found["peak_mb"], 1),
            ("kernel kills, none", -found["oom_kills"], 0),
        ]
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv))
