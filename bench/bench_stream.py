"""A stage of streamed steps behind its wall: 2 GB, ten times slower at one end, killed five times.

Targets: exact to the byte, no kill by the kernel, and a peak under 428 MB (S3's profile of design
B, whose wall is 512 MB), twice: of the attempt alone, with its page cache and kernel memory; and of
all of paddock, the same 2 GB as a run of a daemon in a host of 1 GiB, where daemon, keeper, relay
and steps count, as in bench_profiles.py. How fast it is beside a plain pipe, and one into a synced
file, is printed, not judged: the disk is shared.
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

from ground import Ground, keep, verdict, wait_for

from paddock import stream
from paddock.bench.pen import PADDOCK
from paddock.client import Client
from paddock.drivers.local.containment.choosing import read_home
from paddock.wire.run_request import RunRequest, Step
from tests.integration.stream.walled import PRODUCER, Pen, Pipeline
from tests.kit.ceiling import Ceiling, a_ceiling
from tests.kit.leaks import resident_bytes

MIB, MB = 1 << 20, 1_000_000
HOST_BYTES = 1024 * MIB
CONFIG = "performance_profile: tiny\nsandbox: {memory_high: 99%}\n"
MOST_MB = 428
LOOK_S = 0.05
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


def with_everything(a_second: float) -> dict[str, float]:
    """The highest of many looks, as a run of a paddock in a small host."""
    with (
        a_ceiling(HOST_BYTES) as host,
        tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as place,
    ):
        ground = Ground(Path(place), CONFIG)
        try:
            words = [*host.join, *PADDOCK, "daemon", "start"]
            subprocess.run(words, env=ground.env, check=True, stdout=subprocess.DEVNULL)
            with ground.client() as client:
                return watched(ground, client, host, a_second)
        finally:
            ground.end()


def watched(ground: Ground, client: Client, host: Ceiling, a_second: float) -> dict[str, float]:
    pipeline = Pipeline(ground.home, SIZE, a_second=a_second)
    steps = (
        Step(name="produce", command=tuple(pipeline.producer), stream=True),
        Step(name="consume", command=tuple(pipeline.consumer), each="chunk"),
    )
    request = RunRequest(name="stream", steps=steps, timeout_s="none")
    answer = client.submit(ground.order([request]))
    home = read_home(ground.places.keeper)
    assert home is not None, "nothing holds the agents of this paddock"
    own = ground.pids()
    held = resident = 0
    while client.run(answer.runs[0].id).state != "ended":
        pids = set(home.group.pids())
        assert set(own) <= pids, "daemon and keeper are not counted"
        held = max(held, host.used_bytes())
        resident = max(resident, sum(map(resident_or_gone, pids)))
        time.sleep(LOOK_S)
    wait_for(client, answer)
    assert pipeline.is_exact(), "what came out is not what went in"
    kills = host.group.counters().oom_kills
    return {"held_mb": held / MB, "resident_mb": resident / MB, "oom_kills": kills}


def resident_or_gone(pid: int) -> int:
    try:
        return resident_bytes(pid)
    except (OSError, IndexError):
        return 0


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
    everything = with_everything(a_second)
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
    print(
        f"with daemon and keeper: {everything['held_mb']:.0f} MB held, "
        f"{everything['resident_mb']:.0f} MB resident"
    )
    rates = {"pipe_mb_s": pipe, "file_mb_s": file}
    rates |= {"stream_mb_s": by_stream, "chunk_mb_s": by_chunk}
    keep("stream", {**rounded({**rates, **found}), "everything": rounded(everything)})
    largest = max(everything["held_mb"], everything["resident_mb"])
    return verdict(
        [
            ("428 MiB / peak of the pipeline", MOST_BYTES / MIB / found["peak_mb"], 1),
            ("428 MB / all of paddock with it", MOST_MB / largest, 1),
            ("kernel kills, none", -found["oom_kills"] - everything["oom_kills"], 0),
        ]
    )


def rounded(figures: dict[str, float]) -> dict[str, float]:
    return {key: round(value, 2) for key, value in figures.items()}


if __name__ == "__main__":
    sys.exit(main(sys.argv))
