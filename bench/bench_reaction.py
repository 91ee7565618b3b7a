"""From the moment the host is at the last step of the ladder to the first kill: paddock beside
earlyoom, in turn, in one guest, with the same hog.

The guest has 1.3 GB, where the last step is the floor of free memory (192 MiB, passed before 95 %
are in use); earlyoom is told the same floor, and to kill at once. The hog grows at 200 MB/s until
it is dead. A look every 5 ms says when the floor is passed, a pidfd when the hog has died. Target:
paddock's p95 to the kill (SIGKILL is on its way to the hog) is not above earlyoom's.
"""

from __future__ import annotations

import json
import os
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from ground import Ground, a_ground, from_a_guest, keep

from paddock.client import Client
from paddock.core.policy import LadderPolicy
from paddock.core.units import MIB
from paddock.wire.run_request import RunRequest
from tests.kit.guest_kernel import cache

ROUNDS = 20
GUEST_MB = 1280
RATE_MB_S = 200
HEADROOM_BYTES = 150 * MIB  # above the floor, when the hog is let go
FLOOR_BYTES = LadderPolicy().emergency_free_bytes
HOG_START_MB = 20
HOG_LIMIT_BYTES = 384 * MIB
HUGE_BYTES = 2 * MIB
HUGE = Path("/proc/sys/vm/nr_hugepages")
LOOK_S = 0.005
WITHIN_S = 60.0
AGENTS = Path(__file__).parents[1] / "tests/kit/agents"
REPORT = Path("/run/guest/reaction.json")
CONFIG = "performance_profile: host\nsandbox: {host_memory_reserve: 512M}\n"
PF_EXITING, SIGKILL_BIT = 0x4, 1 << (signal.SIGKILL - 1)  # of /proc/PID/stat

Reaction = tuple[float, float]


# -- outside ------------------------------------------------------------------------------


def earlyoom() -> Path:
    """Debian's, unpacked and never installed: a package would start it on this machine."""
    home = cache() / "earlyoom"
    program = home / "usr/bin/earlyoom"
    if not program.exists():
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as directory:
            said = subprocess.DEVNULL
            words = ["apt-get", "download", "-qq", "earlyoom"]
            subprocess.run(words, cwd=directory, check=True, stderr=said)
            (package,) = Path(directory).glob("earlyoom_*.deb")
            subprocess.run(["dpkg", "-x", package, home], check=True)
    return program


def main() -> int:
    if os.environ.get("PADDOCK_GUEST"):
        return inside(Path(sys.argv[1]))
    found = from_a_guest(__file__, REPORT.name, str(earlyoom()), within_s=1500, memory_mb=GUEST_MB)
    if found is None:
        return 0
    keep("reaction", found)
    return 0 if found["paddock"]["p95_ms"] <= found["earlyoom"]["p95_ms"] else 1


# -- inside -------------------------------------------------------------------------------


class Meminfo:
    def __init__(self) -> None:
        self._file = os.open("/proc/meminfo", os.O_RDONLY)

    def available_bytes(self) -> int:
        text = os.pread(self._file, 256, 0)  # its third line
        return int(text.split(b"MemAvailable:")[1].split()[0]) * 1024


def leave_available(left_bytes: int, meminfo: Meminfo) -> None:
    """The rest is put aside as huge pages, which takes no time: nobody has to write to them."""
    over = meminfo.available_bytes() - left_bytes
    HUGE.write_text(str(max(0, over // HUGE_BYTES)), encoding="ascii")
    off = meminfo.available_bytes() - left_bytes
    assert abs(off) < 40 * MIB, f"{off / MIB:.0f} MiB more are free than was meant"


def hog_words(go: Path) -> list[str]:
    program = [sys.executable, "-I", "-S", str(AGENTS / "growing.py")]
    return [*program, str(HOG_START_MB), str(RATE_MB_S), str(go)]


class Hog:
    """What is known of it from outside."""

    def __init__(self, pid: int) -> None:
        self._stat = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
        self._death = os.pidfd_open(pid)

    def is_killed(self) -> bool:
        """Whether SIGKILL waits for it, or it is on its way out already."""
        try:
            fields = os.pread(self._stat, 1024, 0).rpartition(b")")[2].split()
        except ProcessLookupError:
            return True
        state, flags, pending = fields[0], int(fields[6]), int(fields[28])
        return state in b"ZX" or bool(flags & PF_EXITING) or bool(pending & SIGKILL_BIT)

    def wait_for_its_death(self) -> None:
        poll = select.poll()
        poll.register(self._death, select.POLLIN)
        assert poll.poll(WITHIN_S * 1000), "the hog does not die"

    def close(self) -> None:
        os.close(self._stat)
        os.close(self._death)


def reaction_s(hog: Hog, meminfo: Meminfo) -> tuple[float, float]:
    """From the look that found the floor passed: to the kill, and to the hog's death."""
    passed_at: float | None = None
    give_up_at = time.monotonic() + WITHIN_S
    while not hog.is_killed():
        if passed_at is None and meminfo.available_bytes() <= FLOOR_BYTES:
            passed_at = time.monotonic()
        assert time.monotonic() < give_up_at, f"nobody killed it: {meminfo.available_bytes()} free"
        time.sleep(LOOK_S)
    killed_at = time.monotonic()
    hog.wait_for_its_death()
    passed_at = killed_at if passed_at is None else passed_at  # seen by them before us
    return killed_at - passed_at, time.monotonic() - passed_at


def wait_until(condition: Callable[[], Any]) -> Any:
    give_up_at = time.monotonic() + 60
    while not (answer := condition()):
        assert time.monotonic() < give_up_at, "waited in vain"
        time.sleep(0.02)
    return answer


def one_round(pid: int, go: Path) -> Reaction:
    meminfo, hog = Meminfo(), Hog(pid)
    try:
        leave_available(FLOOR_BYTES + HEADROOM_BYTES, meminfo)
        go.touch()
        return reaction_s(hog, meminfo)
    finally:
        hog.close()
        go.unlink(missing_ok=True)
        HUGE.write_text("0", encoding="ascii")


def by_earlyoom(program: Path, go: Path) -> Reaction:
    floor_kib = FLOOR_BYTES // 1024
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    words = [str(program), "-r", "0", "-M", f"{floor_kib},{floor_kib}"]
    watcher = subprocess.Popen(words, **quiet)  # type: ignore[call-overload]
    hog = subprocess.Popen(hog_words(go), stdout=subprocess.PIPE)
    try:
        assert hog.stdout is not None and hog.stdout.readline() == b"ready\n"
        return one_round(hog.pid, go)
    finally:
        hog.kill()
        hog.wait()
        watcher.kill()
        watcher.wait()


def by_paddock(ground: Ground, client: Client, go: Path) -> Reaction:
    """Critical, so that it is not frozen on the way: then it would never pass the last step."""
    request = RunRequest(
        name="hog", command=tuple(hog_words(go)), priority="critical", memory_bytes=HOG_LIMIT_BYTES
    )
    (run,) = client.submit(ground.order([request])).runs
    wait_until(lambda: b"".join(client.log(run.id)) == b"ready\n")
    try:
        return one_round(_hog_pid(), go)
    finally:
        client.kill([run.id], force=True)
        client.wait([run.id], timeout_s=60)


def _hog_pid() -> int:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"growing.py" in path.read_bytes().split(b"\0", 4)[3]:
                return int(path.parent.name)
        except (OSError, IndexError):
            continue
    raise AssertionError("the hog is not there")


def inside(program: Path) -> int:
    found: dict[str, list[Reaction]] = {"earlyoom": [], "paddock": []}
    with a_ground(CONFIG) as ground, ground.client() as client:
        go = ground.home / "go"
        for _ in range(ROUNDS):
            found["earlyoom"].append(by_earlyoom(program, go))
            wait_until(lambda: client.status().host.ladder == "calm")  # type: ignore[union-attr]
            found["paddock"].append(by_paddock(ground, client, go))
            print(*(f"{name} {kill:.3f} s, dead {dead:.3f} s" for name, kill, dead in last(found)))
    figures = {name: summed(times) for name, times in found.items()}
    REPORT.write_text(json.dumps(figures), encoding="utf-8")
    for name, figure in figures.items():
        kill = f"p50 {figure['p50_ms']} ms, p95 {figure['p95_ms']} ms"
        dead = f"p50 {figure['dead_p50_ms']} ms, p95 {figure['dead_p95_ms']} ms"
        print(f"{name}: to the kill {kill}; to the hog's death {dead}; {ROUNDS} rounds")
    return 0


def last(found: dict[str, list[Reaction]]) -> list[tuple[str, float, float]]:
    return [(name, *times[-1]) for name, times in found.items()]


def summed(times: list[Reaction]) -> dict[str, float]:
    figures: dict[str, float] = {"rounds": len(times)}
    for name, each in zip(("", "dead_"), zip(*times, strict=True), strict=True):
        figures[f"{name}p50_ms"] = round(statistics.median(each) * 1000, 1)
        p95 = statistics.quantiles(each, n=20, method="inclusive")[-1]
        figures[f"{name}p95_ms"] = round(p95 * 1000, 1)
        figures[f"{name}most_ms"] = round(max(each) * 1000, 1)
    return figures


if __name__ == "__main__":
    sys.exit(main())
